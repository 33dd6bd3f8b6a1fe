"""Reads and changes the agents of the gate of a data folder. Its ledger records them, even while the gate runs."""

import secrets
from contextlib import suppress
from pathlib import Path

from aileron_tui.core.agent_change import AgentChange, token_hash
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.files.agent_tokens import approvers_path, token_path, write_approvers, write_token
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.ledger.store import EntryDraft, LedgerView
from aileron_tui.signing.agents import Agents
from aileron_tui.signing.approvers import Approvers, approver_lines
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.errors import AgentFault
from aileron_tui.signing.key_store import UnlockedKey


def new_token() -> str:
    """A new token: 256 random bits."""
    return secrets.token_hex(32)


def add_agent(ledger: Path, name: str, key: UnlockedKey) -> Path:
    """Adds an agent and returns its token file.

    The file is written first. If the program is stopped in between, the token does not work, and adding the agent
    again replaces the file.
    """
    token, path = new_token(), token_path(ledger.parent, name)
    with open_ledger(ledger, role="agent", guest=True) as opened:

        def drafts(view: LedgerView) -> list[EntryDraft]:
            Agents.of(view).check_new(name)
            entry = _signed(view, key, EntryKind.AGENT_ADDED, name, token)
            write_token(path, token)
            _write_approvers(ledger.parent, name, view)
            return [entry]

        opened.append_given(drafts)
    return path


def rotate_agent(ledger: Path, name: str, key: UnlockedKey) -> Path:
    """Gives an agent a new token and returns its token file. The old token stops working first."""
    token, path = new_token(), token_path(ledger.parent, name)
    _record(ledger, key, EntryKind.AGENT_ROTATED, name, token)
    try:
        write_token(path, token)
        with open_reader(ledger) as reader:
            _write_approvers(ledger.parent, name, reader)
    except AileronError as error:
        hint = f"The old token no longer works. Fix this, then run `aileron-tui agent rotate {name}` again."
        raise AgentFault("the new token could not be written", str(error), hint) from None
    return path


def revoke_agent(ledger: Path, name: str, key: UnlockedKey) -> None:
    """Revokes an agent for good and deletes its token file."""
    _record(ledger, key, EntryKind.AGENT_REVOKED, name, "")
    with suppress(OSError):  # the token no longer works
        token_path(ledger.parent, name).unlink(missing_ok=True)
        approvers_path(ledger.parent, name).unlink(missing_ok=True)


def _write_approvers(data: Path, name: str, ledger: LedgerView) -> None:
    write_approvers(data, name, approver_lines(Approvers.of(ledger.key_changes())))


def _record(ledger: Path, key: UnlockedKey, change: EntryKind, name: str, token: str) -> None:
    with open_ledger(ledger, role="agent", guest=True) as opened:

        def drafts(view: LedgerView) -> list[EntryDraft]:
            Agents.of(view).named(name)
            return [_signed(view, key, change, name, token)]

        opened.append_given(drafts)


def _signed(view: LedgerView, key: UnlockedKey, change: EntryKind, name: str, token: str) -> EntryDraft:
    """The entry of a change, signed over the head of the ledger. No other entry can come in between."""
    approvers = Approvers.of(view.key_changes())
    if not any(approver.public == key.public for approver in approvers.active):
        hint = "Choose a key that may approve with --key. `aileron-tui key list` shows them."
        raise AgentFault(f"the key {key.name} may not approve on this gate, so it cannot change agents", hint=hint)
    signed = AgentChange(change, name, token_hash(token) if token else "", view.head().hash, timestamp(utc_now()))
    return EntryDraft(change, signed.body(sign(signed, key).fields()))
