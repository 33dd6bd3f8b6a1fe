"""What must hold after a round: compares the history, the service and what the clients were told."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aileron_tui.cli import main as command
from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.states import RequestState
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.ledger.recorded_decision import decision_of
from tests.chaos.journal import Claim, Journal, Statement
from tests.chaos.upstream import ChaosUpstream

GRACE: Final = 0.3
"""Seconds by which a decision may come after the deadline that the harness computes, which is a little late itself."""

_MAY_HAVE_RUN: Final = frozenset({RequestState.INTERRUPTED, RequestState.UNKNOWN})
_CLAIMS: Final = {
    RequestState.EXECUTED: Claim.DONE,
    RequestState.FAILED: Claim.FAILED,
    RequestState.DENIED: Claim.NOTHING,
    RequestState.EXPIRED: Claim.NOTHING,
    RequestState.WITHDRAWN: Claim.NOTHING,
    RequestState.INTERRUPTED: Claim.UNKNOWN,
    RequestState.UNKNOWN: Claim.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class PastRequest:
    """A request as the history has it. `after` is the interrupted request for which the gate made it."""

    id: str
    draft: str
    after: str
    state: RequestState
    kinds: tuple[str, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def started(self) -> bool:
        return EntryKind.RUNNING in self.kinds


def read_history(ledger: Path) -> dict[str, PastRequest]:
    """Reads all gated requests."""
    entries: dict[str, list[Any]] = {}
    found: dict[str, PastRequest] = {}
    with open_reader(ledger) as reader:
        for entry in reader.entries():
            if entry.request and not entry.request.startswith("run-"):
                entries.setdefault(entry.request, []).append(entry)
        interrupted = {
            str(entry.body["asked_again"]): id_
            for id_, of_request in entries.items()
            for entry in of_request
            if "asked_again" in entry.body
        }
        for id_, of_request in entries.items():
            record = reader.find(id_)
            assert record is not None, id_
            body = of_request[0].body
            verdicts = tuple(made[0].verdict for entry in of_request if (made := decision_of(entry)))
            kinds = tuple(entry.kind for entry in of_request)
            state = RequestState(record.outcome)
            found[id_] = PastRequest(
                id_, str(body["args"]["draft_id"]), interrupted.get(id_, ""), state, kinds, verdicts
            )
    return found


def verify(home: Path) -> str:
    """Runs `history verify`; returns "" or what it found."""
    output = io.StringIO()
    before = os.environ.get("AILERON_TUI_HOME")
    os.environ["AILERON_TUI_HOME"] = str(home)
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code = command(["history", "verify"])
    finally:
        if before is None:
            del os.environ["AILERON_TUI_HOME"]
        else:
            os.environ["AILERON_TUI_HOME"] = before
    return "" if code == 0 else output.getvalue().strip()


def check(journal: Journal, history: dict[str, PastRequest], upstream: ChaosUpstream, timeout: int) -> Iterator[str]:
    """Yields every violation."""
    yield from _accepted_once(journal, history)
    yield from _effects(journal, history, upstream)
    for request in history.values():
        yield from _decisions(journal, request, timeout)
        if not request.state.final:
            yield f"{request.id} is still {request.state} after everything was answered"
    for statement in journal.statements:
        yield from _true(statement, history, upstream)
    for id_, claim in journal.ended.items():
        found = history.get(id_)
        if found and found.state.final and _CLAIMS[found.state] is not claim:
            yield f"{id_} is {found.state} in the history, but the agent was told {claim!r}"


def still_running(ledger: Path) -> Iterator[str]:
    """Yields everything that the history shows as under way, also calls that needed no approval."""
    with open_reader(ledger) as reader:
        for record in reader.every(HistoryFilter(outcomes=(RequestState.APPROVED, RequestState.RUNNING))):
            yield f"{record.id} is still {record.outcome} in the history"


def _accepted_once(journal: Journal, history: dict[str, PastRequest]) -> Iterator[str]:
    for id_, draft in journal.accepted.items():
        if id_ not in history:
            yield f"{id_} was accepted and is not in the history"
        elif history[id_].kinds.count(EntryKind.REQUESTED) != 1 or history[id_].draft != draft:
            yield f"{id_} was accepted once, but its history is {history[id_].kinds}"


def _effects(journal: Journal, history: dict[str, PastRequest], upstream: ChaosUpstream) -> Iterator[str]:
    """Nothing ran that was not started by an approval, nothing ran twice, and what is known about the end is true."""
    by_draft: dict[str, list[PastRequest]] = {draft: [] for draft in upstream.arrived}
    for request in history.values():
        by_draft.setdefault(request.draft, []).append(request)
    for draft, requests in by_draft.items():
        arrived, effects = upstream.arrived[draft], upstream.effects[draft]
        approved = sum(
            any(made.verdict is Verdict.APPROVE for made in journal.decisions.get(request.id, ()))
            for request in requests
        )
        started = sum(request.started for request in requests)
        executed = sum(request.state is RequestState.EXECUTED for request in requests)
        unknown = sum(request.state in _MAY_HAVE_RUN or request.state is RequestState.RUNNING for request in requests)
        states = ", ".join(f"{request.id} {request.state}" for request in requests)
        if arrived > min(approved, started):
            yield f"{draft} was sent {arrived} times, with {approved} approved and {started} started: {states}"
        if not executed <= effects <= executed + unknown:
            yield f"{draft} took effect {effects} times ({upstream.replies.get(draft)}), but the history says: {states}"


def _decisions(journal: Journal, request: PastRequest, timeout: int) -> Iterator[str]:
    made = journal.decisions.get(request.id, [])
    for decision in made:
        if decision.reply == "accepted" and decision.verdict not in request.verdicts:
            yield f"{request.id}: {decision.verdict} was accepted, but the history has {request.verdicts}"
    if len(request.verdicts) > 1:
        yield f"{request.id} was decided twice: {request.verdicts}"
    if not request.started:
        return
    approvals = [decision for decision in made if decision.verdict is Verdict.APPROVE]
    possible = [decision for decision in approvals if decision.reply != "not_recorded"]
    if approvals and not possible:
        yield f"{request.id} was started, but every approver was told that nothing was done"
    seen = journal.seen_at.get(request.id)
    if possible and seen is not None and min(decision.sent_at for decision in possible) > seen + timeout + GRACE:
        late = min(decision.sent_at for decision in possible) - seen - timeout
        yield f"{request.id} was started by an approval {late:.1f} s after its deadline"


def _true(statement: Statement, history: dict[str, PastRequest], upstream: ChaosUpstream) -> Iterator[str]:
    """Checks one thing that an agent was told."""
    effects = upstream.effects[statement.draft]
    if statement.id:
        requests = [history[statement.id]] if statement.id in history else []
    else:
        requests = [request for request in history.values() if request.draft == statement.draft and not request.after]
    if len(requests) > 1:
        return  # the agent repeated its call, and the reply does not say which request it is about
    started = any(request.started for request in requests)
    match statement.claim:
        case Claim.DONE if not effects:
            yield f"{statement.draft}: the agent was told it was done, but it was not: {statement.text}"
        case Claim.NOTHING if started or (not requests and effects):
            yield f"{statement.draft}: the agent was told that nothing was done, but it was started: {statement.text}"
        case Claim.FAILED if effects and sum(r.started for r in history.values() if r.draft == statement.draft) == 1:
            yield f"{statement.draft}: the agent was told that it failed, but it was done: {statement.text}"
        case _:
            return
