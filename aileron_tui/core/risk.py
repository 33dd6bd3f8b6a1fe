"""The risk of a call: low, normal or high, with a reason for the operator."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from aileron_tui.core.values import dataclass

if TYPE_CHECKING:
    from aileron_tui.core.action import Action, Step

_UNKNOWN: Final = "effect unknown"


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
    """A level and the reason for it, which is short enough for one line of a narrow screen."""

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
    """The risk of a call: the user's first matching `[[risk]]` entry, or else the riskiest name in the manifest.

    An `annotation` by the agent's side can raise the risk but never lower it.
    """
    risk = by_rule(action.name, action.execute, rules) or by_names(action.name, action.execute, gated=action.gated)
    if annotation is not None and annotation.rank > risk.level.rank:
        return Risk(annotation, "rated by the agent")
    return risk


def by_rule(action: str, steps: "Sequence[Step]", rules: Iterable[RiskRule]) -> Risk | None:
    """The risk by the user's first matching `[[risk]]` entry, or None if no entry matches."""
    for number, rule in enumerate(rules, start=1):
        if rule.matches(action, steps):
            return Risk(rule.level, f"by [[risk]] entry {number}")
    return None


def by_names(action: str, steps: "Iterable[Step]", *, gated: bool = True) -> Risk:
    """The risk by the names of the ops and the action: the highest counts. A gated action is never low.

    `idempotent` does not count: deleting a file twice is as safe as deleting it once, and as dangerous.
    """
    return _riskiest(tuple(dict.fromkeys([*(step.op for step in steps), action])), gated=gated)


@lru_cache(maxsize=256)
def _riskiest(names: tuple[str, ...], *, gated: bool) -> Risk:
    """The same for these names, kept: every call of an action has the same ones."""
    risk = max(map(_of_name, names), key=lambda risk: risk.level.rank)
    if risk.level is RiskLevel.LOW and gated:
        return Risk(RiskLevel.NORMAL, "gated; only reads")
    return risk


def _of_name(name: str) -> Risk:
    """The risk by the words of one name."""
    from aileron_tui.core.risk_words import Effect, risk_word  # noqa: PLC0415  # a console only shows the risk

    found = risk_word(name)
    if found is None:
        return Risk(RiskLevel.NORMAL, _UNKNOWN)
    level = RiskLevel.HIGH if found.effect.is_high else RiskLevel.NORMAL
    level = RiskLevel.LOW if found.effect is Effect.READS else level
    return Risk(level, found.effect.value)
