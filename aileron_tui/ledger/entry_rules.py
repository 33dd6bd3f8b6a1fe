"""Which entries may be appended to a ledger: the steps of a request, and the head that a signed decision must have.

The writer checks this inside the transaction that appends the entry, so if several decisions arrive at once, the first
one wins. Verification checks it again.
"""

from datetime import datetime, timedelta
from typing import Final

from aileron_tui.core.call_kinds import is_ungated_id
from aileron_tui.core.deadline_extension import objection as extension_objection
from aileron_tui.core.deadline_extension import recorded_extension
from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonError
from aileron_tui.core.outcomes import ELSEWHERE
from aileron_tui.core.rule import RuleVerdict
from aileron_tui.core.rule_answer import answer_problem, read_answer
from aileron_tui.core.rule_change import read_change as read_rule_change
from aileron_tui.core.rule_change import signer_of
from aileron_tui.core.states import RequestEvent, advance
from aileron_tui.core.times import moment
from aileron_tui.core.unsigned_denial import read_unsigned_denial
from aileron_tui.files.boot_clock import BootClock
from aileron_tui.ledger.change_rules import admit_change
from aileron_tui.ledger.errors import DeadlinePassed, EntryRefused
from aileron_tui.ledger.recorded_decision import Decision
from aileron_tui.ledger.request_deadline import RequestDeadline, current_deadline
from aileron_tui.ledger.request_status import RequestStanding, daemon_of, objection, read_told
from aileron_tui.ledger.store import RequestLookup

WINDOW: Final = 2**16
"""How many entries old the head in a signed decision may be."""

LATE: Final = timedelta(minutes=1)
"""How long after its expiry a signed decision may be recorded, because its machine may have another clock."""

EVENTS: Final = {
    EntryKind.REQUESTED: RequestEvent.ASK,
    EntryKind.RUNNING: RequestEvent.START,
    EntryKind.HANDED_OVER: RequestEvent.HAND_OVER,
    EntryKind.EXECUTED: RequestEvent.SUCCEED,
    EntryKind.FAILED: RequestEvent.FAIL,
    EntryKind.EXPIRED: RequestEvent.EXPIRE,
    EntryKind.WITHDRAWN: RequestEvent.WITHDRAW,
    EntryKind.INTERRUPTED: RequestEvent.INTERRUPT,
    EntryKind.UNKNOWN: RequestEvent.END_UNKNOWN,
}
RULE_VERDICTS: Final = {RuleVerdict.ALLOW: RequestEvent.APPROVE, RuleVerdict.DENY: RequestEvent.DENY}
VERDICTS: Final = {Verdict.APPROVE: RequestEvent.APPROVE, Verdict.DENY: RequestEvent.DENY}

_CHECKED: Final = frozenset(
    {
        *EVENTS,
        EntryKind.DECIDED,
        EntryKind.DENIED_UNSIGNED,
        EntryKind.RULED,
        EntryKind.TOLD,
        EntryKind.EDITED,
        EntryKind.EXTENDED,
    }
)


def ungated(entry: Entry) -> bool:
    """Whether the entry belongs to a call that needed no approval and so was never a request.

    Without its body, only the id of the call says so.
    """
    if entry.kind == EntryKind.REQUESTED:
        return False
    return is_ungated_id(entry.request) if entry.removed else entry.body.get("gated") is False


