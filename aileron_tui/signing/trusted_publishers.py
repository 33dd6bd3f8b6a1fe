"""Who trusted which publisher's key, as the ledger says.

The keyring decides which keys are trusted, because it is Aileron's own file. An approver signs every change that this
program makes; what is not signed says nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError
from aileron_tui.core.publisher_change import PAYLOAD_TYPE, PUBLISHER_CHANGES, PublisherChange, key_text, read_change
from aileron_tui.core.values import dataclass
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import check_signature, read_envelope
from aileron_tui.signing.errors import EnvelopeRefused, PublisherFault

Follows = Callable[[str, int], bool]
"""Whether a hash is that of the entry just before an entry number."""


class PublisherLedger(Protocol):
    """What is needed from a ledger to know who trusted a publisher."""

    def key_changes(self) -> tuple[Entry, ...]:
        """Every entry that changes who may approve, in order."""

    def publisher_changes(self) -> tuple[Entry, ...]:
        """Every entry that changes the trusted publishers, in order."""

    def position(self, digest: str, oldest: int, before: int) -> int | None:
        """The number of the entry with this hash, or None. Searches from `oldest` up to but not including `before`."""


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """When somebody trusted a publisher's key, and the name of the approver's key that signed this."""

    time: str
    signed_by: str


class TrustedPublishers(dict[tuple[str, str], TrustRecord]):
    """The keys that were trusted and not removed, by authority and key in base64.

    `invalid` has what is wrong with the entries that were ignored.
    """

    def __init__(self) -> None:
        super().__init__()
        self.invalid: list[str] = []

    @classmethod
    def of(cls, ledger: PublisherLedger) -> "TrustedPublishers":
        """What a ledger says. An entry that is not valid says nothing."""
        publishers, approvers = cls(), Approvers()
        for entry in sorted((*ledger.key_changes(), *ledger.publisher_changes()), key=lambda entry: entry.seq):
            approvers.learn(entry)
            try:
                publishers.learn(entry, approvers, lambda head, seq: ledger.position(head, seq - 1, seq) is not None)
            except PublisherFault as error:
                publishers.invalid.append(f"entry {entry.seq}: {error}")
        return publishers

    def without_record(self, keys: Mapping[str, Iterable[bytes]]) -> list[str]:
        """The authority of each key in a keyring that nobody signed for."""
        return [authority for authority, raws in keys.items() for raw in raws if (authority, key_text(raw)) not in self]

    def learn(self, entry: Entry, approvers: Approvers, follows: Follows) -> None:
        """Processes one entry and ignores all but changes of publishers. Raises PublisherFault if it is not valid."""
        if entry.kind not in PUBLISHER_CHANGES:
            return
        try:
            change, envelope = read_change(entry)
        except JsonError as error:
            raise PublisherFault("the change to a publisher cannot be read", str(error)) from None
        signer = _signer(change, envelope, approvers, follows, entry.seq)
        if change.change is EntryKind.PUBLISHER_TRUSTED:
            self[change.authority, change.key] = TrustRecord(entry.time, signer)
        else:
            self.pop((change.authority, change.key), None)


def _signer(change: PublisherChange, envelope: Json, approvers: Approvers, follows: Follows, seq: int) -> str:
    """The name of the approver who signed a change at this place of the ledger."""
    try:
        signed = read_envelope(envelope)
        if signed.type != PAYLOAD_TYPE:
            raise PublisherFault("the change to the publisher was signed as another type", repr(signed.type))
        approver = check_signature(signed, approvers)
    except EnvelopeRefused as error:
        raise PublisherFault(
            "no approver signed the change to the publisher", f"{error.reason}: {error.detail}"
        ) from None
    if not follows(change.head, seq):
        raise PublisherFault("the change to the publisher was signed over another history", change.head)
    return approver.name
