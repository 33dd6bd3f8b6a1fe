"""Everything about one request of the past: how it ended, and what was shown before."""

from collections.abc import Iterator, Sequence
from typing import Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from aileron_tui.console.past import Past, Shown, local, span
from aileron_tui.console.render import GUTTER, MUTED, STRONG, WARNING, foreign_line, foreign_lines, own
from aileron_tui.console.widgets.history_table import outcome
from aileron_tui.core.prompt import NOT_AVAILABLE
from aileron_tui.core.rows import Row
from aileron_tui.core.text import cells, inline

MOST_LINES: Final = 200
MOST_IN_A_ROW: Final = 2_000
MOST_IN_A_BLOCK: Final = 20_000
BY_KEY: Final = "v shows all"
BY_COMMAND: Final = "aileron-tui history show shows all"
HASTY: Final = 1.0

_LABEL: Final = 10
_LABEL_WIDEST: Final = 20


class Detail(VerticalScroll, can_focus=True):
    """A pane that scrolls. What came from outside stands on its own ground."""

    DEFAULT_CSS = """
    Detail { height: 1fr; }
    Detail > Static { height: auto; }
    """

    def compose(self) -> ComposeResult:
        yield Static(id="detail-about")
        yield Static(id="detail-shown", classes="foreign")
        yield Static(id="detail-note")

    def show(
        self, request: Past | None, shown: Shown | None, *, note: Content | None = None, raw: bool = False
    ) -> None:
        """One request. `shown` is None while it is being looked up; `note` stands below; `raw` if `v` shows all."""
        lines = list(what_was_shown(shown, BY_KEY if raw else BY_COMMAND)) if shown else []
        content = self.query_one("#detail-shown", Static)
        content.update(own("\n").join(lines))
        content.display = bool(lines)
        self.query_one("#detail-about", Static).update(own("\n").join(list(about(request)) if request else []))
        below = [own(shown.note, MUTED)] if shown and shown.note else []
        self.query_one("#detail-note", Static).update(own("\n").join([*below, *([note] if note else [])]))


def about(request: Past) -> Iterator[Content]:
    """How it went, line by line."""
    yield outcome(request) + own("  ") + _value(request.action, BY_COMMAND, STRONG)
    yield own("")
    yield from _field("asked", _time(request.asked))
    if request.decided:
        yield from _field("decided", _time(request.decided))
    if request.took is not None:
        # A very quick answer is worth a look: nobody reads a prompt in a moment.
        hasty = request.took < HASTY
        words = own(f"decided in {span(request.took)}", WARNING if hasty else "")
        yield from _field("", words + own("  ⚠ quick", WARNING) if hasty else words)
    if request.ended and request.ended != request.decided:
        yield from _field("ended", _time(request.ended))
    for label, text in (
        ("answered", request.surface),
        ("reason", request.reason),
        ("error", request.error),
        ("source", request.source),
        ("agent", request.agent),
        ("connector", request.connector),
        ("risk", request.risk),
        ("id", request.id),
    ):
        if text:
            yield from _field(label, _value(text, BY_COMMAND))
    if request.signature:
        words = own(request.signature, "" if request.signer else WARNING)
        yield from _field("signature", words)
        if request.signer:
            yield from _field("key", _value(request.signer, BY_COMMAND))


def _field(label: str, value: Content) -> Iterator[Content]:
    yield own(f"{label:<{_LABEL}} ", MUTED) + value


def _time(time: str) -> Content:
    at = local(time)
    return _value(time, BY_COMMAND) if at is None else own(f"{at:%Y-%m-%d %H:%M:%S}")


def what_was_shown(shown: Shown, all_of_it: str = BY_COMMAND) -> Iterator[Content]:
    """What the operator saw, line by line; `all_of_it` says where the rest is of what is too long for here."""
    yield own("agent sent", STRONG)
    yield from _rows(shown.inputs, all_of_it) if shown.inputs else (own("  no inputs", MUTED),)
    if shown.unavailable:
        yield own("")
        yield own("⚠ Preview unavailable: ", WARNING) + _value(shown.unavailable, all_of_it)
    elif shown.fetched:
        yield own("")
        yield own("fetched by connector", STRONG)
        yield from _rows(shown.fetched, all_of_it)


def _rows(rows: Sequence[Row], all_of_it: str) -> Iterator[Content]:
    widest = max((cells(inline(row.label[:_LABEL_WIDEST])) for row in rows if not row.multiline), default=0)
    width = min(widest, _LABEL_WIDEST)
    for row in rows:
        label = _value(row.label, all_of_it, MUTED)
        padded = own("  ") + label.pad_right(max(0, width - label.cell_length)) + own("  ")
        if row.missing:
            yield padded + own(NOT_AVAILABLE, MUTED)
        elif row.multiline:
            yield own("  ") + label
            yield from (own("  ▎ ", GUTTER) + line for line in _block(row.value, all_of_it))
        else:
            yield padded + _value(row.value, all_of_it)


def _value(text: str, all_of_it: str, style: str = "") -> Content:
    more = len(text) - MOST_IN_A_ROW
    line = foreign_line(text[:MOST_IN_A_ROW], style)
    return line + own(f" ⟨{more:,} more characters: {all_of_it}⟩", WARNING) if more > 0 else line


def _block(text: str, all_of_it: str) -> Iterator[Content]:
    kept = "\n".join(text[:MOST_IN_A_BLOCK].split("\n")[:MOST_LINES])
    yield from foreign_lines(kept)
    more = len(text) - len(kept)
    if more > 0:
        yield own(f"⟨{more:,} more characters, {text.count(chr(10), len(kept)):,} lines: {all_of_it}⟩", WARNING)
