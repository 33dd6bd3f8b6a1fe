"""Who signed a change of packages or bindings, and over which ledger."""

from collections.abc import Callable
from typing import Protocol

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.jsontext import Json
from aileron_tui.core.signed_change import HEAD_WINDOW
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.envelope import check_envelope, read_envelope
from aileron_tui.signing.errors import EnvelopeRefused, RefusalReason

IsRecent = Callable[[str, int], bool]
"""Whether a hash is that of an entry shortly before an entry number."""


class ChangeLedger(Protocol):
    """What is needed from a ledger to check signed changes."""

    def key_changes(self) -> tuple[Entry, ...]:
        """Every entry that changes who may approve, in order."""

    def position(self, digest: str, oldest: int, before: int) -> int | None:
        """The number of the entry with this hash, or None. Searches from `oldest` up to but not including `before`."""


def recent(ledger: ChangeLedger, head: str, seq: int) -> bool:
    """Whether a hash is that of an entry shortly before this entry number."""
    return ledger.position(head, max(1, seq - HEAD_WINDOW), seq) is not None


def change_signer(envelope: Json, payload_type: str, approvers: Approvers) -> Approver:
    """The approver who signed a change of this type. Raises EnvelopeRefused."""
    signed = read_envelope(envelope)
    if signed.type != payload_type:
        raise EnvelopeRefused(RefusalReason.WRONG_TYPE, repr(signed.type))
    return check_envelope(signed, approvers)[0]
