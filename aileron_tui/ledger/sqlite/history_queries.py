"""The queries of the history: one row per request, newest first, filtered and searched."""

import sqlite3
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.ledger.history_filter import HistoryFilter

# Only names written in this module are joined into queries; every value is bound.
_SELECT: Final = " ".join(("SELECT", ", ".join(f"r.{column.name}" for column in fields(HistoryRecord)), "FROM"))
_EDITED: Final = [column.name for column in fields(HistoryRecord)].index("edited")
_FIND: Final = " ".join((_SELECT, "requests r WHERE r.id = ?"))
_NOTHING: Final = " ".join((_SELECT, "requests r WHERE 0"))


def page(db: sqlite3.Connection, wanted: HistoryFilter, *, before: int | None, limit: int) -> tuple[HistoryRecord, ...]:
    """The newest requests that match, or those older than the one with number `before`."""
    query, values = _query(db, wanted, before)
    return tuple(_record(row) for row in db.execute(f"{query} LIMIT ?", (*values, limit)))


def every(db: sqlite3.Connection, wanted: HistoryFilter) -> Iterator[HistoryRecord]:
    """All requests that match, newest first."""
    query, values = _query(db, wanted, None)
    for row in db.execute(query, values):
        yield _record(row)


def find(db: sqlite3.Connection, request: str) -> HistoryRecord | None:
    """The request with this id, or None."""
    row = db.execute(_FIND, (request,)).fetchone()
    return _record(row) if row else None


def _record(row: tuple[Any, ...]) -> HistoryRecord:
    values = [*row[:_EDITED], bool(row[_EDITED]), *row[_EDITED + 1 :]]
    return HistoryRecord(*values)


def match_expression(text: str) -> str:
    """Search words as an FTS5 expression. Every word must occur; `word*` matches every word that begins with `word`.

    Each word becomes a quoted string, so nothing in it is an operator; `team@example.com` matches as a phrase.
    """
    terms = []
    for word in text.replace("\0", " ").split():
        stem = word.rstrip("*")
        if any(character.isalnum() for character in stem):
            quoted = stem.replace('"', '""')
            terms.append(f'"{quoted}"*' if word.endswith("*") else f'"{quoted}"')
    return " ".join(terms)


def _query(db: sqlite3.Connection, wanted: HistoryFilter, before: int | None) -> tuple[str, list[object]]:
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
    for column, choices in (
        ("outcome", wanted.outcomes),
        ("surface", wanted.surfaces),
        ("action", wanted.actions),
        ("agent", wanted.agents),
    ):
        if choices:
            clauses.append(f"r.{column} IN ({', '.join('?' * len(choices))})")
            values.extend(choices)
    _time(db, wanted, key, clauses, values)
    where = ("WHERE", " AND ".join(clauses)) if clauses else ()
    return " ".join((_SELECT, source, *where, "ORDER BY", key, "DESC")), values


def _time(db: sqlite3.Connection, wanted: HistoryFilter, key: str, clauses: list[str], values: list[object]) -> None:
    """Adds the range of time, and the range of entry numbers that belongs to it.

    Numbers increase with time unless a clock was set back. With both ranges, SQLite can stop at the end of the range
    instead of scanning everything older.
    """
    for edge, compare, bound, find_bound in (
        (wanted.since, ">=", ">=", "SELECT min(seq) FROM requests WHERE asked >= ?"),
        (wanted.until, "<", "<=", "SELECT max(seq) FROM requests WHERE asked < ?"),
    ):
        if edge:
            number = db.execute(find_bound, (edge,)).fetchone()[0]
            clauses.append(f"r.asked {compare} ? AND {key} {bound} ?")
            values.extend((edge, -1 if number is None else number))
