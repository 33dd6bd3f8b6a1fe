"""The details of a past request: how it ended, and the prompt that was shown."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from aileron_tui.console.render import GUTTER_STYLE, MUTED, STRONG, WARNING, foreign_line, foreign_lines, trusted
from aileron_tui.console.widgets.history_table import outcome
from aileron_tui.console.widgets.line_widget import LineWidget
from aileron_tui.core.daemon_kinds import FILLED_IN
from aileron_tui.core.edits import Pair, difference, paired, signed_rows
from aileron_tui.core.outcomes import EDITED_ELSEWHERE, ELSEWHERE, unknown_outcome
from aileron_tui.core.prompt import NOT_AVAILABLE
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.time_words import span
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import cells, inline
from aileron_tui.surface.history_records import ShownPrompt, SourcedRecord, parse_local_time

MAX_LINES: Final = 200
MAX_ROW_LENGTH: Final = 2_000
MAX_BLOCK_LENGTH: Final = 20_000
BY_KEY: Final = "press v to see all"
BY_COMMAND: Final = "to see all, run aileron-tui history show"
QUICK_SECONDS: Final = 1.0

_LABEL_WIDTH: Final = 10
_MAX_LABEL_WIDTH: Final = 20
_OUTCOME_WIDTH: Final = 40
_MIN_WIDTH: Final = 8
_EMPTY: Final = Content("")


class DetailLines(LineWidget):
    """Lines made for a width. Every row has a trusted margin, so that foreign text cannot look like another row."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._make_lines: Callable[[int], Iterable[Content]] | None = None
        self._cached: tuple[int, list[Content]] = (0, [])

    def show(self, make_lines: Callable[[int], Iterable[Content]] | None) -> None:
        """Shows the lines that `make_lines` returns for the width, or nothing."""
        self._make_lines, self._cached = make_lines, (0, [])
        self.display = make_lines is not None
        self.refresh(layout=True)

    def lines_at(self, width: int) -> list[Content]:
        """All lines, made once for each width."""
        if width != self._cached[0]:
            self._cached = (width, list(self._make_lines(width)) if self._make_lines else [])
        return self._cached[1]


class RequestDetail(VerticalScroll, can_focus=True):
    """A scrollable pane. Foreign text has its own background."""

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
        record: SourcedRecord | None,
        shown: ShownPrompt | None,
        *,
        note: Content | None = None,
        raw: bool = False,
    ) -> None:
        """Shows a request. `shown` is None while it loads; `note` goes below; `raw` says whether `v` shows all."""
        make_about = partial(record_lines, record, shown=shown) if record else None
        self.query_one("#detail-about", DetailLines).show(make_about)
        make_shown = partial(shown_prompt_lines, shown, BY_KEY if raw else BY_COMMAND) if shown else None
        self.query_one("#detail-shown", DetailLines).show(make_shown)
        below = [trusted(shown.note, MUTED)] if shown and shown.note else []
        self.query_one("#detail-note", Static).update(trusted("\n").join([*below, *([note] if note else [])]))


def record_lines(record: SourcedRecord, width: int = 0, *, shown: ShownPrompt | None = None) -> Iterator[Content]:
    """The outcome and the facts of a request, line by line, with those that `shown` has from its entries."""
    title = outcome(record, _OUTCOME_WIDTH) + trusted("  ") + _value(record.action, BY_COMMAND, STRONG)
    yield from _wrapped(trusted("  "), title, width, first=_EMPTY)
    yield trusted("")
    margin = trusted(" " * (_LABEL_WIDTH + 1))
    for label, value in _facts(record, shown or ShownPrompt()):
        yield from _wrapped(margin, value, width, first=trusted(f"{label:<{_LABEL_WIDTH}} ", MUTED))


def _facts(record: SourcedRecord, shown: ShownPrompt) -> Iterator[tuple[str, Content]]:
    yield "asked", _time(record.asked)
    for label, text in (("alerted", shown.alerted), ("extended", shown.extended), ("retried", shown.retried)):
        if text:
            yield label, _value(text, BY_COMMAND)
    if record.decided:
        yield "decided", _time(record.decided)
    if record.took is not None:
        # Nobody reads a prompt that fast, so a very quick answer gets a warning.
        quick = record.took < QUICK_SECONDS
        words = trusted(f"decided in {span(record.took)}", WARNING if quick else "")
        yield "", words + trusted("  ⚠ quick", WARNING) if quick else words
    if record.ended and record.ended != record.decided:
        yield "ended", _time(record.ended)
    if record.edited:
        how = EDITED_ELSEWHERE if record.surface == ELSEWHERE else "the approved call differs from what the agent sent"
        yield "edited", trusted(how, WARNING)
    if silent := unknown_outcome(record, utc_now()):
        yield "status", trusted(silent, WARNING)
    for label, text in (
        ("answered", record.answered),
        ("reason", record.reason),
        ("error", record.error),
        ("reduced", record.removed),
        ("source", record.source),
        ("agent", record.agent),
        ("says it is", record.says),
        ("connector", record.connector),
        ("risk", record.risk),
        ("id", record.id),
    ):
        if text:
            yield label, _value(text, BY_COMMAND)
    if record.signature:
        words = trusted(record.signature, "" if record.signer else WARNING)
        yield "signature", words
        if record.signer:
            name = f"{record.signed_by} ({record.signer})" if record.signed_by else record.signer
            yield "key", _value(name, BY_COMMAND)


