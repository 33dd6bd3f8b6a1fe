"""A text in a dialog that must have been on screen, every line of it, before it can be signed."""

from textual.message import Message

from aileron_tui.console.widgets.line_widget import LineWidget
from aileron_tui.console.widgets.prompt_scroll import PromptScroll
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.console.widgets.reading_progress import PromptPart, ReadingProgress
from aileron_tui.console.widgets.reading_recorder import ReadingRecorder, ShownVersion


class ReadScroll(PromptScroll):
    """Scrolls its parts and records which of their lines stayed on screen for a moment, as in a prompt."""

    class LinesRead(Message):
        """More lines have been on screen, or some must be read again."""

    def __init__(self) -> None:
        super().__init__()
        self.add_class("body")
        self._progress = ReadingProgress()
        self._recorder = ReadingRecorder(self, self._progress, self._shown_version, self._report)
        self._contents: dict[PromptPart, object] = {}
        self._version = 0

    def on_mount(self) -> None:
        """Starts recording which lines are on screen."""
        for attribute in ("scroll_y", "virtual_size"):
            self.watch(self, attribute, self._recorder.check_after_refresh, init=False)

    @property
    def unread(self) -> int:
        """How many lines have not been on screen."""
        return self._progress.unread(self._contents).lines

    def content_changed(self) -> None:
        """Call when a part says something else: that part must be read again."""
        self._contents = {part: part.content for part in self.displayed_children if isinstance(part, LineWidget)}
        self._version += 1
        self._progress.expect(self._contents)
        self._recorder.check_after_refresh()
        self._report()

    def check(self) -> None:
        """Looks again at what is on screen: a notification may have covered some lines before."""
        if self.unread:
            self._recorder.check_after_refresh()

    def read_on(self) -> None:
        """Scrolls to the first lines that have not been on screen."""
        if found := self._progress.next_unread(self._contents):
            self.scroll_to_row(*found)

    def _shown_version(self) -> ShownVersion:
        return ShownVersion(str(self._version), True, PromptView.DWELL_SECONDS)

    def _report(self) -> None:
        self.post_message(self.LinesRead())
