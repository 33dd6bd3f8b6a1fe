"""Changes to the keys that may approve, signed by an approver for one place in one ledger."""

import secrets
from collections.abc import Mapping

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.key_change import KeyChange
from aileron_tui.core.values import dataclass
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.errors import KeyFault
from aileron_tui.signing.key_store import UnlockedKey, key_name
from aileron_tui.signing.security_key import SecurityKey


@dataclass(frozen=True, slots=True)
class LedgerPlace:
    """Where and when a change is made: the hashes of the ledger's first and last entry, and the time."""

    ledger: str
    head: str
    time: str


def signed_enrolment(  # noqa: PLR0913  # what is enrolled, where, and by whom
    approvers: Approvers,
    place: LedgerPlace,
    key: UnlockedKey,
    *,
    name: str,
    public: SecurityKey,
    backup_eligible: bool,
    added_on: str,
) -> JsonObject:
    """The body of the entry that enrolls a security key or passkey. Raises KeyFault if `key` may not approve."""
    _check_signer(approvers, key)
    approvers.check_new(name, public)
    change = KeyChange(
        EntryKind.KEY_ENROLLED,
        key_name(name),
        public.line(),
        public.fingerprint,
        place.ledger,
        place.head,
        place.time,
        secrets.token_hex(16),
        backup_eligible=backup_eligible,
        added_on=added_on,
    )
    return change.body(sign(change, key).fields())


def signed_revocation(approvers: Approvers, place: LedgerPlace, key: UnlockedKey, approver: Approver) -> JsonObject:
    """The body of the entry that revokes a key. Raises KeyFault if `key` may not approve."""
    _check_signer(approvers, key)
    change = KeyChange(
        EntryKind.KEY_REVOKED,
        approver.name,
        "",
        approver.public.fingerprint,
        place.ledger,
        place.head,
        place.time,
        secrets.token_hex(16),
        added_on=approver.added_on,
    )
    return change.body(sign(change, key).fields())


def _check_signer(approvers: Mapping[str, Approver], key: UnlockedKey) -> None:
    signer = approvers.get(key.public.fingerprint)
    if signer is None or signer.revoked:
        hint = "Choose a key that may approve with --key. `aileron-tui key list` shows them."
        raise KeyFault(f"the key {key.name} may not approve here, so it cannot change who may", hint=hint)
