"""The tables derived from the entries: one row per request for the history, its words for the search, and used nonces.

The index reads these fields of an entry's body. They are optional text unless noted otherwise:

    request.made      action, connector (text or an object with `name`), agent, says, risk, args (object);
                      of a tool call also `kind`; of a daemon also `daemon`, `kind`, and `asked`, the time of the
                      request according to the daemon
    decision.made     envelope (DSSE object): verdict, edits, surface, reason and nonce come from the signed statement
    denial.recorded   as in `core/unsigned_denial.py`
    rule.answered     as in `core/rule_answer.py`
    rule.made, rule.ended    rule (object with `id`), id
    op.failed         error
    runtime.told      as in `ledger/request_status.py`
    runtime.edited    nothing
    ledger.reduced    as in `core/reduction.py`

Of an entry without a body, nothing is known but its kind and its time; a `ledger.reduced` entry has what is left.
"""

import sqlite3
from collections.abc import Iterable
from typing import Final

from aileron_tui.core.authenticator_data import recorded_counter
from aileron_tui.core.call_kinds import NOT_RUN_HERE
from aileron_tui.core.decision import Statement, Verdict
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError, compact
from aileron_tui.core.outcome_words import RULE_SURFACE
from aileron_tui.core.outcomes import ELSEWHERE
from aileron_tui.core.reduction import LEFT, read_reduction
from aileron_tui.core.rule import RuleVerdict
from aileron_tui.core.rule_words import ALLOWED, DENIED
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.recorded_decision import Decision, edits_of
from aileron_tui.ledger.request_status import (
    ANSWERED,
    RequestStanding,
    asked_by,
    daemon_of,
    read_told,
    written_time,
)

LONGEST_INDEXED: Final = 16 * 1024

ENDS: Final = {
    EntryKind.EXECUTED: RequestState.EXECUTED,
    EntryKind.FAILED: RequestState.FAILED,
    EntryKind.EXPIRED: RequestState.EXPIRED,
    EntryKind.WITHDRAWN: RequestState.WITHDRAWN,
    EntryKind.INTERRUPTED: RequestState.INTERRUPTED,
    EntryKind.UNKNOWN: RequestState.UNKNOWN,
}
_WORDS: Final = {
    RequestState.EXPIRED: "expired nobody answered",
    RequestState.DENIED: "denied",
    RequestState.EXECUTED: "executed done",
    RequestState.UNKNOWN: "outcome unknown",
}

_INSERT_REQUEST: Final = (
    "INSERT INTO requests (seq, id, asked, action, connector, agent, says, risk, daemon, kind,"
    " outcome, decided, surface, signer, rule) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_WORDS: Final = (
    "INSERT INTO search (rowid, action, connector, agent, says, inputs, reason, outcome, edits)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, '')"
)
_REDUCE: Final = (
    f"UPDATE requests SET {', '.join(f'{name} = ?' for name in LEFT)}, says = '', reason = '', error = '', reduced = ?"  # noqa: S608  # names of columns only
    " WHERE seq = ?"
)
_NOTHING: Final = {"took": None, "edited": False}
_KEEP_COUNTER: Final = (
    "INSERT INTO counters VALUES (?, ?) ON CONFLICT DO UPDATE SET counter = max(counter, excluded.counter)"
)


def record(db: sqlite3.Connection, entry: Entry, decision: Decision | None) -> None:
    """Adds one entry to the derived tables, inside the transaction that appends it; `list_steps` adds its step."""
    if "envelope" in entry.body:
        _count(db, entry)
    if entry.kind == EntryKind.DECIDED and decision is not None:
        _decided(db, entry, *decision)
    else:
        _record_kind(db, entry)


def list_steps(db: sqlite3.Connection, steps: Iterable[tuple[str, int]]) -> None:
    """Lists entries as steps of their requests, each as the request and the number of the entry."""
    db.executemany("INSERT INTO steps VALUES (?, ?)", steps)


def _record_kind(db: sqlite3.Connection, entry: Entry) -> None:
    match entry.kind:
        case EntryKind.REQUESTED:
            NewRequest(entry).write(db)
        case EntryKind.SHOWN:
            db.execute("UPDATE requests SET shown = ? WHERE id = ? AND shown = ''", (entry.time, entry.request))
        case EntryKind.DENIED_UNSIGNED:
            _denied_unsigned(db, entry)
        case EntryKind.RULED:
            _ruled(db, entry)
        case EntryKind.TOLD:
            _told(db, entry)
        case EntryKind.EDITED:
            _edited_elsewhere(db, entry)
        case EntryKind.REDUCED:
            _reduced(db, entry)
        case EntryKind.RUNNING:
            _advanced(db, entry, RequestState.RUNNING)
        case EntryKind.HANDED_OVER:
            _advanced(db, entry, RequestState.HANDED_OVER)
        case kind if kind in ENDS:
            _ended(db, entry, ENDS[EntryKind(kind)])
        case _:
            _changed(db, entry)


