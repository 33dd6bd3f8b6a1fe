"""Reads and changes which keys may approve on the gate of a data folder. Its ledger records them."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.key_change import KeyChange
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.files.agent_tokens import agents_with_tokens, write_approvers
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.ledger.store import EntryDraft, Ledger, LedgerView
from aileron_tui.signing.approvers import Approvers, approver_lines
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.errors import KeyFault
from aileron_tui.signing.key_store import UnlockedKey, key_name
from aileron_tui.signing.public_key import PublicKey
from aileron_tui.signing.security_key import SecurityKey


def read_approvers(data: Path) -> Approvers:
    """The keys that may approve, and those that were revoked; empty if there is no ledger yet."""
    path = data / FILE
    if not path.exists():
        return Approvers()
    with open_reader(path) as reader:
        return Approvers.of(reader.key_changes())


@contextmanager
def changing_keys(data: Path) -> Iterator[tuple[Ledger, Approvers]]:
    """The ledger, opened to change keys while a gate may be running, and the approvers before the change.

    Afterwards, the programs of agents are told who may approve.
    """
    path = data / FILE
    with open_ledger(path, role="key", guest=True) as ledger, open_reader(path) as reader:
        yield ledger, Approvers.of(reader.key_changes())
        lines = approver_lines(Approvers.of(reader.key_changes()))
    for agent in agents_with_tokens(data):
        write_approvers(data, agent, lines)


def enroll_signed(  # noqa: PLR0913  # what is known about a security key
    data: Path,
    name: str,
    public: PublicKey | SecurityKey,
    signer: UnlockedKey,
    *,
    backup_eligible: bool = False,
    added_on: str = "",
) -> None:
    """Lets a key approve from now on, signed by a key that may. A security key needs `added_on`, "page" or "usb"."""
    with changing_keys(data) as (ledger, _):
        ledger.append_given(
            lambda view: [
                signed_enrolment(view, name, public, signer, backup_eligible=backup_eligible, added_on=added_on)
            ]
        )


def revoke_signed(data: Path, name: str, signer: UnlockedKey) -> None:
    """Stops a key from approving, signed by a key that may."""
    with changing_keys(data) as (ledger, _):
        ledger.append_given(lambda view: [_signed_revocation(view, name, signer)])


def signed_enrolment(  # noqa: PLR0913  # what is known about a security key
    view: LedgerView,
    name: str,
    public: PublicKey | SecurityKey,
    signer: UnlockedKey,
    *,
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
    )
    return _signed(change, approvers, signer)


def _signed_revocation(view: LedgerView, name: str, signer: UnlockedKey) -> EntryDraft:
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


@contextmanager
def enrolled(data: Path, key: UnlockedKey) -> Iterator[None]:
    """Lets a key approve until the block ends."""
    with changing_keys(data) as (ledger, approvers):
        ledger.append(EntryKind.KEY_ENROLLED, approvers.enrolment(key.name, key.public))
    try:
        yield
    finally:
        with changing_keys(data) as (ledger, approvers):
            if any(approver.public == key.public for approver in approvers.active):
                ledger.append(EntryKind.KEY_REVOKED, approvers.revocation(key.public.fingerprint))
