"""The token and the starter rules of an agent that is set up."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Literal

from aileron_tui.cli.commands.history.ledger_reading import local_reader
from aileron_tui.core.agent_change import token_hash
from aileron_tui.core.rule import Rule
from aileron_tui.core.starter_rules import starter_rules, starter_tools
from aileron_tui.core.values import dataclass
from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.files.boot_clock import boot_clock
from aileron_tui.files.private_files import PrivateFileError
from aileron_tui.signing.agents import Agents
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.rules import Rules
from aileron_tui.surface.agent_changes import add_agent, rotate_agent
from aileron_tui.surface.rule_changes import make_rule

TokenState = Literal["new", "ok", "replaced"]


@dataclass(frozen=True, slots=True)
class AgentAccess:
    """What an agent needs at the gate: whether its token is made, kept or replaced, and the rules it could get."""

    name: str
    state: TokenState
    rules: tuple[Rule, ...]


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
    rules = offered(known)
    if name not in agents:
        agents.check_new(name)
        return AgentAccess(name, "new", rules)
    agent = agents.named(name)
    try:
        works = token_hash(read_token(token_path(ledger.parent, name))) == agent.token
    except PrivateFileError:
        works = False
    return AgentAccess(name, "ok" if works else "replaced", rules)


def give_access(ledger: Path, access: AgentAccess, rules: tuple[Rule, ...], key: UnlockedKey) -> None:
    """Makes the token, if one is needed, and the rules."""
    if access.state == "new":
        add_agent(ledger, access.name, key)
    elif access.state == "replaced":
        rotate_agent(ledger, access.name, key)
    for rule in rules:
        make_rule(ledger, rule, key)