def _count(db: sqlite3.Connection, entry: Entry) -> None:
    """Remembers the counter of the security key that signed what the entry has, if one did."""
    if counted := recorded_counter(entry):
        db.execute("INSERT OR REPLACE INTO counters VALUES (?, ?)", counted)


def _changed(db: sqlite3.Connection, entry: Entry) -> None:
    """Lists a change of keys, agents, rules, packages or bindings."""
    match entry.kind:
        case EntryKind.KEY_ENROLLED | EntryKind.KEY_REVOKED:
            db.execute("INSERT INTO keys VALUES (?)", (entry.seq,))
        case EntryKind.AGENT_ADDED | EntryKind.AGENT_ROTATED | EntryKind.AGENT_REVOKED:
            db.execute("INSERT INTO agents VALUES (?)", (entry.seq,))
        case EntryKind.RULE_MADE | EntryKind.RULE_ENDED:
            db.execute("INSERT INTO rules VALUES (?, ?)", (entry.seq, _rule_id(entry)))
        case EntryKind.PUBLISHER_TRUSTED | EntryKind.PUBLISHER_REMOVED:
            db.execute("INSERT INTO publishers VALUES (?)", (entry.seq,))
        case EntryKind.PACKAGE_ADDED | EntryKind.PACKAGE_REMOVED | EntryKind.PACKAGE_DECLINED:
            db.execute("INSERT INTO packages VALUES (?)", (entry.seq,))
        case EntryKind.BINDING_MADE | EntryKind.BINDING_ENDED | EntryKind.BINDING_DECLINED:
            db.execute("INSERT INTO bindings VALUES (?)", (entry.seq,))


class NewRequest:
    """The row of a new request and its words for the search, before they are written.

    Entries of the same transaction that only continue the request change the row, so that it is written once.
    """

    def __init__(self, entry: Entry) -> None:
        if not entry.request:
            raise EntryRefused("a request needs an id")
        body = entry.body
        connector = body.get("connector")
        name = _text(connector.get("name")) if isinstance(connector, dict) else _text(connector)
        action, risk, kind = (_text(body.get(field)) for field in ("action", "risk", "kind"))
        agent, says = asked_by(body)
        daemon = daemon_of(body)
        asked = (daemon and written_time(body.get("asked"))) or entry.time
        self._made = (entry.seq, entry.request, asked, action, name, agent, says, risk, daemon, kind)
        self._words = (entry.seq, action, name, agent, says, words(body.get("args")))
        self._seq, self._is_daemons = entry.seq, bool(daemon)
        self._is_tool = kind in NOT_RUN_HERE and not daemon
        self._outcome, self._said = RequestState.PENDING, ("", str(RequestState.PENDING))
        self._decided = self._surface = self._signer = self._rule = ""

    def standing(self) -> RequestStanding:
        """The state of the request."""
        return RequestStanding(
            self._seq, self._outcome, daemon=self._is_daemons, surface=self._surface, tool=self._is_tool
        )

    def takes(self, entry: Entry) -> bool:
        """Applies an entry that says that a rule allowed the request, or that it began; returns False for any other."""
        body = entry.body
        if entry.kind == EntryKind.RULED and body.get("verdict") == RuleVerdict.ALLOW and not body.get("reason"):
            self._outcome, self._decided, self._surface = RequestState.APPROVED, entry.time, RULE_SURFACE
            self._signer, self._rule = _text(body.get("signer")), _text(body.get("rule"))
        elif entry.kind == EntryKind.HANDED_OVER:
            self._outcome = RequestState.HANDED_OVER
        elif entry.kind == EntryKind.RUNNING:
            self._outcome = RequestState.RUNNING
            if self._rule:
                self._said = _said_in_advance(self._rule, "")
        else:
            return False
        return True

    def write(self, db: sqlite3.Connection) -> None:
        """Writes the row and the words."""
        answer = (self._outcome, self._decided, self._surface, self._signer, self._rule)
        try:
            db.execute(_INSERT_REQUEST, self._made + answer)
        except sqlite3.IntegrityError:
            raise EntryRefused("a request can be made only once", self._made[1]) from None
        db.execute(_INSERT_WORDS, self._words + self._said)


