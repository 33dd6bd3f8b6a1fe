"""Fetches the preview of an action: what it is about to change, read by a connector the agent does not control."""

import logging

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import preview_rows
from aileron_tui.core.resolved_call import ResolvedCall
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.sandbox.connector_call import CallResult
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind
from aileron_tui.sandbox.loaded_connectors import LoadedConnectors, OpCall

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PreviewOutcome:
    """The rows for the operator, or the short reason why there are none, with the full output and details.

    `trust` and `hash` identify the connector that was called; they are empty if none was loaded. `retried` says how
    often requests were repeated and why.
    """

    result: PreviewResult
    output: Json = None
    failure: Failure | None = None
    log: tuple[str, ...] = ()
    stderr: str = ""
    seconds: float = 0.0
    trust: str = ""
    hash: str = ""
    retried: str = ""

    @property
    def details(self) -> JsonObject:
        """Details for the raw view and the log, which are not part of the prompt."""
        details: JsonObject = {"seconds": round(self.seconds, 3), "log": list[Json](self.log), "stderr": self.stderr}
        if self.retried:
            details["retried"] = self.retried
        if self.failure:
            details |= {
                "class": str(self.failure.kind),
                "message": self.failure.message,
                "boundary": str(self.failure.boundary),
                "retriable": self.failure.retriable,
                "details": dict(self.failure.details),
            }
        return details


def fetch(connectors: LoadedConnectors, call: ResolvedCall) -> PreviewOutcome | None:
    """Calls the preview op of a call; returns None if the action has no preview.

    Only the manifest's argument table reaches the connector: an input that it does not name cannot affect the preview.
    """
    action = call.action
    declared = action.approval.preview
    if declared is None:
        return None
    trust = hash_ = ""
    try:
        if not call.steps:
            raise CallRefused(_invalid_call("the action declares no execute step"))
        if call.preview_inputs is None:
            raise CallRefused(_invalid_call(f'input "{call.preview_lacks}" was not supplied'))
        loaded = connectors.load(connectors.requirement_of(action, call.connector.name))
        trust, hash_ = loaded.pinned.trust, loaded.pinned.hash
        result = connectors.call(loaded, OpCall(declared.op, call.preview_inputs, call.connector.account), preview=True)
    except CallRefused as refused:
        result = CallResult(failure=refused.failure)
    if result.retried:
        _log.info("preview of %s: %s", inline(action.name), inline(result.retried))
    if result.failure:
        preview_result = PreviewResult(unavailable=result.failure.reason)
        _log.warning(
            "preview of %s unavailable: %s (%s)",
            inline(action.name),
            inline(result.failure.reason),
            inline(str(result.failure.kind)),
        )
    else:
        rows, hidden = preview_rows(declared, result.output)
        preview_result = PreviewResult(rows, hidden=hidden)
    return PreviewOutcome(
        preview_result,
        result.output,
        result.failure,
        result.log,
        result.stderr,
        result.seconds,
        trust,
        hash_,
        result.retried,
    )


def _invalid_call(why: str) -> Failure:
    return Failure(FailureKind.CAPABILITY_DENIED, why, why, Boundary.ACTION)
