"""Everything about one request of the past: how it ended, and what was shown before."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from aileron_tui.console.render import GUTTER, MUTED, STRONG, WARNING, foreign_line, foreign_lines, own
from aileron_tui.console.widgets.history_table import outcome
from aileron_tui.console.widgets.line_widget import LineWidget
from aileron_tui.core.edits import Pair, difference, paired, signed
from aileron_tui.core.outcomes import EDITED_ELSEWHERE, ELSEWHERE, missing_outcome
from aileron_tui.core.prompt import NOT_AVAILABLE
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.time_spans import span_text
from aileron_tui.core.visible_text import cells, inline
from aileron_tui.surface.history_records import ShownPrompt, SourcedRecord, local_time

MOST_LINES: Final = 200
MOST_IN_A_ROW: Final = 2_000
MOST_IN_A_BLOCK: Final = 20_000
BY_KEY: Final = "v shows all"
BY_COMMAND: Final = "aileron-tui history show shows all"
HASTY: Final = 1.0

_LABEL: Final = 10
_LABEL_WIDEST: Final = 20
_OUTCOME: Final = 40
_LEAST: Final = 8
_NONE: Final = Content("")


class DetailLines(LineWidget):
    """Lines that are laid out for a width. Every row stays behind our own margin, so that none can pass for another."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._lay: Callable[[int], Iterable[Content]] | None = None
        self._laid: tuple[int, list[Content]] = (0, [])

    def show(self, lay: Callable[[int], Iterable[Content]] | None) -> None:
        """What is laid out so, or nothing."""
        self._lay, self._laid = lay, (0, [])
        self.display = lay is not None
        self.refresh(layout=True)

    def lines_at(self, width: int) -> list[Content]:
        """All rows, laid out once for each width."""
        if width != self._laid[0]:
            self._laid = (width, list(self._lay(width)) if self._lay else [])
        return self._laid[1]


class RequestDetail(VerticalScroll, can_focus=True):
    """A pane that scrolls. What came from outside stands on its own ground."""

    DEFAULT_CSS = """
    RequestDetail { height: 1fr; }
    RequestDetail > Static { height: auto; }
    """

    def compose(self) -> ComposeResult:
        yield DetailLines(id="detail-about")
        yield DetailLines(id="detail-shown", classes="foreign")
        yield Static(id="detail-note")

    def show(
        self,
        request: SourcedRecord | None,
        shown: ShownPrompt | None,
        *,
        note: Content | None = None,
        raw: bool = False,
    ) -> None:
        """One request. `shown` is None while it is being looked up; `note` stands below; `raw` if `v` shows all."""
        self.query_one("#detail-about", DetailLines).show(partial(about, request) if request else None)
        told = partial(what_was_shown, shown, BY_KEY if raw else BY_COMMAND) if shown else None
        self.query_one("#detail-shown", DetailLines).show(told)
        below = [own(shown.note, MUTED)] if shown and shown.note else []
        self.query_one("#detail-note", Static).update(own("\n").join([*below, *([note] if note else [])]))


def about(request: SourcedRecord, width: int = 0) -> Iterator[Content]:
    """How it went, line by line."""
    title = outcome(request, _OUTCOME) + own("  ") + _value(request.action, BY_COMMAND, STRONG)
    yield from _hung(own("  "), title, width, first=_NONE)
    yield own("")
    for label, value in _facts(request):
        yield from _hung(own(" " * (_LABEL + 1)), value, width, first=own(f"{label:<{_LABEL}} ", MUTED))


def _facts(request: SourcedRecord) -> Iterator[tuple[str, Content]]:
    yield "asked", _time(request.asked)
    if request.decided:
        yield "decided", _time(request.decided)
    if request.took is not None:
        # A very quick answer is worth a look: nobody reads a prompt in a moment.
        hasty = request.took < HASTY
        words = own(f"decided in {span_text(request.took)}", WARNING if hasty else "")
        yield "", words + own("  ⚠ quick", WARNING) if hasty else words
    if request.ended and request.ended != request.decided:
        yield "ended", _time(request.ended)
    if request.edited:
        how = EDITED_ELSEWHERE if request.surface == ELSEWHERE else "the call that was approved is not the one asked"
        yield "edited", own(how, WARNING)
    if silent := missing_outcome(request, datetime.now(UTC)):
        yield "news", own(silent, WARNING)
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
            yield label, _value(text, BY_COMMAND)
    if request.signature:
        words = own(request.signature, "" if request.signer else WARNING)
        yield "signature", words
        if request.signer:
            yield "key", _value(request.signer, BY_COMMAND)


