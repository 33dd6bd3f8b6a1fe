"""The agents of a gate, as the ledger lists them.

The ledger is the only list, as it is for approvers. An agent is known by its token, and the ledger has its hash.
An approver signs every change, and what is not signed does not count; `core/agent_change.py` has the one exception. A
name belongs to one agent forever: once revoked, it cannot be added again, so the history never mixes up two agents.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from aileron_tui.core.agent_change import PAYLOAD_TYPE, AgentChange, objection, read_change
from aileron_tui.core.agent_names import NAME_RULE, is_agent_name, is_reserved, lookalike
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError
from aileron_tui.core.values import dataclass
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import check_signature, read_envelope
from aileron_tui.signing.errors import AgentFault, EnvelopeRefused, NoAgent

Follows = Callable[[str, int], bool]
"""Whether a hash is that of the entry just before an entry number."""


class AgentLedger(Protocol):
    """What is needed from a ledger to know its agents."""

    def key_changes(self) -> tuple[Entry, ...]:
        """Every entry that changes who may approve, in order."""

    def agent_changes(self) -> tuple[Entry, ...]:
        """Every entry that adds, rotates or revokes an agent, in order."""

    def position(self, digest: str, oldest: int, before: int) -> int | None:
        """The number of the entry with this hash, or None. Searches from `oldest` up to but not including `before`."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that may call, or that could until it was `revoked`. The times are those of the ledger entries.

    `token` is the hash of its token. `added_by` is the name of the approver who added it, "" if the gate did.
    """

    name: str
    token: str
    added: str
    added_by: str = ""
    rotated: str = ""
    revoked: str = ""


class Agents(dict[str, Agent]):
    """Agents by name. Revoked ones are kept, because their names stay taken.

    `invalid` has what is wrong with the entries that were ignored.
    """

    def __init__(self) -> None:
        super().__init__()
        self.invalid: list[str] = []
        self._by_token: dict[str, str] = {}
        self._latest: dict[str, EntryKind] = {}

    @classmethod
    def of(cls, ledger: AgentLedger) -> "Agents":
        """The agents according to a ledger. An entry that is not valid changes nothing."""
        agents, approvers = cls(), Approvers()
        for entry in sorted((*ledger.key_changes(), *ledger.agent_changes()), key=lambda entry: entry.seq):
            approvers.learn(entry)
            try:
                agents.learn(entry, approvers, lambda head, seq: ledger.position(head, seq - 1, seq) is not None)
            except AgentFault as error:
                agents.invalid.append(f"entry {entry.seq}: {error}")
        return agents

    def learn(self, entry: Entry, approvers: Approvers, follows: Follows) -> None:
        """Processes one entry and ignores all but changes of agents. Raises AgentFault if the entry is not valid."""
        if not entry.kind.startswith("agent."):
            return
        try:
            change, envelope = read_change(entry)
        except JsonError as error:
            raise AgentFault("the change to an agent cannot be read", str(error)) from None
        if why := objection(self._latest, change, signed=envelope is not None):
            raise AgentFault("the agent cannot be changed", why)
        signer = _signer(change, envelope, approvers, follows, entry.seq) if envelope is not None else ""
        self._latest[change.name] = change.change
        self._apply(change, entry.time, signer)

    def _apply(self, change: AgentChange, time: str, signer: str) -> None:
        known = self.get(change.name)
        if known is None:
            self[change.name] = Agent(change.name, change.token, time, signer)
        elif change.change is EntryKind.AGENT_ROTATED:
            self[change.name] = replace(known, token=change.token, rotated=time)
        else:
            self[change.name] = replace(known, token="", revoked=time)
        if known is not None:
            self._by_token.pop(known.token, None)
        if change.token:
            self._by_token[change.token] = change.name

    @property
    def active(self) -> tuple[Agent, ...]:
        """The agents that may call now, by name."""
        return tuple(sorted((agent for agent in self.values() if not agent.revoked), key=lambda agent: agent.name))

    def with_hash(self, token: str) -> str:
        """The name of the agent whose token has this hash, or ""."""
        return self._by_token.get(token, "")

    def is_revoked(self, name: str) -> bool:
        """Whether an agent was revoked."""
        return name in self and bool(self[name].revoked)

    def named(self, name: str) -> Agent:
        """The active agent with this name."""
        agent = self.get(name)
        if agent is None:
            raise NoAgent(f"there is no agent named {name}", hint="`aileron-tui agent list` shows all agents.")
        if agent.revoked:
            raise NoAgent(f"the agent {name} was revoked", f"at {agent.revoked}", "Add an agent with another name.")
        return agent

    def check_new(self, name: str) -> None:
        """Refuses a name that is not valid, is taken, or looks too much like another one."""
        if not is_agent_name(name):
            raise AgentFault("not a valid name for an agent", repr(name), NAME_RULE)
        if is_reserved(name):
            raise AgentFault(f'the name "{name}" is reserved', hint="Choose another name.")
        if known := self.get(name):
            if known.revoked:
                detail = f"it was revoked at {known.revoked}, and names are not used again"
                raise AgentFault(f"the name {name} belongs to a revoked agent", detail, "Choose another name.")
            hint = f"For a new token, use `aileron-tui agent rotate {name}`. For another agent, choose another name."
            raise AgentFault(f"there is already an agent named {name}", hint=hint)
        if other := lookalike(name, self):
            raise AgentFault(f"the name {name} looks too much like {other}", hint="Choose another name.")


def _signer(change: AgentChange, envelope: Json, approvers: Approvers, follows: Follows, seq: int) -> str:
    """The name of the approver who signed a change at this place of the ledger."""
    try:
        signed = read_envelope(envelope)
        if signed.type != PAYLOAD_TYPE:
            raise AgentFault("the change to the agent was signed as another type", repr(signed.type))
        approver = check_signature(signed, approvers)
    except EnvelopeRefused as error:
        raise AgentFault("no approver signed the change to the agent", f"{error.reason}: {error.detail}") from None
    if not follows(change.head, seq):
        raise AgentFault("the change to the agent was signed over another history", change.head)
    return approver.name
