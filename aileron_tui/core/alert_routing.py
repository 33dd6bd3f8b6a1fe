"""Decides whom to alert to a request, and why.

Every surface lists every request. Alerting is about who is disturbed: the first surface in the order that is there, and
the next one too if nobody reacts within its share of the time. The last one is always the prompt. Times are seconds on
a clock that only moves forward.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from aileron_tui.core.values import dataclass

CONSOLE: Final = "console"
PAGE: Final = "page"
NOTIFICATION: Final = "notification"
WEBHOOK: Final = "webhook"
PROMPT: Final = "prompt"

ORDER: Final = (CONSOLE, PAGE, NOTIFICATION, WEBHOOK)
"""The surfaces that can be ordered and left out. The prompt always comes after them."""

ATTACHED: Final = frozenset({CONSOLE, PAGE, PROMPT})
"""The surfaces that people have open. The others are channels, which are sent something."""

LONGEST_SHARE: Final = 60.0
NEVER: Final = float("inf")

_READING_SHARES: Final = 3
"""How many shares somebody who reads a request has before the next surface is alerted."""

_CLOSED: Final = {CONSOLE: "no console is open", PAGE: "no page is open", PROMPT: "no prompt is open"}
_ASLEEP: Final = {CONSOLE: "nobody is at the console", PAGE: "nobody is looking at the page"}


@dataclass(frozen=True, slots=True)
class AlertOrder:
    """The surfaces in their order, the prompt last, and how many seconds each gets.

    Without `share`, the time that is left is shared equally, and each gets a minute at most.
    """

    surfaces: tuple[str, ...] = (*ORDER, PROMPT)
    share: float | None = None

    @classmethod
    def of(cls, surfaces: Sequence[str], share: float | None = None) -> "AlertOrder":
        """The order with these surfaces and the prompt."""
        return cls((*(name for name in surfaces if name != PROMPT), PROMPT), share)


@dataclass(frozen=True, slots=True)
class AlertRoute:
    """Who was alerted to a request so far, in order, and when the last one was, or when somebody reacted to it last."""

    alerted: tuple[str, ...] = ()
    since: float = 0.0
    is_read: bool = False

    @property
    def current(self) -> str:
        """The surface that was alerted last, "" if none was."""
        return self.alerted[-1] if self.alerted else ""

    def reacted(self, now: float, *, is_read: bool) -> "AlertRoute":
        """The route after somebody began or stopped to read the request, or extended its deadline."""
        return AlertRoute(self.alerted, now, is_read)

    def without(self, surface: str) -> "AlertRoute":
        """The route as if a surface had not been alerted, because it could not be reached after all."""
        return replace(self, alerted=tuple(name for name in self.alerted if name != surface))


@dataclass(frozen=True, slots=True)
class AlertStep:
    """The next surface to alert. `before` is the one that was alerted before it, "" if none was."""

    to: str
    before: str = ""
    reason: str = ""

    def taken(self, route: AlertRoute, absent: Mapping[str, str], now: float) -> AlertRoute:
        """The route after this step. Surfaces that people have closed meanwhile can be alerted again."""
        return AlertRoute((*still_alerted(route, absent), self.to), now, route.is_read)


def still_alerted(route: AlertRoute, absent: Mapping[str, str]) -> tuple[str, ...]:
    """The surfaces that were alerted and are still there. What a channel has sent stays sent."""
    return tuple(name for name in route.alerted if not (name in ATTACHED and absent.get(name)))


def remaining(route: AlertRoute, absent: Mapping[str, str]) -> AlertRoute:
    """The route without the surfaces that people have closed, so that they are alerted again once they are back."""
    alerted = still_alerted(route, absent)
    return route if alerted == route.alerted else AlertRoute(alerted, route.since, route.is_read and bool(alerted))


def next_step(
    order: AlertOrder, route: AlertRoute, absent: Mapping[str, str], now: float, left: float
) -> AlertStep | float:
    """The surface to alert now, or in how many seconds to ask again if nothing changes until then.

    `absent` says for each surface that is not there why it is not. `left` is how long the request can still wait.
    """
    able = [name for name in order.surfaces if name not in route.alerted and not absent.get(name)]
    if not able:
        return NEVER
    if not route.alerted:
        missed = order.surfaces[: order.surfaces.index(able[0])]
        return AlertStep(able[0], reason="; ".join(absent[name] for name in missed if absent.get(name)))
    there = still_alerted(route, absent)
    if not there:
        return AlertStep(able[0], route.current, absent[route.current])
    share = _share(order, route, now, left, len(able)) * (_READING_SHARES if route.is_read else 1)
    if (rest := route.since + share - now) > 0:
        return rest
    missing = "answered" if route.is_read else "reacted"
    return AlertStep(able[0], there[-1], f"nobody {missing} for {share:.0f} s")


def _share(order: AlertOrder, route: AlertRoute, now: float, left: float, others: int) -> float:
    if order.share is not None:
        return order.share
    return min(LONGEST_SHARE, max(1.0, (left + now - route.since) / (others + 1)))


def absence(surface: str, *, is_open: bool) -> str:
    """Why nobody can be alerted on a surface: nobody is at it, or nobody has it open."""
    if is_open:
        return _ASLEEP.get(surface, f"nobody is at the {surface}")
    return _CLOSED.get(surface, f"no {surface} is open")
