"""The words of a desktop notification. Foreign text is made visible, cut, and cannot be read as markup."""

import sys
from datetime import datetime
from html import escape
from typing import Final

from aileron_tui.core.alerts import Alert
from aileron_tui.core.time_words import local_time
from aileron_tui.core.times import moment
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import short

_WIDEST_SUMMARY: Final = 160
_WIDEST_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class NotificationText:
    """Title and body. Only the body has foreign text: not every server shows a title as it is."""

    title: str
    body: str


def one_waits(alert: Alert, now: datetime, *, content: bool, buttons: bool) -> NotificationText:
    """The notification about one request. Without buttons, it says where to answer.

    Our own words come first, so that foreign text after them cannot be taken for them.
    """
    until = f", until {local_time(moment(alert.expires_at), now)}" if alert.expires_at else ""
    by = f", asked by {_foreign(alert.agent, _WIDEST_NAME)}" if content else ""
    lines = [f"{alert.risk.capitalize()} risk{until}{by}", _place(alert.url, buttons)]
    if content:
        lines += [_foreign(alert.action, _WIDEST_NAME), _foreign(alert.summary, _WIDEST_SUMMARY)]
    return NotificationText("A request is waiting", "\n".join(filter(None, lines)))


def many_wait(waiting: int, most: int, url: str, *, buttons: bool) -> NotificationText:
    """The notification about more requests than are shown one by one. `most` is as far as they are counted."""
    number = f"{waiting:,} requests" if waiting < most else f"{most:,} requests or more"
    body = _place(url, buttons) or "Answer them in the console or on the page."
    return NotificationText(f"{number} are waiting", body)


def _place(url: str, buttons: bool) -> str:
    return f"Answer at {_foreign(url, _WIDEST_SUMMARY)}" if url and not buttons else ""


def _foreign(text: str, width: int) -> str:
    """Foreign text, cut. Servers of the freedesktop standard interpret markup in the body, so it is escaped there."""
    shown = short(text, width)
    return shown if sys.platform in ("darwin", "win32") else escape(shown, quote=False)
