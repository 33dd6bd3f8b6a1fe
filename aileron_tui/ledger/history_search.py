"""The history as people look at it: one row per request, newest first, filtered, searched, a page at a time."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.reader import LedgerView, translating

PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """What to look for; empty fields do not restrict. Times are as in entries, `since` included, `until` not."""

    text: str = ""
    since: str = ""
    until: str = ""
    outcomes: tuple[str, ...] = ()
    surfaces: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


ALL: Final = HistoryFilter()

# Only names written in this module are joined into queries; every value is bound.
_SELECT: Final = " ".join(("SELECT", ", ".join(f"r.{column.name}" for column in fields(HistoryRecord)), "FROM"))
_FIND: Final = " ".join((_SELECT, "requests r WHERE r.id = ?"))
_NOTHING: Final = " ".join((_SELECT, "requests r WHERE 0"))


def page(
    reader: LedgerView, wanted: HistoryFilter = ALL, *, before: int | None = None, limit: int = PAGE
) -> tuple[HistoryRecord, ...]:
    """The newest requests that match, or those older than the one with number `before`."""
    query, values = _query(reader, wanted, before)
    with translating(reader.path):
        return tuple(_record(row) for row in reader.db.execute(f"{query} LIMIT ?", (*values, limit)))


def every(reader: LedgerView, wanted: HistoryFilter = ALL) -> Iterator[HistoryRecord]:
    """All requests that match, newest first."""
    query, values = _query(reader, wanted, None)
    with translating(reader.path):
        for row in reader.db.execute(query, values):
            yield _record(row)


def find(reader: LedgerView, request: str) -> HistoryRecord | None:
    """The request with this id."""
    with translating(reader.path):
        row = reader.db.execute(_FIND, (request,)).fetchone()
    return _record(row) if row else None


def _record(row: tuple[Any, ...]) -> HistoryRecord:
    values = [*row[:-1], bool(row[-1])]
    return HistoryRecord(*values)


def shown(reader: LedgerView, request: str) -> tuple[int, str] | None:
    """Only what verification compares: the entry that made the request, and its outcome."""
    with translating(reader.path):
        row: tuple[int, str] | None = reader.db.execute(
            "SELECT seq, outcome FROM requests WHERE id = ?", (request,)
        ).fetchone()
    return row


def match_expression(text: str) -> str:
    """A person's words as an FTS5 expression: every word must occur; a word ending in `*` stands for its beginning.

    Each word becomes a quoted string, so nothing in it is an operator; `team@example.com` matches as a phrase.
    """
    terms = []
    for word in text.replace("\0", " ").split():
        stem = word.rstrip("*")
        if any(character.isalnum() for character in stem):
            quoted = stem.replace('"', '""')
            terms.append(f'"{quoted}"*' if word.endswith("*") else f'"{quoted}"')
    return " ".join(terms)


def _query(reader: LedgerView, wanted: HistoryFilter, before: int | None) -> tuple[str, list[object]]:
    clauses: list[str] = []
    values: list[object] = []
    source, key = "requests r", "r.seq"
    if wanted.text.strip():
        expression = match_expression(wanted.text)
        if not expression:
            return _NOTHING, []
        source, key = "search JOIN requests r ON r.seq = search.rowid", "search.rowid"
        clauses.append("search MATCH ?")
        values.append(expression)
    if before is not None:
        clauses.append(f"{key} < ?")
        values.append(before)
    for column, choices in (("outcome", wanted.outcomes), ("surface", wanted.surfaces), ("action", wanted.actions)):
        if choices:
            clauses.append(f"r.{column} IN ({', '.join('?' * len(choices))})")
            values.extend(choices)
    _time(reader, wanted, key, clauses, values)
    where = ("WHERE", " AND ".join(clauses)) if clauses else ()
    return " ".join((_SELECT, source, *where, "ORDER BY", key, "DESC")), values


def _time(reader: LedgerView, wanted: HistoryFilter, key: str, clauses: list[str], values: list[object]) -> None:
    """Numbers grow with time except where a clock was set back, so a range of time is also a range of numbers.

    Giving SQLite both lets it stop at the edge of the range instead of looking through everything older.
    """
    for edge, compare, bound, find_bound in (
        (wanted.since, ">=", ">=", "SELECT min(seq) FROM requests WHERE asked >= ?"),
        (wanted.until, "<", "<=", "SELECT max(seq) FROM requests WHERE asked < ?"),
    ):
        if edge:
            with translating(reader.path):
                number = reader.db.execute(find_bound, (edge,)).fetchone()[0]
            clauses.append(f"r.asked {compare} ? AND {key} {bound} ?")
            values.extend((edge, -1 if number is None else number))
