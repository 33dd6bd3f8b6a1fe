"""Records of the history as text and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.key_change import is_security_key
from aileron_tui.core.outcomes import ELSEWHERE, ending
from aileron_tui.core.summary import summary_line
from aileron_tui.core.time_words import span
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import Visible, cells, clip, inline
from aileron_tui.surface.history_records import parse_local_time

_WIDE: Final = 100


def fields(record: HistoryRecord) -> JsonObject:
    """A record as JSON."""
    return asdict(record) | {"signed": bool(record.signer)}


def rows(record: HistoryRecord, width: int, summary: Sequence[str] = ()) -> list[str]:
    """One line if it fits, else two: the outcome, the action and its summary, then the details."""
    glyph, word = outcome(record)
    took = "" if record.took is None else f"decided in {span(record.took)}"
    signed = "not signed" if record.surface == ELSEWHERE else ""
    if record.signer:
        signed = "signed by a security key" if is_security_key(record.signer) else "signed"
    removed = record.removed.partition(" by ")[0]
    parts = (record.id, removed, record.asked_by, record.answered, took, signed, record.reason or record.error)
    details = " · ".join(inline(part) for part in parts if part)
    about = "".join(f"{part}  " for part in (inline(record.action), summary_line(summary, _WIDE)) if part)
    line = Visible(f"{_asked_at(record.asked)}  {glyph} {word:<15}  {about}{details}")
    if width >= _WIDE and cells(line) <= width:
        return [line]
    first = clip(Visible(f"{glyph} {word}  {inline(record.action)}"), width)
    if beside := summary_line(summary, width - cells(first) - 2):
        first = Visible(f"{first}  {beside}")
    return [first, f"  {clip(Visible(f'{_asked_at(record.asked)} · {details}'), max(width - 2, 10))}"]


def outcome(record: HistoryRecord) -> tuple[str, str]:
    """The glyph and the word for the outcome."""
    glyph, word = ending(record, utc_now())
    return glyph, inline(word)


def _asked_at(asked: str) -> str:
    at = parse_local_time(asked)
    return f"{at:%Y-%m-%d %H:%M}" if at else inline(asked)