def admit(
    ledger: RequestLookup, entry: Entry, decision: Decision | None, latest: datetime, boot_clock: BootClock
) -> None:
    """Refuses an entry that must not be appended. An InvalidTransition has the current state of the request.

    `latest` is the latest time that an entry of this ledger has, so that a clock that was set back extends no deadline.
    """
    admit_change(ledger, entry)
    if entry.kind not in _CHECKED:
        return
    known = ledger.standing(entry.request)
    if entry.kind == EntryKind.TOLD:
        _admit_report(entry, known)
    elif entry.kind == EntryKind.EDITED:
        if known is None or known.surface != ELSEWHERE:
            raise EntryRefused("only a request answered elsewhere can be reported as edited", entry.request)
    elif entry.kind == EntryKind.EXTENDED:
        _admit_extension(ledger, entry, known, latest, boot_clock)
    elif entry.kind == EntryKind.DECIDED:
        _admit_decision(ledger, entry, known, decision)
        if decision and decision[0].verdict is Verdict.APPROVE and known and not known.daemon:
            _admit_in_time(ledger, entry, ledger.entry(known.seq), latest, boot_clock)
    elif entry.kind == EntryKind.DENIED_UNSIGNED:
        _admit_unsigned_denial(entry, known)
    elif entry.kind == EntryKind.RULED:
        _admit_rule_answer(ledger, entry, known, latest, boot_clock)
    else:
        _admit_step(entry, known)


def _admit_unsigned_denial(entry: Entry, known: RequestStanding | None) -> None:
    try:
        read_unsigned_denial(entry.body)
    except JsonError as error:
        raise EntryRefused("the denial is not valid", str(error)) from None
    if known and known.daemon:
        raise EntryRefused("a request of a daemon cannot be denied without a signature", entry.request)
    advance(known.state if known else None, RequestEvent.DENY)


def _admit_rule_answer(
    ledger: RequestLookup, entry: Entry, known: RequestStanding | None, latest: datetime, boot_clock: BootClock
) -> None:
    """Refuses the answer of a rule that is not in force or does not match. Its readers verify the signature."""
    made = ledger.entry(known.seq) if known and not known.daemon else None
    if known is None or made is None:
        raise EntryRefused("a rule can answer only a request of this gate", entry.request)
    try:
        answer = read_answer(entry.body)
        changes = ledger.rule_changes(answer.rule)
        change, _ = read_rule_change(changes[0]) if changes else (None, None)
    except JsonError as error:
        raise EntryRefused("the answer of the rule is not valid", str(error)) from None
    advance(known.state, RULE_VERDICTS[answer.verdict])
    if change is None or change.rule is None or (changes[0].seq, signer_of(changes[0])) != (answer.made, answer.signer):
        raise EntryRefused(f"there is no rule {answer.rule} in entry {answer.made}", entry.request)
    if len(changes) > 1 or _is_revoked(ledger, answer.signer):
        raise EntryRefused(f"{answer.rule} is no longer in force", entry.request)
    now = max(moment(entry.time), latest)
    if why := answer_problem(answer, change.rule, made.body, now) or _run_out(changes[0], boot_clock):
        raise EntryRefused("the rule does not answer this request", f"{entry.request}: {why}")
    if answer.verdict is RuleVerdict.ALLOW:
        _admit_in_time(ledger, entry, made, latest, boot_clock)


def _is_revoked(ledger: RequestLookup, signer: str) -> bool:
    changes = ledger.key_changes()
    return any(entry.kind == EntryKind.KEY_REVOKED and entry.body.get("fingerprint") == signer for entry in changes)


def _run_out(made: Entry, boot_clock: BootClock) -> str:
    """Why a rule has ended by the clock that nobody can set, or "" if it has not."""
    match made.body.get("deadline"):
        case {"boot": str() as boot, "uptime_ms": int() as uptime_ms}:
            if boot and boot == boot_clock.boot and boot_clock.seconds() * 1000 >= uptime_ms:
                return "its time has run out, even though the clock was set back"
    return ""


def _admit_step(entry: Entry, known: RequestStanding | None) -> None:
    if entry.kind == EntryKind.REQUESTED:
        if "daemon" in entry.body and not daemon_of(entry.body):
            raise EntryRefused("a request of a daemon must name the daemon", entry.request)
    elif known and known.daemon:
        raise EntryRefused("only its daemon can report what happens to this request", entry.request)
    elif known and (why := tool_objection(entry, tool=known.tool)):
        raise EntryRefused(why, entry.request)
    if known or not ungated(entry):
        advance(known.state if known else None, EVENTS[EntryKind(entry.kind)])


