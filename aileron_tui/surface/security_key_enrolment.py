"""Lets security keys and passkeys approve on the gate of a data folder, and stops them. Every change is signed."""

from pathlib import Path

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.ledger.first_entry import first_hash
from aileron_tui.ledger.store import EntryDraft, LedgerView
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.errors import KeyFault
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.security_key import SecurityKey
from aileron_tui.signing.signed_key_changes import LedgerPlace, signed_enrolment, signed_revocation
from aileron_tui.surface.key_enrolment import changing_keys
from aileron_tui.surface.security_key_registration import RegisteredKey

PAGE = "page"
USB = "usb"


def enroll_security_key(data: Path, key: UnlockedKey, name: str, registered: RegisteredKey, added_on: str) -> None:
    """Lets a security key or passkey approve, signed by `key`."""

    def drafts(view: LedgerView) -> list[EntryDraft]:
        body = signed_enrolment(
            Approvers.of(view.key_changes()),
            _place(view),
            key,
            name=name,
            public=registered.public,
            backup_eligible=registered.backup_eligible,
            added_on=added_on,
        )
        return [EntryDraft(EntryKind.KEY_ENROLLED, body)]

    with changing_keys(data) as (ledger, _):
        ledger.append_given(drafts)


def remove_security_key(data: Path, key: UnlockedKey, name: str) -> Approver:
    """Stops a security key or passkey from approving, signed by `key`; returns it as it was."""
    with changing_keys(data) as (ledger, approvers):
        found = named_security_key(approvers, name)

        def drafts(view: LedgerView) -> list[EntryDraft]:
            current = Approvers.of(view.key_changes())
            body = signed_revocation(current, _place(view), key, named_security_key(current, name))
            return [EntryDraft(EntryKind.KEY_REVOKED, body)]

        ledger.append_given(drafts)
    return found


def named_security_key(approvers: Approvers, name: str) -> Approver:
    """The security key or passkey with this name or fingerprint. Raises NoKey, or KeyFault for another kind of key."""
    found = approvers.named(name)
    if not isinstance(found.public, SecurityKey):
        raise KeyFault(f"{found.name} is not a security key", hint=f"Run `aileron-tui key revoke {found.name}`.")
    return found


def _place(view: LedgerView) -> LedgerPlace:
    return LedgerPlace(first_hash(view), view.head().hash, timestamp(utc_now()))
