"""The risk of a call: low, normal or high, with a reason for the operator."""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from aileron_tui.core.values import dataclass

if TYPE_CHECKING:
    from aileron_tui.core.action import Action, Step

_DANGEROUS: Final = ("delete", "modify", "update", "send", "fulfill", "receive", "correct", "rebuild")
_READING: Final = ("get", "list", "search", "read", "find", "fetch", "describe", "count", "query", "lookup")
_WORD: Final = re.compile(r"[a-z]+")


class RiskLevel(StrEnum):
    """The risk levels, lowest first."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """0 for low, 1 for normal, 2 for high."""
        return list(RiskLevel).index(self)


@dataclass(frozen=True, slots=True)
class Risk:
    """A level and the reason for it."""

    level: RiskLevel
    reason: str


@dataclass(frozen=True, slots=True)
class RiskRule:
    """One `[[risk]]` entry of the configuration: patterns such as `send-*`. An empty pattern matches everything."""

    level: RiskLevel
    action: str = ""
    connector: str = ""
    op: str = ""

    def matches(self, action: str, steps: "Iterable[Step]") -> bool:
        """Whether the action's name and one of its steps match every pattern that is set."""
        if self.action and not fnmatchcase(action, self.action):
            return False
        return any(
            (not self.connector or fnmatchcase(step.connector, self.connector))
            and (not self.op or fnmatchcase(step.op, self.op))
            for step in steps
        )


def assess(action: "Action", rules: Iterable[RiskRule] = (), annotation: RiskLevel | None = None) -> Risk:
    """The risk of a call: the user's first matching `[[risk]]` entry, or else the riskiest step of the manifest.

    An `annotation` by the agent's side can raise the risk but never lower it.
    """
    risk = by_rule(action.name, action.execute, rules) or by_steps(action.execute)
    if annotation is not None and annotation.rank > risk.level.rank:
        return Risk(annotation, "the agent's side rates it " + annotation.value)
    return risk


def by_rule(action: str, steps: "Sequence[Step]", rules: Iterable[RiskRule]) -> Risk | None:
    """The risk by the user's first matching `[[risk]]` entry, or None if no entry matches."""
    for number, rule in enumerate(rules, start=1):
        if rule.matches(action, steps):
            return Risk(rule.level, f"entry {number} of [[risk]] in your configuration")
    return None


def by_steps(steps: "Iterable[Step]") -> Risk:
    """The risk of the riskiest step."""
    risks = [_of_op(step.op, step.idempotent) for step in steps]
    return max(risks, key=lambda risk: risk.level.rank, default=Risk(RiskLevel.NORMAL, "nothing is known about it"))


def by_name(action: str) -> Risk:
    """The risk of an action if only its name is known. A name can raise the risk but never lower it."""
    risk = _of_op(action, None)
    return risk if risk.level is not RiskLevel.LOW else Risk(RiskLevel.NORMAL, f'only the name "{action}" is known')


def _of_op(op: str, idempotent: bool | None) -> Risk:
    """The risk of one op. Its name counts first, because an idempotent deletion is still a deletion."""
    word = _WORD.match(op.lower())
    verb = word[0] if word else ""
    if verb in _DANGEROUS:
        return Risk(RiskLevel.HIGH, f'"{op}" changes or sends something that may not be undone')
    if verb in _READING:
        return Risk(RiskLevel.LOW, f'"{op}" only reads')
    if verb == "create":
        return Risk(RiskLevel.NORMAL, f'"{op}" creates something new')
    if idempotent:
        return Risk(RiskLevel.LOW, f'"{op}" is declared safe to repeat')
    return Risk(RiskLevel.NORMAL, f'"{op}" is not declared to be harmless')
