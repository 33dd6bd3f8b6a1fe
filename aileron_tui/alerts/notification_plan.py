"""Which notifications are on the desktop: a few about single requests, and one about all others.

A flood of requests must not cover the screen, so only few notifications are shown one by one, and those not often.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from aileron_tui.alerts.sending_rate import SendingRate
from aileron_tui.core.alerts import Alert
from aileron_tui.core.values import dataclass

MOST_SHOWN: Final = 3
"""Notifications about single requests on the desktop at a time."""

GROUP_SECONDS: Final = 10.0
FEWER_SECONDS: Final = 60.0
"""How soon the notification about all other requests is renewed when new ones arrive, and when they become fewer."""

_MOST_PER_MINUTE: Final = 6


@dataclass(frozen=True, slots=True)
class Show:
    """Show a notification about one request."""

    alert: Alert


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Withdraw the notification about a request."""

    id: str


@dataclass(frozen=True, slots=True)
class ShowGroup:
    """Show the notification about the number of waiting requests, instead of an earlier one."""

    waiting: int
    url: str


@dataclass(frozen=True, slots=True)
class WithdrawGroup:
    """Withdraw the notification about the number of waiting requests."""


Step: TypeAlias = Show | Withdraw | ShowGroup | WithdrawGroup


class NotificationPlan:
    """What has been shown, and what to change when requests arrive or no longer wait."""

    def __init__(self) -> None:
        self._shown: set[str] = set()
        self._grouped: set[str] = set()
        self._unannounced: set[str] = set()
        self._group = 0
        self._group_at = float("-inf")
        self._rate = SendingRate(_MOST_PER_MINUTE, 60.0)

    def forget(self) -> None:
        """Nothing is on the desktop any more, because the connection to it was lost."""
        self._shown.clear()
        self._grouped.clear()
        self._unannounced.clear()
        self._group = 0

    def steps(self, waiting: Mapping[str, Alert], now: float) -> list[Step]:
        """What to do now so that the desktop shows these requests."""
        steps: list[Step] = [Withdraw(id_) for id_ in sorted(self._shown - waiting.keys())]
        self._shown &= waiting.keys()
        self._grouped &= waiting.keys()
        self._unannounced &= waiting.keys()
        for id_, alert in waiting.items():
            if id_ in self._shown or id_ in self._grouped:
                continue
            if len(self._shown) < MOST_SHOWN and not self._grouped and self._rate.allows(now):
                self._rate.count(now)
                self._shown.add(id_)
                steps.append(Show(alert))
            else:
                self._grouped.add(id_)
                self._unannounced.add(id_)
        if not self._grouped and self._group:
            self._group = 0
            steps.append(WithdrawGroup())
        elif (due := self.next_change(waiting)) is not None and now >= due:
            self._group, self._group_at = len(waiting), now
            self._unannounced.clear()
            steps.append(ShowGroup(len(waiting), next(alert.url for alert in waiting.values())))
        return steps

    def next_change(self, waiting: Mapping[str, Alert]) -> float | None:
        """When to ask for steps again even if nothing arrives; None if there is no need to."""
        if self._unannounced:  # also if as many have gone: a request that takes the place of another is a new one
            return self._group_at + GROUP_SECONDS
        if not self._grouped or self._group == len(waiting):
            return None
        return self._group_at + FEWER_SECONDS