def _time(time: str) -> Content:
    at = local_time(time)
    return _value(time, BY_COMMAND) if at is None else own(f"{at:%Y-%m-%d %H:%M:%S}")


def what_was_shown(shown: ShownPrompt, all_of_it: str = BY_COMMAND, width: int = 0) -> Iterator[Content]:
    """What the operator saw, line by line; `all_of_it` says where the rest is of what is too long for here."""
    edited = own("  edited: − as asked, + as approved" if shown.asked is not None else "", WARNING)
    yield from _hung(_NONE, own("agent sent", STRONG) + edited, width)
    inputs = paired(shown.inputs, shown.asked)
    yield from _rows(inputs, all_of_it, width) if inputs else (own("  no inputs", MUTED),)
    if shown.unavailable:
        yield own("")
        said = own("⚠ Preview unavailable: ", WARNING) + _value(shown.unavailable, all_of_it)
        yield from _hung(own("  "), said, width, first=_NONE)
    elif shown.fetched:
        yield own("")
        yield own("fetched by connector", STRONG)
        yield from _rows(paired(shown.fetched, shown.asked_fetched), all_of_it, width)


def _rows(pairs: Sequence[Pair], all_of_it: str, width: int) -> Iterator[Content]:
    """The sign of what an edit changed stands in the first column, which no content reaches."""
    short = (row.label for row, old in pairs if not row.multiline and not (old and old.multiline))
    labels = min(max((cells(inline(label[:_LABEL_WIDEST])) for label in short), default=0), _LABEL_WIDEST)
    for row, old in pairs:
        both = old is not None and not old.missing and not row.missing
        runs = difference(old.value, row.value) if old and both and (row.multiline or old.multiline) else None
        if runs is not None:
            head = _value(row.label, all_of_it, MUTED) + own("  edited", WARNING)
            yield from _hung(own("  "), head, width)
            for sign, run in runs:
                yield from _quoted(run, all_of_it, _sign(sign), width)
            continue
        for sign, told in signed(row, old):
            yield from _row(told, labels, all_of_it, _sign(sign), width)


def _row(row: Row, labels: int, all_of_it: str, sign: Content, width: int) -> Iterator[Content]:
    label, margin = _value(row.label, all_of_it, MUTED), sign + own(" ")
    value = own(NOT_AVAILABLE, MUTED) if row.missing else _value(row.value, all_of_it)
    if row.multiline and not row.missing:
        yield from _hung(margin, label, width)
        yield from _quoted(row.value, all_of_it, sign, width)
    elif label.cell_length > labels:
        yield from _hung(margin, label, width)
        yield from _hung(margin + own("  "), value, width)
    else:
        hang = margin + own(" " * (labels + 2))
        yield from _hung(hang, value, width, first=margin + label.pad_right(labels - label.cell_length) + own("  "))


def _quoted(text: str, all_of_it: str, sign: Content, width: int) -> Iterator[Content]:
    for line in _block(text, all_of_it):
        yield from _hung(sign + own(" ▎ ", GUTTER), line, width)


def _sign(sign: str) -> Content:
    return own("−" if sign == "-" else sign, STRONG)


def _hung(hang: Content, content: Content, width: int, first: Content | None = None) -> Iterator[Content]:
    """A line of foreign content, wrapped behind what stands before it on every row; not wrapped without a width."""
    room = max(_LEAST, width - hang.cell_length)
    rows = [content] if not width or content.cell_length <= room else content.wrap(room)
    for number, row in enumerate(rows):
        yield (hang if number or first is None else first) + row


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
