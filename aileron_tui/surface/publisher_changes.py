"""Changes the trusted publishers: first the signed entry in the ledger, then the keyring.

If the program is stopped in between, nothing is trusted that nobody signed for, and doing it again completes it.
"""

from pathlib import Path

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.publisher_change import PublisherChange, key_text
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.ledger.store import EntryDraft, LedgerView
from aileron_tui.packages.keyring_file import add_key, remove_key
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.errors import PublisherFault
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.public_key import PublicKey


def trust_publisher(ledger: Path, keyring: Path, authority: str, trusted: PublicKey, key: UnlockedKey) -> None:
    """Trusts a key of a publisher."""
    _record(ledger, key, EntryKind.PUBLISHER_TRUSTED, authority, trusted)
    add_key(keyring, authority, trusted.raw)


def remove_publisher(ledger: Path, keyring: Path, authority: str, removed: PublicKey, key: UnlockedKey) -> None:
    """No longer trusts a key of a publisher. The keyring is changed first: trust must never outlast its removal."""
    remove_key(keyring, authority, removed.raw)
    _record(ledger, key, EntryKind.PUBLISHER_REMOVED, authority, removed)


def _record(ledger: Path, key: UnlockedKey, change: EntryKind, authority: str, publisher: PublicKey) -> None:
    with open_ledger(ledger, role="publisher", guest=True) as opened:

        def drafts(view: LedgerView) -> list[EntryDraft]:
            approvers = Approvers.of(view.key_changes())
            if not any(approver.public == key.public for approver in approvers.active):
                hint = "Choose a key that may approve with --key. `aileron-tui key list` shows them."
                title = f"the key {key.name} may not approve on this gate, so it cannot change publishers"
                raise PublisherFault(title, hint=hint)
            head, now = view.head().hash, timestamp(utc_now())
            signed = PublisherChange(change, authority, key_text(publisher.raw), head, now)
            return [EntryDraft(change, signed.body(sign(signed, key).fields()))]

        opened.append_given(drafts)
