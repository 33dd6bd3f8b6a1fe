"""A quote: what stands above and below a block of foreign text so that nobody mistakes its size or its nature."""

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message

from aileron_tui.console.render import MUTED, STRONG, foreign_line, own
from aileron_tui.console.widgets import json_outline as outlines
from aileron_tui.console.widgets.json_outline import JsonOutline
from aileron_tui.console.widgets.quote_text import QuoteText
from aileron_tui.console.widgets.two_sided_line import TwoSidedLine
from aileron_tui.console.widgets.warning_lines import WarningLines


class Quote(Vertical):
    """A labelled block of foreign text with its own scrollbar, its line count and how much is below."""

    DEFAULT_CSS = "Quote { height: auto; width: 1fr; }"

    class Seen(Message):
        """Other rows of this quote are on screen."""

    class Outlined(Message):
        """A long JSON text has been laid out."""

        def __init__(self, text: str, outline: JsonOutline | None) -> None:
            super().__init__()
            self.text = text
            self.outline = outline

    def __init__(
        self,
        label: str = "",
        text: str = "",
        *,
        note: str = "",
        height: int | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self._label, self._text, self._note = label, text, note
        self._head, self._foot = TwoSidedLine(classes="quote-head"), TwoSidedLine(classes="quote-foot")
        self._notices = WarningLines()
        self.body = QuoteText()
        self._fixed = height
        self._pending = False
        self._take()

    def compose(self) -> ComposeResult:
        """Head, warnings, text, foot."""
        yield self._head
        yield self._notices
        yield self.body
        yield self._foot

    def on_mount(self) -> None:
        """What was given before there was a screen to work for."""
        if self._pending:
            self._lay_out(self._text)

    def show(self, label: str, text: str, *, note: str = "", diff: bool = False, listed: bool = False) -> None:
        """Another text; the same one keeps everything as it is."""
        same = (label, text, note) == (self._label, self._text, self._note)
        self._label, self._text, self._note = label, text, note
        if not same:
            self._notices.show(())
            self._take(diff=diff, listed=listed)

    def warn(self, sentences: tuple[str, ...]) -> None:
        """Warnings about this text, beside it."""
        self._notices.show(sentences)

    def around(self, width: int) -> int:
        """The rows around the text: head, warnings, foot and the gap to what follows."""
        inner = max(1, width)
        return self._head.height_at(inner) + self._notices.height_at(inner) + 1 + self.styles.margin.height

    @property
    def read(self) -> bool:
        """Whether its last row is within the quote's own window."""
        return not self._pending and self.body.at_end

    def _take(self, *, diff: bool = False, listed: bool = False) -> None:
        text = self._text
        self._pending = outlines.AT_ONCE < len(text) <= outlines.LONGEST and outlines.looks_like(text)
        outline = None if self._pending else outlines.outline(text)
        self.body.show(text, outline, diff=diff, listed=listed)
        if self._pending and self.is_mounted:
            self._lay_out(text)
        if self._fixed is not None:
            self.body.styles.height = self._fixed
        self._describe()

    # Without a description Textual writes out the arguments as one, and the text is long.
    @work(thread=True, group="outline", description="outline", exit_on_error=False)
    def _lay_out(self, text: str) -> None:
        self.post_message(self.Outlined(text, outlines.outline(text)))

    @on(Outlined)
    def _outlined(self, event: Outlined) -> None:
        event.stop()
        if event.text == self._text and self._pending:
            self._pending = False
            if event.outline is not None and self.body.scroll_y == 0:
                self.body.show(self._text, event.outline)
            self._describe()
            self.post_message(self.Seen())

    @on(QuoteText.Moved)
    def _moved(self, event: QuoteText.Moved) -> None:
        event.stop()
        self._describe()
        self.post_message(self.Seen())

    def _describe(self) -> None:
        """Say what it is and how much of it is not on screen."""
        body = self.body
        lines = len(body.outline.lines) if body.outline else body.passage.lines
        nature = "JSON" if body.outline else "diff" if body.is_diff else ""
        facts = [self._note, nature, f"{lines:,} line{'' if lines == 1 else 's'}"]
        self._head.show(foreign_line(self._label, MUTED), own(" · ".join(filter(None, facts)), MUTED))
        self._foot.display = bool(body.above or body.below or not body.passage.counted)
        self._foot.show(Content(""), self._left())

    def _left(self) -> Content:
        body = self.body
        if body.passage.counted and not body.below:
            return own("end ", MUTED)
        more = "" if body.passage.counted else "at least "
        return own(f"{more}{body.below:,} more line{'' if body.below == 1 else 's'} ↓ ", STRONG)
