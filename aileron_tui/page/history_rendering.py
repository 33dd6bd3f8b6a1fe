"""The history as the page shows it: a list with a chart, and one request with what was shown."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from aileron_tui.core.daemon_kinds import FILLED_IN
from aileron_tui.core.lookalikes import known_names
from aileron_tui.core.outcomes import ending, unknown_outcome
from aileron_tui.core.summary import summary_line
from aileron_tui.core.time_words import span
from aileron_tui.core.visible_text import inline
from aileron_tui.page.sections import Rows
from aileron_tui.page.shown_text import own, short_line
from aileron_tui.page.views import Bar, ChartView, Fact, HistoryRow, RecordView, Remark, Section
from aileron_tui.surface.history_records import DayTally, ShownPrompt, SourcedRecord, parse_local_time, typical

DAYS: Final = 28
QUICK_SECONDS: Final = 1.0

_MAX_NAME: Final = 80
_SUMMARY_WIDTH: Final = 160
_QUICK: Final = "quick"
_CUT: Final = "Some of it is too long to be shown here. `aileron-tui history show` shows all of it."


def history_row(record: SourcedRecord, now: datetime) -> HistoryRow:
    """One request in the list."""
    glyph, outcome = ending(record, now)
    return HistoryRow(
        id=record.id,
        time=record.asked if parse_local_time(record.asked) else "",
        asked=_time(record.asked),
        glyph=glyph,
        outcome=short_line(outcome, _MAX_NAME),
        action=short_line(record.action, _MAX_NAME),
        summary=summary_line(record.summary, _SUMMARY_WIDTH),
        agent=short_line(record.asked_by, _MAX_NAME),
        answered=short_line(record.answered, _MAX_NAME),
        took="" if record.took is None else f"decided in {span(record.took)}",
        risk=record.risk if record.risk in ("low", "normal", "high") else "",
        quick=_is_quick(record),
    )


def chart_view(days: Sequence[DayTally], decisions: Sequence[SourcedRecord]) -> ChartView:
    """The chart of these days, oldest first."""
    most = max((day.decisions for day in days), default=0)
    longest = max((day.typical or 0.0 for day in days), default=0.0)
    median = typical(decisions)
    total = sum(day.decisions for day in days)
    words = "unknown" if median is None else span(median)
    return ChartView(
        bars=tuple(
            Bar(
                f"{day.day:%Y-%m-%d}",
                day.decisions,
                _height(day.decisions, most),
                "" if day.typical is None else span(day.typical),
                _height(day.typical or 0.0, longest),
            )
            for day in days
        ),
        decisions=f"{total:,} · today {days[-1].decisions if days else 0:,}",
        median=words,
        sentence=f"{total:,} decisions in the last {len(days)} days; median time to decide: {words}"
        if total
        else "no decisions in the last four weeks",
    )


def record_view(record: SourcedRecord, shown: ShownPrompt, now: datetime) -> RecordView:
    """One request."""
    glyph, outcome = ending(record, now)
    rows = Rows(known_names(row.value for part in (shown.fetched, shown.inputs, shown.filled) for row in part))
    action, words = rows.line(record.action), rows.line(outcome)
    facts = tuple(_facts(record, shown, now, rows))
    sections = tuple(_sections(shown, rows))
    note = " ".join(filter(None, (shown.note, _CUT if rows.left_out else "")))
    return RecordView(record.id, glyph, words, action, facts, sections, note)


def _facts(record: SourcedRecord, shown: ShownPrompt, now: datetime, rows: Rows) -> Iterator[Fact]:
    yield Fact("asked", own(_time(record.asked)))
    for label, words in (("alerted", shown.alerted), ("extended", shown.extended), ("retried", shown.retried)):
        if words:
            yield Fact(label, rows.line(words))
    if record.decided:
        yield Fact("decided", own(_time(record.decided)))
    if record.took is not None:
        yield Fact("took", own(f"decided in {span(record.took)}"), _QUICK if _is_quick(record) else "")
    if record.ended and record.ended != record.decided:
        yield Fact("ended", own(_time(record.ended)))
    if record.edited:
        yield Fact("edited", own("the approved call differs from what the agent sent"))
    if silent := unknown_outcome(record, now):
        yield Fact("status", own(silent))
    for label, text in (
        ("answered", record.answered),
        ("reason", record.reason),
        ("error", record.error),
        ("reduced", record.removed),
        ("agent", record.agent),
        ("says it is", record.says),
        ("connector", record.connector),
        ("risk", record.risk),
        ("id", record.id),
    ):
        if text:
            yield Fact(label, rows.line(text))
    if record.signature:
        yield Fact("signature", own(record.signature))
    if record.signer:
        yield Fact("key", rows.line(record.signer))


def _sections(shown: ShownPrompt, rows: Rows) -> Iterator[Section]:
    edited = "edited: − as asked, + as approved" if shown.asked is not None else ""
    sent, fetched = own("agent sent"), own("fetched by connector")
    note = edited or ("" if shown.inputs else shown.no_inputs)
    yield Section("sent", sent, note, *rows.shown(shown.inputs, shown.asked, sent))
    if shown.filled:
        yield Section("filled", own(FILLED_IN), "", *rows.shown(shown.filled, None, own(FILLED_IN)))
    if shown.unavailable:
        why = Remark((*own("Preview unavailable: "), *rows.line(shown.unavailable)))
        yield Section("fetched", fetched, remarks=(why,))
    elif shown.fetched:
        yield Section("fetched", fetched, "", *rows.shown(shown.fetched, shown.asked_fetched, fetched))


def _is_quick(record: SourcedRecord) -> bool:
    """Whether nobody can have read the prompt that fast."""
    return record.took is not None and record.took < QUICK_SECONDS


def _height(value: float, most: float) -> int:
    """The height of a bar; every value above zero is visible."""
    return max(1, round(value / most * 100)) if value and most else 0


def _time(time: str) -> str:
    at = parse_local_time(time)
    return inline(time) if at is None else f"{at:%Y-%m-%d %H:%M:%S}"
