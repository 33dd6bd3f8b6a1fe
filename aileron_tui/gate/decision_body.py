"""Reading an approver's answer: what it says, and whether its signature binds it to exactly this request."""

from typing import Final

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, kind
from aileron_tui.core.values import dataclass

LONGEST_REASON: Final = 4000


@dataclass(frozen=True, slots=True)
class SubmittedDecision:
    """An answer as it was sent; nothing in it is believed before its envelope is verified."""

    approved: bool
    reason: str
    edits: JsonObject | None
    envelope: Json

    @property
    def identity(self) -> bytes:
        """Equal for the same decision sent again."""
        return canonical(self.envelope)


def read_decision(body: JsonObject) -> SubmittedDecision:
    """The decision in the body of a request, or a JsonError that names what is wrong."""
    if unknown := sorted(body.keys() - {"approved", "reason", "edited_payload", "envelope"}):
        raise JsonError(f'"{unknown[0]}" is not a field of a decision', f"$.{unknown[0]}")
    approved, reason = body.get("approved"), body.get("reason", "")
    edits, envelope = body.get("edited_payload"), body.get("envelope")
    if not isinstance(approved, bool):
        raise JsonError(f"expected a boolean, found {kind(approved)}", "$.approved")
    if not isinstance(reason, str):
        raise JsonError(f"expected a string, found {kind(reason)}", "$.reason")
    if len(reason) > LONGEST_REASON:
        raise JsonError(f"a reason of {len(reason):,} characters; {LONGEST_REASON:,} are allowed", "$.reason")
    if edits is not None and not isinstance(edits, dict):
        raise JsonError(f"expected an object, found {kind(edits)}", "$.edited_payload")
    if edits is not None and not approved:
        raise JsonError("a denial edits nothing", "$.edited_payload")
    if envelope is not None and not isinstance(envelope, dict):
        raise JsonError(f"expected an object, found {kind(envelope)}", "$.envelope")
    return SubmittedDecision(approved, reason, edits, envelope)
