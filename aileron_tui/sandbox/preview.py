"""What an action is about to do, fetched from the place it will write to by a party the agent does not control."""

import logging

from aileron_tui.core.action import Action
from aileron_tui.core.interpolation import interpolate, missing_args
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import preview_rows
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.sandbox.connector_call import CallResult
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind
from aileron_tui.sandbox.loaded_connectors import LoadedConnectors

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PreviewOutcome:
    """The rows for the operator or the short reason why there are none; the whole answer and the details beside it.

    `trust` and `hash` say which bytes answered; they are empty where none were loaded.
    """

    result: PreviewResult
    output: Json = None
    failure: Failure | None = None
    log: tuple[str, ...] = ()
    stderr: str = ""
    seconds: float = 0.0
    trust: str = ""
    hash: str = ""

    @property
    def details(self) -> JsonObject:
        """Everything that the raw view and the log keep and the prompt does not show."""
        details: JsonObject = {"seconds": round(self.seconds, 3), "log": list[Json](self.log), "stderr": self.stderr}
        if self.failure:
            details |= {
                "class": str(self.failure.kind),
                "message": self.failure.message,
                "boundary": str(self.failure.boundary),
                "retriable": self.failure.retriable,
                "details": dict(self.failure.details),
            }
        return details


def fetch(connectors: LoadedConnectors, action: Action, args: JsonObject) -> PreviewOutcome | None:
    """Calls the preview operation of an action; None where it has none.

    Only the manifest's argument table reaches the connector: an input that it does not name cannot steer the preview.
    """
    directive = action.approval.preview
    if directive is None:
        return None
    trust = found = ""
    try:
        if not action.execute:
            raise CallRefused(_invalid("the action declares no execute step"))
        absent = missing_args(directive.args, args)
        if absent:
            raise CallRefused(_invalid(f'input "{absent[0]}" was not supplied'))
        ready = connectors.ready(connectors.required(action, action.execute[0].connector))
        trust, found = ready.pinned.trust, ready.pinned.hash
        filled = interpolate(directive.args, args)
        result = connectors.call(ready, directive.op, filled if isinstance(filled, dict) else {}, reading=True)
    except CallRefused as refused:
        result = CallResult(failure=refused.failure)
    if result.failure:
        shown = PreviewResult(unavailable=result.failure.reason)
        _log.warning(
            "preview of %s unavailable: %s (%s)",
            inline(action.name),
            inline(result.failure.reason),
            inline(str(result.failure.kind)),
        )
    else:
        shown = PreviewResult(rows=preview_rows(directive, result.output))
    return PreviewOutcome(shown, result.output, result.failure, result.log, result.stderr, result.seconds, trust, found)


def _invalid(why: str) -> Failure:
    return Failure(FailureKind.CAPABILITY_DENIED, why, why, Boundary.ACTION)
