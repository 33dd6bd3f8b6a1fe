"""Records what has been on screen long enough to be read."""

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from textual.timer import Timer
from textual.widget import Widget

from aileron_tui.console.textual_internals import painted_regions
from aileron_tui.console.timers import call_after
from aileron_tui.console.widgets.reading_progress import Painted, ReadingProgress


class ShownVersion(NamedTuple):
    """What is shown, whether it can be read yet, and for how many seconds a line must stay on screen."""

    version: str
    is_complete: bool
    seconds: float


class ReadingRecorder:
    """Watches which rows of a widget are painted, and records them once they stayed on screen for a moment.

    So no frame of a changing layout counts. The moment begins again while another screen covers the widget, and until
    the preview is there: it could push lines off the screen that were there only briefly.
    """

    def __init__(
        self,
        owner: Widget,
        progress: ReadingProgress,
        shown: Callable[[], ShownVersion | None],
        on_checked: Callable[[], None],
    ) -> None:
        self._owner = owner
        self._progress = progress
        self._shown = shown
        self._on_checked = on_checked
        self._is_pending = False
        self._painted: tuple[str, Painted] | None = None
        self._painted_at = 0.0
        self._timer: Timer | None = None

    @property
    def is_settled(self) -> bool:
        """Whether everything on screen has been there long enough to count as read."""
        return not self._is_pending and self._timer is None

    def check_after_refresh(self) -> None:
        """Looks at what is on screen after the next refresh."""
        if not self._is_pending:
            self._is_pending = True
            self._owner.call_after_refresh(self.check)

    def check(self) -> None:
        """Looks at what is on screen, and records it if it has been there long enough."""
        self._is_pending = False
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        shown = self._shown()
        if shown is None:
            return
        screen = self._owner.screen
        counts = shown.is_complete and self._owner.app.screen is screen
        painted = (shown.version, self._progress.painted(painted_regions(screen)) if counts else {})
        if not counts or painted != self._painted:
            self._painted, self._painted_at = painted, monotonic()
        if (left := self._painted_at + shown.seconds - monotonic()) > 0:
            self._timer = call_after(self._owner, left, self.check)
        else:
            self._progress.record(painted[1])
        self._on_checked()
