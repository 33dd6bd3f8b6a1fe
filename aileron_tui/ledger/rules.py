"""What may follow in a ledger: the steps of a request, and the head a signed decision must carry.

The writer refuses an entry that breaks a rule, inside the transaction that would append it, so the first decision
wins however many come at once; verification finds it if it is there all the same.
"""

import sqlite3
from typing import Final

from aileron_tui.core.chain import Entry, Kind
from aileron_tui.core.decision import Verdict
from aileron_tui.core.states import Event, State, advance
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.index import Decision

WINDOW: Final = 2**16
"""How many entries back the head in a signed decision may lie."""

_REBUILD: Final = "`aileron-tui history rebuild` makes it anew from the entries."

EVENTS: Final = {
    Kind.REQUESTED: Event.ASK,
    Kind.RUNNING: Event.START,
    Kind.EXECUTED: Event.SUCCEED,
    Kind.FAILED: Event.FAIL,
    Kind.EXPIRED: Event.EXPIRE,
    Kind.WITHDRAWN: Event.WITHDRAW,
    Kind.INTERRUPTED: Event.INTERRUPT,
}
VERDICTS: Final = {Verdict.APPROVE: Event.APPROVE, Verdict.DENY: Event.DENY}


def ungated(entry: Entry) -> bool:
    """Whether the entry belongs to a call that needed no approval and so was never a request."""
    return entry.kind != Kind.REQUESTED and entry.body.get("gated") is False


def admit(db: sqlite3.Connection, entry: Entry, decision: Decision | None) -> None:
    """Refuses an entry that cannot follow: InvalidTransition names the state a request is in."""
    if entry.kind not in EVENTS and entry.kind != Kind.DECIDED:
        return
    row = db.execute("SELECT seq, outcome FROM requests WHERE id = ?", (entry.request,)).fetchone()
    try:
        state = State(row[1]) if row else None
    except ValueError:
        raise EntryRefused("the history of this request is damaged", hint=_REBUILD) from None
    if entry.kind != Kind.DECIDED:
        if row or not ungated(entry):
            advance(state, EVENTS[Kind(entry.kind)])
        return
    if decision is None:
        raise EntryRefused("a decision needs its signed envelope", entry.request)
    statement, _ = decision
    advance(state, VERDICTS[statement.verdict])
    if statement.request != entry.request:
        raise EntryRefused("the decision was signed for another request", statement.request)
    oldest = max(row[0], entry.seq - WINDOW + 1)
    if position(db, statement.head, oldest, entry.seq) is None:
        raise EntryRefused(
            "the decision was signed over a ledger head that is not of this request's time",
            statement.head,
            "Sign over the head that came with the prompt.",
        )


def position(db: sqlite3.Connection, digest: str, oldest: int, before: int) -> int | None:
    """The number of the entry with this hash in a range, looked for from its end."""
    raw = bytes.fromhex(digest.removeprefix("sha256:"))
    query = "SELECT seq FROM entries WHERE seq >= ? AND seq < ? AND +hash = ? ORDER BY seq DESC LIMIT 1"
    row = db.execute(query, (oldest, before, raw)).fetchone()
    return row[0] if row else None
