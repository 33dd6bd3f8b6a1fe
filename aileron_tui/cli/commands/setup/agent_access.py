"""The token and the starter rules of an agent that is set up."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Literal

from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.core.agent_change import token_hash
from aileron_tui.core.rule import Rule
from aileron_tui.core.starter_rules import starter_rules, starter_tools
from aileron_tui.core.values import dataclass
from aileron_tui.files.agent_tokens import approvers_path, read_token, token_path, write_approvers
from aileron_tui.files.boot_clock import boot_clock
from aileron_tui.files.private_files import PrivateFileError, read_private
from aileron_tui.signing.agents import Agents
from aileron_tui.signing.approvers import Approvers, approver_lines
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.rules import Rules
from aileron_tui.surface.agent_changes import add_agent, rotate_agent
from aileron_tui.surface.key_enrolment import read_approvers
from aileron_tui.surface.rule_changes import make_rule

TokenState = Literal["new", "ok", "replaced", "approvers"]


@dataclass(frozen=True, slots=True)
class AgentAccess:
    """What an agent needs at the gate: whether its token is made, kept or replaced, and the rules it could get.

    With `approvers`, the token works, but the agent's own program does not know who may approve now.
    """

    name: str
    state: TokenState
    rules: tuple[Rule, ...]

    @property
    def words(self) -> str:
        """What the agent gets, in words, or "" if it needs nothing."""
        match self.state:
            case "new":
                return f"The agent {self.name} gets a token of its own."
            case "replaced":
                return f"The agent {self.name} gets a new token, because its file does not work."
            case "approvers":
                return f"The agent {self.name} gets a new list of who may approve."
        return ""


def needed_access(ledger: Path, name: str, word: str, now: datetime) -> AgentAccess:
    """What is missing for a coding agent. Raises AgentFault or NoAgent if it cannot have this name."""
    return access_with_rules(ledger, name, now, lambda known: starter_rules(name, starter_tools(word), now, known))


def access_with_rules(
    ledger: Path, name: str, now: datetime, offered: Callable[[list[Rule]], tuple[Rule, ...]]
) -> AgentAccess:
    """What is missing for an agent; `offered` makes the rules it could get from those in force."""
    with local_reader(ledger, indexed=True) as reader:
        agents = Agents.of(reader) if reader else Agents()
        known = [rule.rule for rule in Rules.of(reader).in_force(now, boot_clock())] if reader else []
        approvers = approver_lines(Approvers.of(reader.key_changes())) if reader else []
    rules = offered(known)
    if name not in agents:
        agents.check_new(name)
        return AgentAccess(name, "new", rules)
    agent = agents.named(name)
    try:
        works = token_hash(read_token(token_path(ledger.parent, name))) == agent.token
    except PrivateFileError:
        works = False
    if not works:
        return AgentAccess(name, "replaced", rules)
    return AgentAccess(name, "ok" if _knows(ledger.parent, name, approvers) else "approvers", rules)


def _knows(data: Path, name: str, approvers: list[str]) -> bool:
    """Whether the agent's own program knows exactly these approvers."""
    try:
        return read_private(approvers_path(data, name)).decode().splitlines() == approvers
    except (PrivateFileError, UnicodeDecodeError):
        return False


def give_access(ledger: Path, access: AgentAccess, rules: tuple[Rule, ...], key: UnlockedKey) -> None:
    """Makes the token, if one is needed, and the rules."""
    if access.state == "new":
        add_agent(ledger, access.name, key)
    elif access.state == "replaced":
        rotate_agent(ledger, access.name, key)
    elif access.state == "approvers":
        write_approvers(ledger.parent, access.name, approver_lines(read_approvers(ledger.parent)))
    for rule in rules:
        make_rule(ledger, rule, key)