def _time(time: str) -> Content:
    at = parse_local_time(time)
    return _value(time, BY_COMMAND) if at is None else trusted(f"{at:%Y-%m-%d %H:%M:%S}")


def shown_prompt_lines(shown: ShownPrompt, full_text_hint: str = BY_COMMAND, width: int = 0) -> Iterator[Content]:
    """What the operator saw, line by line; `full_text_hint` says where to see texts that are cut off here."""
    edited = trusted("  edited: − as asked, + as approved" if shown.asked is not None else "", WARNING)
    yield from _wrapped(_EMPTY, trusted("agent sent", STRONG) + edited, width)
    inputs = paired(shown.inputs, shown.asked)
    yield from _rows(inputs, full_text_hint, width) if inputs else (trusted(f"  {shown.no_inputs}", MUTED),)
    if shown.filled:
        yield trusted("")
        yield trusted(FILLED_IN, STRONG)
        yield from _rows(paired(shown.filled, None), full_text_hint, width)
    if shown.unavailable:
        yield trusted("")
        line = trusted("⚠ Preview unavailable: ", WARNING) + _value(shown.unavailable, full_text_hint)
        yield from _wrapped(trusted("  "), line, width, first=_EMPTY)
    elif shown.fetched:
        yield trusted("")
        yield trusted("fetched by connector", STRONG)
        yield from _rows(paired(shown.fetched, shown.asked_fetched), full_text_hint, width)


def _rows(pairs: Sequence[Pair], full_text_hint: str, width: int) -> Iterator[Content]:
    """Rows and edits. The sign of an edit is in the first column, which no content reaches."""
    short = (row.label for row, old in pairs if not row.multiline and not (old and old.multiline))
    label_width = min(max((cells(inline(label[:_MAX_LABEL_WIDTH])) for label in short), default=0), _MAX_LABEL_WIDTH)
    for row, old in pairs:
        both = old is not None and not old.missing and not row.missing
        runs = difference(old.value, row.value) if old and both and (row.multiline or old.multiline) else None
        if runs is not None:
            head = _value(row.label, full_text_hint, MUTED) + trusted("  edited", WARNING)
            yield from _wrapped(trusted("  "), head, width)
            for sign, run in runs:
                yield from _quoted(run, full_text_hint, _sign(sign), width)
            continue
        for sign, shown_row in signed_rows(row, old):
            yield from _row(shown_row, label_width, full_text_hint, _sign(sign), width)


def _row(row: Row, label_width: int, full_text_hint: str, sign: Content, width: int) -> Iterator[Content]:
    label, margin = _value(row.label, full_text_hint, MUTED), sign + trusted(" ")
    value = trusted(NOT_AVAILABLE, MUTED) if row.missing else _value(row.value, full_text_hint)
    if row.multiline and not row.missing:
        yield from _wrapped(margin, label, width)
        yield from _quoted(row.value, full_text_hint, sign, width)
    elif label.cell_length > label_width:
        yield from _wrapped(margin, label, width)
        yield from _wrapped(margin + trusted("  "), value, width)
    else:
        first = margin + label.pad_right(label_width - label.cell_length) + trusted("  ")
        yield from _wrapped(margin + trusted(" " * (label_width + 2)), value, width, first=first)


def _quoted(text: str, full_text_hint: str, sign: Content, width: int) -> Iterator[Content]:
    for line in _block(text, full_text_hint):
        yield from _wrapped(sign + trusted(" ▎ ", GUTTER_STYLE), line, width)


def _sign(sign: str) -> Content:
    return trusted("−" if sign == "-" else sign, STRONG)


def _wrapped(margin: Content, content: Content, width: int, first: Content | None = None) -> Iterator[Content]:
    """A line of foreign content, wrapped behind a margin on every row; not wrapped if `width` is 0."""
    room = max(_MIN_WIDTH, width - margin.cell_length)
    rows = [content] if not width or content.cell_length <= room else content.wrap(room)
    for number, row in enumerate(rows):
        yield (margin if number or first is None else first) + row


def _value(text: str, full_text_hint: str, style: str = "") -> Content:
    more = len(text) - MAX_ROW_LENGTH
    line = foreign_line(text[:MAX_ROW_LENGTH], style)
    return line + trusted(f" ⟨{more:,} more characters: {full_text_hint}⟩", WARNING) if more > 0 else line


def _block(text: str, full_text_hint: str) -> Iterator[Content]:
    kept = "\n".join(text[:MAX_BLOCK_LENGTH].split("\n")[:MAX_LINES])
    yield from foreign_lines(kept)
    more = len(text) - len(kept)
    if more > 0:
        lines = text.count("\n", len(kept))
        yield trusted(f"⟨{more:,} more characters, {lines:,} lines: {full_text_hint}⟩", WARNING)
