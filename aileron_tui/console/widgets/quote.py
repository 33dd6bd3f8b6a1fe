"""A quote: a block of foreign text. Its head says where the text comes from, what it is, and how long."""

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message

from aileron_tui.console.render import MUTED, STRONG, foreign_line, trusted
from aileron_tui.console.textual_internals import TallContainer
from aileron_tui.console.widgets import json_outline
from aileron_tui.console.widgets.json_outline import JsonOutline
from aileron_tui.console.widgets.line_widget import LineWidget
from aileron_tui.console.widgets.prompt_sections import Block
from aileron_tui.console.widgets.quote_text import QuoteText
from aileron_tui.console.widgets.two_sided_line import TwoSidedLine
from aileron_tui.console.widgets.warning_lines import WarningLines

_NOTHING = Block("", "")


class Quote(Vertical, TallContainer):
    """A labelled block of foreign text with its line count. `origin` says who wrote it."""

    DEFAULT_CSS = "Quote { height: auto; width: 1fr; }"

    class RowsChanged(Message):
        """The text has other rows, or more of them were counted."""

    class Outlined(Message):
        """The outline of a long JSON text is ready."""

        def __init__(self, text: str, outline: JsonOutline | None) -> None:
            super().__init__()
            self.text = text
            self.outline = outline

    def __init__(
        self,
        block: Block = _NOTHING,
        origin: str = "",
        *,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self._block = block
        self._origin = origin
        self._head = TwoSidedLine(classes="quote-head")
        self._warnings = WarningLines()
        self.body = QuoteText()
        self._outline_pending = False
        self._load_text()

    def compose(self) -> ComposeResult:
        """Head, warnings, text."""
        yield self._head
        yield self._warnings
        yield self.body

    def on_mount(self) -> None:
        """Starts to outline a text that was set before the quote was mounted."""
        if self._outline_pending:
            self._make_outline(self._block.text)

    @property
    def block(self) -> Block:
        """What is shown."""
        return self._block

    @property
    def origin(self) -> str:
        """Who wrote the text."""
        return self._origin

    @origin.setter
    def origin(self, origin: str) -> None:
        if origin != self._origin:
            self._origin = origin
            self._load_text()

    def show(self, block: Block) -> None:
        """Shows another text; showing the same one again changes nothing."""
        if block != self._block:
            self._block = block
            self._warnings.show(())
            self._load_text()

    def warn(self, warnings: tuple[str, ...], notes: tuple[str, ...] = ()) -> None:
        """Shows warnings and notes about this text."""
        self._warnings.show(warnings, notes)

    @property
    def has_warning(self) -> bool:
        """Whether there is a warning about this text."""
        return bool(self._warnings.warnings)

    @property
    def parts(self) -> "dict[LineWidget | QuoteText, object]":
        """The widgets that must be read, and what each says."""
        warnings: dict[LineWidget | QuoteText, object] = {self._warnings: self._warnings.content}
        head = (self._origin, self._block.label)
        return {self._head: head, **(warnings if self._warnings.display else {}), self.body: self._block.text}

    def _load_text(self) -> None:
        block = self._block
        self._outline_pending = json_outline.MAX_IMMEDIATE_LENGTH < len(
            block.text
        ) <= json_outline.MAX_LENGTH and json_outline.looks_like_json(block.text)
        outline = None if self._outline_pending else json_outline.outline(block.text)
        self.body.is_final = not self._outline_pending
        self.body.show(block.text, outline, is_diff=block.is_diff, is_list=block.is_list)
        if self._outline_pending and self.is_mounted:
            self._make_outline(block.text)
        self._update_head()

    # Without a description Textual would format the arguments as one, and the text is long.
    @work(thread=True, group="outline", description="outline", exit_on_error=False)
    def _make_outline(self, text: str) -> None:
        self.post_message(self.Outlined(text, json_outline.outline(text)))

    @on(Outlined)
    def _outlined(self, event: Outlined) -> None:
        event.stop()
        if event.text == self._block.text and self._outline_pending:
            self._outline_pending = False
            self.body.is_final = True
            if event.outline is not None:
                self.body.show(self._block.text, event.outline)
            self._update_head()
            self.post_message(self.RowsChanged())

    @on(QuoteText.RowsChanged)
    def _rows_changed(self, event: QuoteText.RowsChanged) -> None:
        event.stop()
        self.post_message(self.RowsChanged())

    def _update_head(self) -> None:
        """Shows where the text comes from, what it is, and how long."""
        body = self.body
        lines = len(body.outline.lines) if body.outline else body.long_text.lines
        kind = "JSON" if body.outline else "diff" if body.is_diff else ""
        facts = [self._block.note, kind, f"{lines:,} line{'' if lines == 1 else 's'}"]
        origin = trusted(f"{self._origin} " if self._origin else "", STRONG)
        self._head.show(
            Content.assemble(origin, foreign_line(self._block.label, MUTED)),
            trusted(" · ".join(filter(None, facts)), MUTED),
        )
