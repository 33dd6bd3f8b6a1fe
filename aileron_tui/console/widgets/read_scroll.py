"""A text in a dialog that must have been on screen, every line of it, before it can be signed."""

from time import monotonic

from textual.message import Message
from textual.timer import Timer

from aileron_tui.console.textual_internals import painted_regions
from aileron_tui.console.timers import call_after
from aileron_tui.console.widgets.line_widget import LineWidget
from aileron_tui.console.widgets.prompt_scroll import PromptScroll
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.console.widgets.reading_progress import Painted, PromptPart, ReadingProgress


class ReadScroll(PromptScroll):
    """Scrolls its parts and records which of their lines stayed on screen for a moment, as in a prompt."""

    class LinesRead(Message):
        """More lines have been on screen, or some must be read again."""

    def __init__(self, *parts: LineWidget, classes: str | None = None) -> None:
        super().__init__(*parts, classes=classes)
        self._progress = ReadingProgress()
        self._contents: dict[PromptPart, object] = {}
        self._version = 0
        self._painted: tuple[int, Painted] = (-1, {})
        self._painted_at = 0.0
        self._recording = False
        self._dwell_timer: Timer | None = None

    def on_mount(self) -> None:
        """Starts recording which lines are on screen."""
        for attribute in ("scroll_y", "virtual_size"):
            self.watch(self, attribute, self._record_soon, init=False)

    @property
    def unread(self) -> int:
        """How many lines have not been on screen."""
        return self._progress.unread(self._contents).lines

    def content_changed(self) -> None:
        """Call when a part says something else: that part must be read again."""
        self._contents = {part: part.content for part in self.displayed_children if isinstance(part, LineWidget)}
        self._version += 1
        self._progress.expect(self._contents)
        self._record_soon()
        self.post_message(self.LinesRead())

    def read_on(self) -> None:
        """Scrolls to the first lines that have not been on screen."""
        if found := self._progress.next_unread(self._contents):
            self.scroll_to_row(*found)
            self._record_soon()

    def _record_soon(self) -> None:
        if not self._recording:
            self._recording = True
            self.call_after_refresh(self._record)

    def _record(self) -> None:
        """Records what is on screen once it stayed there for a moment, and while no other screen covers it."""
        self._recording = False
        if self._dwell_timer is not None:
            self._dwell_timer.stop()
            self._dwell_timer = None
        uncovered = self.app.screen is self.screen
        painted = (self._version, self._progress.painted(painted_regions(self.screen)) if uncovered else {})
        if not uncovered or painted != self._painted:
            self._painted, self._painted_at = painted, monotonic()
        if (left := self._painted_at + PromptView.DWELL_SECONDS - monotonic()) > 0:
            self._dwell_timer = call_after(self, left, self._record)
        else:
            self._progress.record(painted[1])
            self.post_message(self.LinesRead())