def _decided(db: sqlite3.Connection, entry: Entry, statement: Statement, signer: str) -> None:
    try:
        db.execute("INSERT INTO nonces VALUES (?, ?)", (statement.nonce, entry.seq))
    except sqlite3.IntegrityError:
        raise EntryRefused("the nonce of this decision was already used", statement.nonce) from None
    row = db.execute("SELECT seq, asked, shown FROM requests WHERE id = ?", (entry.request,)).fetchone()
    if row is None:
        return
    denied = statement.verdict is Verdict.DENY
    outcome = RequestState.DENIED if denied else RequestState.APPROVED
    took = max(0.0, (moment(entry.time) - moment(row[2] or row[1])).total_seconds())
    db.execute(
        "UPDATE requests SET outcome = ?, decided = ?, took = ?, surface = ?, signer = ?, reason = ?, ended = ?"
        " WHERE seq = ?",
        (outcome, entry.time, took, statement.surface, signer, statement.reason, entry.time if denied else "", row[0]),
    )
    if denied or statement.reason:
        _reword(db, row[0], outcome, statement.reason)
    if edits := edits_of(statement):
        _edit(db, row[0], f"edited {words(edits)}")


def _denied_unsigned(db: sqlite3.Connection, entry: Entry) -> None:
    row = db.execute("SELECT seq, asked, shown FROM requests WHERE id = ?", (entry.request,)).fetchone()
    if row is None:
        return
    reason, surface = _text(entry.body.get("reason")), _text(entry.body.get("surface"))
    took = max(0.0, (moment(entry.time) - moment(row[2] or row[1])).total_seconds())
    db.execute(
        "UPDATE requests SET outcome = ?, decided = ?, took = ?, surface = ?, signer = '', reason = ?, ended = ?"
        " WHERE seq = ?",
        (RequestState.DENIED, entry.time, took, surface, reason, entry.time, row[0]),
    )
    _reword(db, row[0], RequestState.DENIED, reason)


def _ruled(db: sqlite3.Connection, entry: Entry) -> None:
    """Records the answer of a rule. Nobody took any time to decide."""
    body = entry.body
    denied = body.get("verdict") == RuleVerdict.DENY
    outcome = RequestState.DENIED if denied else RequestState.APPROVED
    rule, signer, reason = (_text(body.get(name)) for name in ("rule", "signer", "reason"))
    row = db.execute(
        "UPDATE requests SET outcome = ?, decided = ?, surface = ?, signer = ?, reason = ?, ended = ?, rule = ?"
        " WHERE id = ? RETURNING seq",
        (outcome, entry.time, RULE_SURFACE, signer, reason, entry.time if denied else "", rule, entry.request),
    ).fetchone()
    if row is not None and denied:  # the end of a call that was allowed says it, too
        _reword(db, row[0], outcome, f"{DENIED} {rule} {reason}")


def _rule_id(entry: Entry) -> str:
    """The rule that an entry makes or ends, or ""."""
    rule = entry.body.get("rule")
    return _text(rule.get("id")) if isinstance(rule, dict) else _text(entry.body.get("id"))


def _edit(db: sqlite3.Connection, seq: int, text: str) -> None:
    """Marks a call as edited and stores the words to search for; with "" marks it as not edited."""
    db.execute("UPDATE requests SET edited = ? WHERE seq = ?", (bool(text), seq))
    db.execute("UPDATE search SET edits = ? WHERE rowid = ?", (text, seq))


def _edited_elsewhere(db: sqlite3.Connection, entry: Entry) -> None:
    row = db.execute("SELECT seq FROM requests WHERE id = ? AND surface = ?", (entry.request, ELSEWHERE)).fetchone()
    if row is not None:
        _edit(db, row[0], "edited elsewhere")


