"""Changes to the keys that may approve, signed by an approver for one place in one ledger."""

import secrets

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.key_change import KeyChange
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.ledger.store import EntryDraft, LedgerView
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.errors import KeyFault
from aileron_tui.signing.key_store import UnlockedKey, key_name
from aileron_tui.signing.public_key import PublicKey
from aileron_tui.signing.security_key import SecurityKey


def signed_enrolment(  # noqa: PLR0913  # what is known about a security key
    view: LedgerView,
    name: str,
    public: PublicKey | SecurityKey,
    signer: UnlockedKey,
    *,
    insecure: bool = False,
    backup_eligible: bool = False,
    added_on: str = "",
) -> EntryDraft:
    """The entry that enrolls a key, signed over the head of the ledger. No other entry can come in between."""
    approvers = Approvers.of(view.key_changes())
    approvers.check_new(key_name(name), public)
    if isinstance(public, SecurityKey):
        public.check()
    change = KeyChange(
        EntryKind.KEY_ENROLLED,
        name,
        public.line(),
        public.fingerprint,
        *_place(view),
        backup_eligible=backup_eligible,
        added_on=added_on,
        insecure=insecure,
    )
    return _signed(change, approvers, signer)


def signed_revocation(view: LedgerView, name: str, signer: UnlockedKey) -> EntryDraft:
    """The entry that revokes a key, signed likewise."""
    approvers = Approvers.of(view.key_changes())
    revoked = approvers.named(name)
    fingerprint = revoked.public.fingerprint
    return _signed(KeyChange(EntryKind.KEY_REVOKED, revoked.name, "", fingerprint, *_place(view)), approvers, signer)


def _place(view: LedgerView) -> tuple[str, str, str, str]:
    """What binds a change to its place: the ledger, its head, the time and a nonce."""
    first = next(view.rows(), None)
    ledger = f"sha256:{first[2].hex()}" if first else ""
    return ledger, view.head().hash, timestamp(utc_now()), secrets.token_hex(16)


def _signed(change: KeyChange, approvers: Approvers, signer: UnlockedKey) -> EntryDraft:
    known = approvers.get(signer.public.fingerprint)
    if known is None or known.revoked:
        hint = "Choose a key that may approve. `aileron-tui key list` shows them."
        raise KeyFault(f"the key {signer.name} may not approve on this gate, so it cannot change keys", hint=hint)
    return EntryDraft(change.change, change.body(sign(change, signer).fields()))
