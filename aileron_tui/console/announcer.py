"""Calls attention to requests: the bell, a notification of the terminal, and the count in its title.

Only numbers go into escape sequences, never foreign text.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from aileron_tui.console.count_words import waiting_words
from aileron_tui.surface.request_alerts import RequestAlerts

if TYPE_CHECKING:
    from aileron_tui.console.settings import ConsoleSettings
    from aileron_tui.runtime.source_events import SourceEvent
    from aileron_tui.surface.board import Board
    from aileron_tui.surface.held_approval import Stoppable

_UNCLAIMED_SECONDS: Final = 1.0
"""How long a gate may take to alert somebody to a request whose prompt is ready."""


class Terminal(Protocol):
    """What the announcer needs from the app."""

    @property
    def board(self) -> "Board":
        """The requests."""

    @property
    def settings(self) -> "ConsoleSettings":
        """The user's settings."""

    def bell(self) -> None:
        """Rings the bell."""

    def write_sequence(self, sequence: str) -> None:
        """Writes an escape sequence to the terminal."""

    def call_after(self, seconds: float, callback: Callable[[], object]) -> "Stoppable":
        """Calls `callback` once on the loop, after this many seconds."""


class Announcer:
    """Announces the requests that this console is alerted to, and those that nobody is alerted to."""

    def __init__(self, terminal: Terminal) -> None:
        self.alerts = RequestAlerts()
        self._terminal = terminal
        self._timer: Stoppable | None = None

    def receive(self, events: "Sequence[SourceEvent]", new: Iterable[str]) -> None:
        """Announces what these events ask for; `new` has the requests that wait now and did not before."""
        self.announce(self.alerts.receive(events, new, self._terminal.board.requests))
        self._announce_unclaimed_soon()

    def announce(self, count: int) -> None:
        """Rings the bell, shows the title and sends a notification of the terminal for this many requests."""
        if not count:
            return
        self.show_title()
        if self._terminal.settings.bell:
            self._terminal.bell()
        if self._terminal.settings.notify:
            words = waiting_words(count)
            self._terminal.write_sequence(f"\x1b]9;aileron: {words}\x07\x1b]777;notify;aileron;{words}\x07")

    def show_title(self) -> None:
        """Shows how many announced requests wait in the title of the terminal."""
        count = max(0, self._terminal.board.waiting_count - self.alerts.quiet_count)
        self._terminal.write_sequence(f"\x1b]0;{f'({count}) ' if count else ''}aileron\x07")

    def _announce_unclaimed_soon(self) -> None:
        if self.alerts.has_unclaimed and self._timer is None:
            self._timer = self._terminal.call_after(_UNCLAIMED_SECONDS, self._announce_unclaimed)

    def _announce_unclaimed(self) -> None:
        self._timer = None
        self.announce(self.alerts.take_unclaimed(self._terminal.board.requests))
        self._announce_unclaimed_soon()
