"""The agents that may call the gate. Another process may add, rotate or revoke one at any moment."""

import asyncio
import secrets
from pathlib import Path
from typing import Final

from aileron_tui.core.agent_change import AgentChange, token_hash
from aileron_tui.core.agent_names import DEFAULT_AGENT
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.visible_text import inline
from aileron_tui.files.agent_tokens import read_token, token_path, write_token
from aileron_tui.files.private_files import PrivateFileError
from aileron_tui.gate.gate_state import GateState, log
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.signing.agents import Agents

REVOKED: Final = "the agent's token was revoked"


class AgentRegistry:
    """The agents according to the ledger. Must only be used from the gate's event loop."""

    def __init__(self, gate_state: GateState) -> None:
        self._gate_state = gate_state
        self._seen = -1
        self._agents = Agents()
        self._changed = asyncio.Event()

    def current(self) -> Agents:
        """The agents as of now."""
        last = self._gate_state.reader.last_agent_change()
        if last != self._seen:
            known = set(self._agents.invalid)
            self._seen, self._agents = last, Agents.of(self._gate_state.reader)
            for line in self._agents.invalid:
                if line not in known:
                    log.error("ignored a change to an agent: %s", inline(line))
            self._changed.set()
            self._changed = asyncio.Event()
        return self._agents

    async def wait_until_invalid(self, token: str) -> None:
        """Returns once a token, given by its hash, is no longer valid.

        While the ledger cannot be read, the token counts as valid: a call that was accepted goes on.
        """
        while self._is_valid(token):
            await self._changed.wait()

    def _is_valid(self, token: str) -> bool:
        try:
            return bool(self.current().with_hash(token))
        except AileronError:
            return True

    async def add_default(self) -> None:
        """Adds the first agent, with its token file, if the ledger has no agent yet.

        The file is written first. If the gate is stopped in between, the next start writes another one.
        """
        state = self._gate_state
        if state.reader.last_agent_change():
            return
        token = secrets.token_hex(32)
        await asyncio.to_thread(write_token, token_path(state.setup.data, DEFAULT_AGENT), token)
        change = AgentChange(EntryKind.AGENT_ADDED, DEFAULT_AGENT, token_hash(token))
        await state.recorder.record(EntryDraft(change.change, change.body()))

    def default_token_file(self) -> Path | None:
        """The token file of the default agent, or None if there is no such agent; logs what is wrong with it."""
        path = token_path(self._gate_state.setup.data, DEFAULT_AGENT)
        agent = self.current().get(DEFAULT_AGENT)
        if agent is None or agent.revoked:
            log.warning("the agent %s %s", DEFAULT_AGENT, "was revoked" if agent else "does not exist")
            return None
        try:
            outdated = token_hash(read_token(path)) != agent.token
        except PrivateFileError as error:
            log.warning("the token of the agent %s cannot be read: %s", DEFAULT_AGENT, inline(str(error)))
        else:
            if outdated:
                hint = f"run `aileron-tui agent rotate {DEFAULT_AGENT}`"
                log.warning("the token file of the agent %s is out of date; %s", DEFAULT_AGENT, hint)
        return path

    def revoked_with_open_requests(self) -> list[str]:
        """The revoked agents that still have open requests."""
        agents = self.current()
        return [name for name in agents if agents.is_revoked(name) and self._gate_state.waiting_shares.used(name)]
