"""Runs the steps of an action in order, in the same sandbox as its preview."""

import logging
from dataclasses import field

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject, compact
from aileron_tui.core.resolved_call import ResolvedCall
from aileron_tui.core.resolved_step import ResolvedStep
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.sandbox.connector_call import CallResult
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind
from aileron_tui.sandbox.loaded_connectors import LoadedConnectors, OpCall

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Execution:
    """The result of an action: the outputs of the steps that ran, and the failure that stopped it, if any.

    `retried` says for each step that repeated requests how often and why.
    """

    action: str
    steps: JsonObject = field(default_factory=dict)
    failure: Failure | None = None
    failed_step: str = ""
    log: tuple[str, ...] = ()
    stderr: str = ""
    seconds: float = 0.0
    retried: tuple[str, ...] = ()

    @property
    def result(self) -> JsonObject:
        """The structured result for the agent; `output` is the output of the last step."""
        output: Json = list(self.steps.values())[-1] if self.steps else None
        return {"action": self.action, "output": output, "steps": self.steps}

    @property
    def text(self) -> str:
        """The result as JSON text, as it is sent to the agent."""
        return compact(self.result)

    @property
    def envelope(self) -> JsonObject | None:
        """The failure in the format agents receive."""
        return self.failure.envelope() if self.failure else None


def run(connectors: LoadedConnectors, call: ResolvedCall) -> Execution:
    """Runs the steps in order and stops at the first failure; nothing is rolled back."""
    name = call.action.name
    steps: JsonObject = {}
    log: list[str] = []
    stderr: list[str] = []
    retried: list[str] = []
    seconds = 0.0
    for step in call.steps:
        result = _run_step(connectors, call, step, is_first=not steps)
        if result.retried:
            retried.append(result.retried)
            _log.info("%s, step %s: %s", inline(name), inline(step.id), inline(result.retried))
        log.extend(result.log)
        stderr.append(result.stderr)
        seconds += result.seconds
        if result.failure:
            _log.warning(
                "%s failed in step %s: %s (%s)",
                inline(name),
                inline(step.id),
                inline(result.failure.reason),
                inline(str(result.failure.kind)),
            )
            failure = result.failure.in_step(step.id, tuple(steps)) if len(call.steps) > 1 else result.failure
            return Execution(name, steps, failure, step.id, tuple(log), "".join(stderr), seconds, tuple(retried))
        steps[step.id] = result.output
    return Execution(name, steps, None, "", tuple(log), "".join(stderr), seconds, tuple(retried))


def _run_step(connectors: LoadedConnectors, call: ResolvedCall, step: ResolvedStep, *, is_first: bool) -> CallResult:
    try:
        requirement = connectors.requirement_of(call.action, step.connector.name)
        if step.op not in requirement.capabilities:
            raise CallRefused(_undeclared_op(step))
        loaded = connectors.load(requirement)
    except CallRefused as refused:
        return CallResult(failure=refused.failure)
    except AileronError as error:
        return CallResult(failure=not_started(error.title, is_first=is_first))
    idempotent = any(declared.id == step.id and declared.idempotent is True for declared in call.action.execute)
    op = OpCall(step.op, step.inputs, step.connector.account, idempotent, call.action.gated)
    try:
        return connectors.call(loaded, op, preview=False)
    except Exception as error:  # noqa: BLE001  # whatever it is, the steps that ran before must be named
        return CallResult(failure=broken_off(error))


def not_started(why: str, *, is_first: bool = True) -> Failure:
    """The failure of a step that has not begun. Of the first step it means that nothing was run at all."""
    what = "nothing was run" if is_first else "it was not started"
    return Failure(FailureKind.RESOURCE_LIMIT_EXCEEDED, f"{what}: {why}", why, Boundary.RUNTIME, retriable=True)


def broken_off(error: Exception) -> Failure:
    """The failure after an exception of the sandbox itself; nobody knows how far the step got."""
    _log.error("a sandbox call failed", exc_info=error)
    why = f"the sandbox failed: {type(error).__name__}"
    return Failure(FailureKind.CONNECTOR_RUNTIME_ERROR, why, why, Boundary.RUNTIME).after_sending(changed=True)


def _undeclared_op(step: ResolvedStep) -> Failure:
    return Failure(
        FailureKind.CAPABILITY_DENIED,
        "capability not in declared subset",
        f"the action does not declare the op {step.op}",
        Boundary.ACTION,
        details={"connector": step.connector.name, "op": step.op},
    )