def _told(db: sqlite3.Connection, entry: Entry) -> None:
    """Records a daemon's report. An answer given elsewhere replaces the one given here, which then did not count."""
    told = read_told(entry.body)
    query = (
        "SELECT seq, asked, shown, outcome, decided, took, surface, signer, reason, ended FROM requests WHERE id = ?"
    )
    row = db.execute(query, (entry.request,)).fetchone()
    if told is None or row is None:
        return
    seq, asked, shown, before, decided, took, surface, signer, reason, ended = row
    state, at = told.outcome, told.at or entry.time
    if state is RequestState.PENDING:
        decided = surface = signer = reason = ended = ""
        took = None
        _edit(db, seq, "")
    else:
        if told.elsewhere and state in ANSWERED and surface != ELSEWHERE:
            start = shown if shown and shown <= at else asked
            took = max(0.0, (moment(at) - moment(start)).total_seconds())
            decided, surface, signer, reason = at, ELSEWHERE, "", ""
            _edit(db, seq, "")
        reason = reason or told.reason
        if not state.final:
            ended = ""
        elif state != before or not ended:
            ended = at
    db.execute(
        "UPDATE requests SET outcome = ?, decided = ?, took = ?, surface = ?, signer = ?, reason = ?, ended = ?,"
        " error = ?, told = ? WHERE seq = ?",
        (state, decided, took, surface, signer, reason, ended, told.error, state is not RequestState.PENDING, seq),
    )
    _reword(db, seq, state, f"{reason} {told.error}".strip())


def _advanced(db: sqlite3.Connection, entry: Entry, state: RequestState) -> None:
    changed = db.execute("UPDATE requests SET outcome = ? WHERE id = ?", (state, entry.request)).rowcount
    if changed and state is RequestState.RUNNING:  # an ungated call is no request
        query = "SELECT seq, rule, reason FROM requests WHERE id = ? AND rule != ''"
        for seq, rule, reason in db.execute(query, (entry.request,)).fetchall():
            _say(db, seq, *_said_in_advance(rule, reason))


def _ended(db: sqlite3.Connection, entry: Entry, state: RequestState) -> None:
    error = _text(entry.body.get("error"))
    row = db.execute(
        "UPDATE requests SET outcome = ?, ended = ?, error = ? WHERE id = ? RETURNING seq, reason, rule, kind",
        (state, entry.time, error, entry.request),
    ).fetchone()
    if row is None:
        return
    seq, reason, rule, kind = row
    if rule and kind not in NOT_RUN_HERE and state is RequestState.EXECUTED and not error:
        return  # the search has said so since the call began
    _reword(db, seq, state, f"{ALLOWED} {rule} {reason} {error}" if rule else f"{reason} {error}")


def _reduced(db: sqlite3.Connection, entry: Entry) -> None:
    """Leaves of each request only what the record has, also for the search."""
    try:
        reduction = read_reduction(entry)
    except JsonError as error:
        raise EntryRefused("the record of the reduction is not valid", str(error)) from None
    for request in reduction.requests:
        made = db.execute("SELECT seq FROM requests WHERE id = ?", (request["id"],)).fetchone()
        if made is None or not reduction.names(made[0]):  # a record says nothing about what is still there
            continue
        left = {name: request.get(name, _NOTHING.get(name, "")) for name in LEFT}
        db.execute(_REDUCE, (*left.values(), entry.time, *made))
        outcome = _text(left["outcome"])
        said = (_text(left["rule"]), _WORDS.get(RequestState(outcome), outcome))
        db.execute("DELETE FROM search WHERE rowid = ?", made)
        db.execute(_INSERT_WORDS, (*made, left["action"], left["connector"], left["agent"], "", "", *said))
    for first, last in reduction.entries:
        db.execute("DELETE FROM nonces WHERE seq BETWEEN ? AND ?", (first, last))
    for key, counter in reduction.counters.items():
        db.execute(_KEEP_COUNTER, (key, counter))


def _said_in_advance(rule: str, reason: str) -> tuple[str, str]:
    """What the search finds about a call that a rule allowed and that runs: what is true once it has succeeded.

    Nearly all of them do, and soon. To change the words of a request takes longer than to write them, so they are
    changed only if the call ends in another way. Until it ends, no search finds it by the outcome
    (`history_queries`).
    """
    return f"{ALLOWED} {rule} {reason}"[:LONGEST_INDEXED], _WORDS[RequestState.EXECUTED]


def _reword(db: sqlite3.Connection, seq: int, state: RequestState, reason: str) -> None:
    _say(db, seq, reason[:LONGEST_INDEXED], _WORDS.get(state, state.value))


def _say(db: sqlite3.Connection, seq: int, reason: str, outcome: str) -> None:
    db.execute("UPDATE search SET reason = ?, outcome = ? WHERE rowid = ?", (reason, outcome, seq))


def words(value: Json) -> str:
    """The names and values of inputs as text for the search, up to a limit."""
    return compact(value)[:LONGEST_INDEXED] if value is not None else ""


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
