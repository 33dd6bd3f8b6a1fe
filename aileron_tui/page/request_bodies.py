"""Fields of the JSON that a tab sends."""

from aileron_tui.core.jsontext import JsonError, JsonObject, kind
from aileron_tui.gate.decision_body import MAX_REASON_LENGTH
from aileron_tui.gate.http_request import invalid_body


def text_field(body: JsonObject, name: str) -> str:
    """A text that must be there."""
    value = body.get(name)
    if not isinstance(value, str):
        raise invalid_body(JsonError(f"expected a string, found {kind(value)}", f"$.{name}"))
    return value


def reason_field(body: JsonObject) -> str:
    """The reason of a denial, "" if there is none."""
    reason = text_field(body, "reason") if "reason" in body else ""
    if len(reason) > MAX_REASON_LENGTH:
        raise invalid_body(JsonError(f"must have at most {MAX_REASON_LENGTH:,} characters", "$.reason"))
    return reason
