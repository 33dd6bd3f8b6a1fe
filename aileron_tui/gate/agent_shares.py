"""Shares of a resource: no agent can use all of it, and each can always use a minimum."""

from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """How much agents may use: `per_agent` each and `total` together.

    The first `minimum` of each agent does not count towards the total, so that several greedy agents together cannot
    leave another one without.
    """

    total: int
    per_agent: int
    minimum: int = 0


class AgentShares:
    """What each agent uses of one resource."""

    def __init__(self, share: Share) -> None:
        self.share = share
        self._used: dict[str, int] = {}
        self._above_minimum = 0

    def used(self, agent: str) -> int:
        """How much an agent uses."""
        return self._used.get(agent, 0)

    def exceeds_own(self, agent: str, amount: int = 1) -> bool:
        """Whether this much more would be above the agent's own share."""
        return self.used(agent) + amount > max(self.share.per_agent, self.share.minimum)

    def fits(self, agent: str, amount: int = 1) -> bool:
        """Whether an agent may use this much more."""
        if self.exceeds_own(agent, amount):
            return False
        more = self._above(self.used(agent) + amount) - self._above(self.used(agent))
        return more == 0 or self._above_minimum + more <= self.share.total

    def add(self, agent: str, amount: int = 1) -> None:
        """Counts what an agent uses, even if it does not fit."""
        before = self.used(agent)
        self._above_minimum += self._above(before + amount) - self._above(before)
        self._used[agent] = before + amount

    def remove(self, agent: str, amount: int = 1) -> None:
        """Counts what an agent no longer uses."""
        self.add(agent, -amount)
        if self._used[agent] <= 0:
            del self._used[agent]

    def _above(self, used: int) -> int:
        return max(0, used - self.share.minimum)
