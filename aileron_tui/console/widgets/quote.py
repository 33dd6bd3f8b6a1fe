"""A quote: a block of foreign text. Its head says what the text is and how long, its foot how much is below."""

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message

from aileron_tui.console.render import MUTED, STRONG, foreign_line, trusted
from aileron_tui.console.widgets import json_outline
from aileron_tui.console.widgets.json_outline import JsonOutline
from aileron_tui.console.widgets.quote_text import QuoteText
from aileron_tui.console.widgets.two_sided_line import TwoSidedLine
from aileron_tui.console.widgets.warning_lines import WarningLines


class Quote(Vertical):
    """A labelled block of foreign text with its own scrollbar and line count."""

    DEFAULT_CSS = "Quote { height: auto; width: 1fr; }"

    class RowsChanged(Message):
        """Other rows of this quote are on screen."""

    class Outlined(Message):
        """The outline of a long JSON text is ready."""

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
        self._warnings = WarningLines()
        self.body = QuoteText()
        self._fixed_height = height
        self._outline_pending = False
        self._load_text()

    def compose(self) -> ComposeResult:
        """Head, warnings, text, foot."""
        yield self._head
        yield self._warnings
        yield self.body
        yield self._foot

    def on_mount(self) -> None:
        """Starts to outline a text that was set before the quote was mounted."""
        if self._outline_pending:
            self._make_outline(self._text)

    def show(self, label: str, text: str, *, note: str = "", is_diff: bool = False, is_list: bool = False) -> None:
        """Shows another text; showing the same one again changes nothing."""
        same = (label, text, note) == (self._label, self._text, self._note)
        self._label, self._text, self._note = label, text, note
        if not same:
            self._warnings.show(())
            self._load_text(is_diff=is_diff, is_list=is_list)

    def warn(self, warnings: tuple[str, ...], notes: tuple[str, ...] = ()) -> None:
        """Shows warnings and notes about this text."""
        self._warnings.show(warnings, notes)

    def rows_around_text(self, width: int) -> int:
        """The number of rows around the text: head, warnings, foot and margin."""
        inner = max(1, width)
        return self._head.height_at(inner) + self._warnings.height_at(inner) + 1 + self.styles.margin.height

    @property
    def at_end(self) -> bool:
        """Whether the quote is scrolled to the last row of its text."""
        return not self._outline_pending and self.body.at_end

    def _load_text(self, *, is_diff: bool = False, is_list: bool = False) -> None:
        text = self._text
        self._outline_pending = json_outline.MAX_IMMEDIATE_LENGTH < len(
            text
        ) <= json_outline.MAX_LENGTH and json_outline.looks_like_json(text)
        outline = None if self._outline_pending else json_outline.outline(text)
        self.body.show(text, outline, is_diff=is_diff, is_list=is_list)
        if self._outline_pending and self.is_mounted:
            self._make_outline(text)
        if self._fixed_height is not None:
            self.body.styles.height = self._fixed_height
        self._update_head_and_foot()

    # Without a description Textual would format the arguments as one, and the text is long.
    @work(thread=True, group="outline", description="outline", exit_on_error=False)
    def _make_outline(self, text: str) -> None:
        self.post_message(self.Outlined(text, json_outline.outline(text)))

    @on(Outlined)
    def _outlined(self, event: Outlined) -> None:
        event.stop()
        if event.text == self._text and self._outline_pending:
            self._outline_pending = False
            if event.outline is not None and self.body.scroll_y == 0:
                self.body.show(self._text, event.outline)
            self._update_head_and_foot()
            self.post_message(self.RowsChanged())

    @on(QuoteText.RowsChanged)
    def _rows_changed(self, event: QuoteText.RowsChanged) -> None:
        event.stop()
        self._update_head_and_foot()
        self.post_message(self.RowsChanged())

    def _update_head_and_foot(self) -> None:
        """Shows what the text is and how much of it is not on screen."""
        body = self.body
        lines = len(body.outline.lines) if body.outline else body.long_text.lines
        kind = "JSON" if body.outline else "diff" if body.is_diff else ""
        facts = [self._note, kind, f"{lines:,} line{'' if lines == 1 else 's'}"]
        self._head.show(foreign_line(self._label, MUTED), trusted(" · ".join(filter(None, facts)), MUTED))
        self._foot.display = bool(body.above or body.below or not body.long_text.counted)
        self._foot.show(Content(""), self._lines_below())

    def _lines_below(self) -> Content:
        body = self.body
        if body.long_text.counted and not body.below:
            return trusted("end ", MUTED)
        prefix = "" if body.long_text.counted else "at least "
        return trusted(f"{prefix}{body.below:,} more line{'' if body.below == 1 else 's'} ↓ ", STRONG)
