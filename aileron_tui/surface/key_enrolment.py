"""Reads and changes which keys may approve on the gate of a data folder. Its ledger records them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.files.agent_tokens import agents_with_tokens, write_approvers
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.ledger.store import Ledger
from aileron_tui.runtime.signed_key_changes import signed_enrolment, signed_revocation
from aileron_tui.signing.approvers import Approvers, approver_lines
from aileron_tui.signing.key_store import UnlockedKey
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


def enroll_first(data: Path, name: str, public: PublicKey, *, insecure: bool = False) -> None:
    """Lets the first key of a gate approve. Raises an error if there is a key that must sign this."""
    with changing_keys(data) as (ledger, approvers):
        ledger.append(EntryKind.KEY_ENROLLED, approvers.first_enrolment(name, public, insecure=insecure))


def enroll_signed(  # noqa: PLR0913  # what is known about a security key
    data: Path,
    name: str,
    public: PublicKey | SecurityKey,
    signer: UnlockedKey,
    *,
    insecure: bool = False,
    backup_eligible: bool = False,
    added_on: str = "",
) -> None:
    """Lets a key approve from now on, signed by a key that may. A security key needs `added_on`, "page" or "usb"."""
    with changing_keys(data) as (ledger, _):
        ledger.append_given(
            lambda view: [
                signed_enrolment(
                    view,
                    name,
                    public,
                    signer,
                    insecure=insecure,
                    backup_eligible=backup_eligible,
                    added_on=added_on,
                )
            ]
        )


def revoke_signed(data: Path, name: str, signer: UnlockedKey) -> None:
    """Stops a key from approving, signed by a key that may."""
    with changing_keys(data) as (ledger, _):
        ledger.append_given(lambda view: [signed_revocation(view, name, signer)])


def revoke_unsigned(data: Path, name: str) -> None:
    """Stops a key from approving on a gate whose changes are not signed yet."""
    with changing_keys(data) as (ledger, approvers):
        ledger.append(EntryKind.KEY_REVOKED, approvers.revocation(name))


@contextmanager
def enrolled(data: Path, key: UnlockedKey) -> Iterator[None]:
    """Lets a key that only exists in this process approve until the block ends."""
    with changing_keys(data) as (ledger, approvers):
        ledger.append(EntryKind.KEY_ENROLLED, approvers.enrolment(key.name, key.public, temporary=True))
    try:
        yield
    finally:
        if any(approver.public == key.public for approver in read_approvers(data).active):
            revoke_signed(data, key.public.fingerprint, key)
