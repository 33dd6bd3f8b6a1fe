"""The queries about rules: the past calls of an agent to an action, and how often each rule was used."""

import sqlite3
from collections.abc import Iterator
from typing import Final

from aileron_tui.ledger.rule_calls import CallFilter, RecordedCall, RuleUse

_COUNT: Final = (
    "SELECT count(*) FROM requests r"
    " WHERE r.action = ? AND r.agent = ? AND r.daemon = '' AND r.reduced = '' AND r.asked >= ?"
)
_CALLS: Final = (
    "SELECT r.id, r.asked, r.outcome, r.rule, CAST(ifnull(e.data, '') AS BLOB)"
    " FROM requests r JOIN entries e ON e.seq = r.seq"
    " WHERE r.action = ? AND r.agent = ? AND r.daemon = '' AND r.reduced = '' AND r.asked >= ?"
    " AND (? OR instr(e.data, ?)) AND (? OR EXISTS"
    " (SELECT 1 FROM steps s JOIN entries p ON p.seq = s.seq WHERE s.request = r.id AND instr(p.data, ?)))"
    " ORDER BY r.seq DESC"
)
_USES: Final = "SELECT rule, count(*), max(asked) FROM requests WHERE rule != '' GROUP BY rule"


def calls(db: sqlite3.Connection, wanted: CallFilter) -> Iterator[RecordedCall]:
    """The past calls that may match, newest first."""
    values = (
        wanted.action,
        wanted.agent,
        wanted.since,
        not wanted.containing,
        wanted.containing,
        not wanted.shown,
        wanted.shown.encode(),
    )
    for row in db.execute(_CALLS, values):
        yield RecordedCall(*row)


def count_calls(db: sqlite3.Connection, wanted: CallFilter) -> int:
    """How many calls of the agent to the action there were."""
    return int(db.execute(_COUNT, (wanted.action, wanted.agent, wanted.since)).fetchone()[0])


def uses(db: sqlite3.Connection) -> dict[str, RuleUse]:
    """How often each rule answered a request, and when it last did."""
    return {row[0]: RuleUse(row[1], row[2]) for row in db.execute(_USES)}