def tool_objection(entry: Entry, *, tool: bool) -> str:
    """Why an entry is for the other kind of request: a tool call is handed over and never runs here. Else ""."""
    if entry.kind == EntryKind.RUNNING and tool:
        return "a tool call cannot run here"
    return "only a tool call can be handed over" if entry.kind == EntryKind.HANDED_OVER and not tool else ""


def _admit_report(entry: Entry, known: RequestStanding | None) -> None:
    told = read_told(entry.body)
    if told is None:
        raise EntryRefused("a report must say what happened to the request", entry.request)
    if known is None or not known.daemon:
        raise EntryRefused("a daemon can report only on its own requests", entry.request)
    if why := objection(known.state, known.told, told.outcome):
        raise EntryRefused("the report says nothing new about the request", f"{entry.request}: {why}")


def _admit_in_time(
    ledger: RequestLookup, entry: Entry, made: Entry | None, latest: datetime, boot_clock: BootClock
) -> None:
    deadline = current_deadline(made, ledger.extensions(entry.request)) if made else None
    if deadline and (why := deadline.passed(max(moment(entry.time), latest), boot_clock)):
        raise DeadlinePassed("the request can no longer be approved", f"{entry.request}: {why}")


def _deadline(ledger: RequestLookup, request: str, known: RequestStanding) -> RequestDeadline | None:
    made = ledger.entry(known.seq)
    return current_deadline(made, ledger.extensions(request)) if made else None


def _admit_extension(
    ledger: RequestLookup, entry: Entry, known: RequestStanding | None, latest: datetime, boot_clock: BootClock
) -> None:
    """Refuses an extension that does not fit the deadline, or comes after it. Its recorder verifies the signature."""
    advance(known.state if known else None, RequestEvent.EXTEND)
    deadline = _deadline(ledger, entry.request, known) if known and not known.daemon else None
    if deadline is None or known is None:
        raise EntryRefused("this request has no deadline that can be extended", entry.request)
    try:
        extension, _ = recorded_extension(entry)
    except JsonError as error:
        raise EntryRefused("an extension needs its signed envelope", str(error)) from None
    if why := deadline.passed(max(moment(entry.time), latest), boot_clock):
        raise DeadlinePassed("the request can no longer be extended", f"{entry.request}: {why}")
    if why := extension_objection(extension, entry.request, deadline.expires, deadline.latest):
        raise EntryRefused("the deadline cannot be extended", why)
    _check_head(ledger, extension.head, entry, known, "the extension")


def _admit_decision(
    ledger: RequestLookup, entry: Entry, known: RequestStanding | None, decision: Decision | None
) -> None:
    if decision is None:
        raise EntryRefused("a decision needs its signed envelope", entry.request)
    statement, _ = decision
    advance(known.state if known else None, VERDICTS[statement.verdict])
    if statement.request != entry.request:
        raise EntryRefused("the decision was signed for another request", statement.request)
    try:
        late = is_late(statement.expires, entry.time)
    except ValueError:
        raise EntryRefused("the decision has no valid expiry", statement.expires) from None
    if late:
        raise EntryRefused("the decision has expired", f"at {statement.expires}", "Decide again.")
    _check_head(ledger, statement.head, entry, known, "the decision")


def _check_head(ledger: RequestLookup, head: str, entry: Entry, known: RequestStanding | None, what: str) -> None:
    """Refuses something signed over a head that is not in this ledger, or that is older than the request."""
    oldest = max(known.seq if known else 0, entry.seq - WINDOW + 1)
    if ledger.position(head, oldest, entry.seq) is None:
        raise EntryRefused(
            f"{what} was signed over a ledger head that is older than the request or unknown",
            head,
            "Sign over the head that came with the prompt.",
        )


def is_late(expires: str, time: str) -> bool:
    """Whether a decision had expired at the time of its entry. Raises ValueError if either is not a time."""
    return moment(time) - moment(expires) > LATE
