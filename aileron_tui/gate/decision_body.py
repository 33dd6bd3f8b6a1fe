"""Reads the body of a decision."""

from typing import Final

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, kind
from aileron_tui.core.values import dataclass

MAX_REASON_LENGTH: Final = 4000


@dataclass(frozen=True, slots=True)
class SubmittedDecision:
    """A decision as submitted; nothing in it is trusted until its envelope is verified."""

    approved: bool
    reason: str
    edits: JsonObject | None
    envelope: Json

    @property
    def identity(self) -> bytes:
        """A key that is equal when the same decision is sent again."""
        return canonical(self.envelope)


def read_decision(body: JsonObject) -> SubmittedDecision:
    """Reads a decision from a JSON body; raises JsonError if it is malformed."""
    if unknown := sorted(body.keys() - {"approved", "reason", "edited_payload", "envelope"}):
        raise JsonError(f'"{unknown[0]}" is not a field of a decision', f"$.{unknown[0]}")
    approved, reason = body.get("approved"), body.get("reason", "")
    edits, envelope = body.get("edited_payload"), body.get("envelope")
    if not isinstance(approved, bool):
        raise JsonError(f"expected a boolean, found {kind(approved)}", "$.approved")
    if not isinstance(reason, str):
        raise JsonError(f"expected a string, found {kind(reason)}", "$.reason")
    if len(reason) > MAX_REASON_LENGTH:
        raise JsonError(f"the reason has {len(reason):,} characters; the limit is {MAX_REASON_LENGTH:,}", "$.reason")
    if edits is not None and not isinstance(edits, dict):
        raise JsonError(f"expected an object, found {kind(edits)}", "$.edited_payload")
    if edits is not None and not approved:
        raise JsonError("a denial cannot contain edits", "$.edited_payload")
    if envelope is not None and not isinstance(envelope, dict):
        raise JsonError(f"expected an object, found {kind(envelope)}", "$.envelope")
    return SubmittedDecision(approved, reason, edits, envelope)
