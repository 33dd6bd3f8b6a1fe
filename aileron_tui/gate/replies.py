"""What a door answers: a status and a body in Aileron's shapes."""

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP status and its JSON body."""

    status: int
    body: JsonObject


def error(status: int, code: str, message: str, **more: Json) -> Reply:
    """A refusal. `details` go into the error, everything else beside it."""
    body: JsonObject = {"code": code, "message": message}
    if (details := more.pop("details", None)) is not None:
        body["details"] = details
    return Reply(status, {"error": body, **more})


def wrong_inputs(faults: list[tuple[str, str]]) -> Reply:
    """Arguments that are not those the action declares, each named."""
    details: list[Json] = [{"input": name, "message": message} for name, message in faults]
    return error(422, "invalid_inputs", "; ".join(message for _, message in faults), details=details)


def unknown(id_: str) -> Reply:
    """There is no such request."""
    return error(404, "not_found", f"there is no request {id_}")


def unrecorded(failure: AileronError) -> Reply:
    """The ledger cannot be written, so nothing may happen."""
    return error(503, "not_recorded", f"nothing was done, because it could not be recorded: {failure}")


def outcome_unrecorded() -> Reply:
    """It ran, but how it ended is not on record; whoever hears this must not take it for undone."""
    message = "it ran, but its outcome could not be recorded; the gate's log says why"
    return error(503, "outcome_not_recorded", message)
