"""The queries of the history: one row per request, newest first, filtered and searched."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.outcome_words import ALLOWED, BY_RULE, RULE_SURFACE
from aileron_tui.core.states import RequestState
from aileron_tui.ledger.history_filter import HistoryFilter

# Only names written in this module are joined into queries; every value is bound.
_SELECT: Final = " ".join(("SELECT", ", ".join(f"r.{column.name}" for column in fields(HistoryRecord)), "FROM"))
_EDITED: Final = [column.name for column in fields(HistoryRecord)].index("edited")
_FIND: Final = " ".join((_SELECT, "requests r WHERE r.id = ?"))

# The `+` keeps SQLite from going through all numbers in order until it finds a time in the range.
_FIRST_SINCE: Final = "SELECT min(+seq) FROM requests WHERE asked >= ?"
_LAST_UNTIL: Final = "SELECT max(+seq) FROM requests WHERE asked < ?"
_RANGE: Final = "SELECT min(+seq), max(+seq) FROM requests WHERE asked >= ? AND asked < ?"
_COUNT_SINCE: Final = "SELECT count(*) FROM (SELECT 1 FROM requests WHERE asked >= ? LIMIT ?)"
_NO_NUMBER: Final = 2**63 - 1

# The conditions of the partial index must be written out for SQLite to use it.
_BY_SIGNER: Final = "r.signer = ? AND r.signer != '' AND r.surface != 'rule'"

# The words of a call that a rule allowed say from its beginning how it will most likely end.
_NOT_BY_LATER_OUTCOME: Final = (
    "(+r.outcome != 'running' OR r.rule = ''"
    " OR EXISTS (SELECT 1 FROM search WHERE search.rowid = r.seq AND search MATCH ?))"
)

_COUNTED: Final = 2000
_FEW: Final = 20_000
"""How many newer requests are skipped one by one rather than looking for the number at which a time begins."""

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
    by_words = bool(wanted.text.strip())
    if by_words:
        expression = match_expression(wanted.text)
        if not expression:
            return _NOTHING, []
        source, key = "search JOIN requests r ON r.seq = search.rowid", "search.rowid"
        clauses.extend(("search MATCH ?", _NOT_BY_LATER_OUTCOME))
        values.extend((expression, f"- outcome : ({expression})"))
    if before is not None:
        clauses.append(f"{key} < ?")
        values.append(before)
    if wanted.signer:
        clauses.append(_BY_SIGNER)
        values.append(wanted.signer)
    if BY_RULE in wanted.outcomes:
        clauses.append(_or_by_rule(wanted.outcomes, values, indexed=not by_words))
    outcomes: Sequence[str] = () if BY_RULE in wanted.outcomes else wanted.outcomes
    if set(ALLOWED) <= set(outcomes) and RequestState.WITHDRAWN not in outcomes:
        # Only an approval is followed by this end: that of a call whose program did not fetch the answer.
        outcomes = (*outcomes, RequestState.WITHDRAWN)
        clauses.append("(+r.outcome != ? OR +r.decided != '')")
        values.append(RequestState.WITHDRAWN)
    lists = {
        "outcome": outcomes,
        "surface": wanted.surfaces,
        "action": wanted.actions,
        "agent": wanted.agents,
    }
    chosen = {column: choices for column, choices in lists.items() if choices}
    indexed = "" if by_words or wanted.signer or BY_RULE in wanted.outcomes else _rarest(db, chosen)
    for column, choices in chosen.items():
        name = f"r.{column}" if column == indexed else f"+r.{column}"
        clauses.append(f"{name} IN ({', '.join('?' * len(choices))})")
        values.extend(choices)
    _time(db, wanted, key, clauses, values)
    where = ("WHERE", " AND ".join(clauses)) if clauses else ()
    return " ".join((_SELECT, source, *where, "ORDER BY", "r.decided" if wanted.signer else key, "DESC")), values


def _or_by_rule(outcomes: Sequence[str], values: list[object], *, indexed: bool) -> str:
    """The condition for requests that a rule allowed, or that have one of the other outcomes."""
    states = [outcome for outcome in outcomes if outcome != BY_RULE]
    surface = "r.surface" if indexed and not states else "+r.surface"
    values.extend((RULE_SURFACE, *ALLOWED, *states))
    by_rule = f"{surface} = ? AND +r.outcome IN ({', '.join('?' * len(ALLOWED))})"
    return f"({by_rule} OR +r.outcome IN ({', '.join('?' * len(states))}))" if states else by_rule


def _rarest(db: sqlite3.Connection, chosen: Mapping[str, Sequence[str]]) -> str:
    """The column whose index finds the fewest requests, as far as they are counted.

    SQLite has no statistics, so it would also choose an index that finds nearly everything. The `+` before the names of
    the other columns keeps it from using theirs.
    """

    def count(column: str) -> int:
        counted = f"SELECT count(*) FROM (SELECT 1 FROM requests WHERE {column} = ? LIMIT {_COUNTED})"  # noqa: S608  # names of columns only
        return sum(int(db.execute(counted, (choice,)).fetchone()[0]) for choice in chosen[column])

    return min(chosen, key=count) if len(chosen) > 1 else next(iter(chosen), "")


def _time(db: sqlite3.Connection, wanted: HistoryFilter, key: str, clauses: list[str], values: list[object]) -> None:
    """Adds the range of time, and the range of entry numbers that belongs to it.

    Numbers increase with time unless a clock was set back. With the range of numbers, SQLite can stop at its end
    instead of scanning everything older. The index by time would not return requests in the order of their numbers.
    """
    first = last = None
    if wanted.since and wanted.until:
        first, last = db.execute(_RANGE, (wanted.since, wanted.until)).fetchone()
    elif wanted.since:
        first = db.execute(_FIRST_SINCE, (wanted.since,)).fetchone()[0]
    elif wanted.until and db.execute(_COUNT_SINCE, (wanted.until, _FEW + 1)).fetchone()[0] > _FEW:
        last = db.execute(_LAST_UNTIL, (wanted.until,)).fetchone()[0]
    if wanted.since:
        clauses.append(f"+r.asked >= ? AND {key} >= ?")
        values.extend((wanted.since, _NO_NUMBER if first is None else first))
    if wanted.until:
        clauses.append("+r.asked < ?")
        values.append(wanted.until)
    if last is not None:
        clauses.append(f"{key} <= ?")
        values.append(last)
