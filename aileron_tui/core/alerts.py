"""What is sent to find a person who has to answer a request, and what can send it.

An alert tells that a request waits. It decides nothing, and has no more of the request than what fits on one line.
"""

from typing import Final, Protocol

from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import Visible

NOTIFICATION: Final = "notification"
WEBHOOK: Final = "webhook"


@dataclass(frozen=True, slots=True)
class Alert:
    """One request that waits for an answer.

    `summary` has the values of its prompt that matter most, which may come from its preview. `action` is the name of
    the action or tool. `waiting` is how many requests wait in all, this one included. `url` is where to answer: the
    address of the page, without any code or token, "" if there is no page.
    """

    id: str
    summary: Visible
    agent: Visible
    risk: RiskLevel
    expires_at: str
    waiting: int
    url: str
    action: Visible = Visible("")


class AlertChannel(Protocol):
    """A way to reach a person who may not be looking at a surface.

    No call raises for what goes wrong outside this process, and each returns within a few seconds whatever happens
    there. `alert` may return before the alert has arrived.
    """

    name: str

    async def unavailable(self) -> str:
        """Why nobody can be reached this way now, in one line; "" if somebody can."""

    async def alert(self, alert: Alert) -> None:
        """Tells that a request waits. The same request can be told again, for example when its deadline changed."""

    async def clear(self, id_: str) -> None:
        """Takes the alert of a request back, because it no longer waits. An unknown id does nothing."""

    async def close(self) -> None:
        """Takes every alert back and ends the channel."""
