"""What must hold after a soak: compares the history, the service and what the clients did and were told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.states import RequestState
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.ledger.recorded_decision import decision_of
from tests.soak.agents import DENIED_FILE, RULED_FILE
from tests.soak.cases import NOT_ASKED, RULED, SENDS, Case, expected_state
from tests.soak.journal import Call, Journal, marker_of
from tests.soak.lab import RULED_AGENT

_STARTED = frozenset({EntryKind.RUNNING, EntryKind.HANDED_OVER})


@dataclass(frozen=True, slots=True)
class PastRequest:
    """A request as the history has it."""

    id: str
    action: str
    agent: str
    marker: str
    state: RequestState
    kinds: tuple[str, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def started(self) -> bool:
        return any(kind in _STARTED for kind in self.kinds)

    @property
    def ruled(self) -> bool:
        return EntryKind.RULED in self.kinds


def read_history(ledger: Path) -> list[PastRequest]:
    """Reads all requests, and the runs without approval."""
    entries: dict[str, list[Any]] = {}
    with open_reader(ledger) as reader:
        for entry in reader.entries():
            if entry.request:
                entries.setdefault(entry.request, []).append(entry)
        return [
            _run(id_, of_request) if id_.startswith("run-") else _past(id_, of_request, reader.find(id_))
            for id_, of_request in entries.items()
        ]


def _run(id_: str, entries: list[Any]) -> PastRequest:
    """A run without approval, which has only entries."""
    kinds = tuple(entry.kind for entry in entries)
    ends = {EntryKind.EXECUTED: RequestState.EXECUTED, EntryKind.FAILED: RequestState.FAILED}
    state = next((ends[EntryKind(kind)] for kind in kinds if kind in ends), RequestState.RUNNING)
    return PastRequest(id_, "", "", "", state, kinds, ())


def _past(id_: str, entries: list[Any], record: Any) -> PastRequest:
    assert record is not None, id_
    verdicts = tuple(made[0].verdict for entry in entries if (made := decision_of(entry)))
    kinds = tuple(entry.kind for entry in entries)
    marker = marker_of(entries[0].body.get("args"))
    return PastRequest(id_, record.action, record.agent, marker, RequestState(record.outcome), kinds, verdicts)


def check_history(journal: Journal, history: list[PastRequest]) -> Iterator[str]:
    """Every call is in the history exactly once, ended as it must, and was decided at most once."""
    by_marker: dict[str, list[PastRequest]] = {}
    for request in history:
        by_marker.setdefault(request.marker, []).append(request)
        if not request.state.final:
            yield f"{request.id} is still {request.state}"
        if len(request.verdicts) > 1:
            yield f"{request.id} was decided {len(request.verdicts)} times"
    for call in journal.calls.values():
        if call.case not in NOT_ASKED:
            yield from _check_call(call, by_marker.pop(call.marker, []))
    yield from _check_rest(journal, [request for requests in by_marker.values() for request in requests])


def _check_call(call: Call, requests: list[PastRequest]) -> Iterator[str]:
    if not call.began:
        if requests:
            yield f"{call.marker} was never called, but it is in the history"
        return
    if len(requests) != 1:
        yield f"{call.marker} ({call.case}) is in the history {len(requests)} times"
        return
    (request,) = requests
    if request.kinds.count(EntryKind.REQUESTED) != 1 or (call.id and call.id != request.id):
        yield f"{call.marker} was accepted as {call.id}, but the history has {request.id}: {request.kinds}"
    if request.state is not expected_state(call.case):
        yield f"{request.id} ({call.case}) is {request.state}"
    if request.started and (Verdict.APPROVE not in call.verdicts or request.verdicts != (Verdict.APPROVE,)):
        yield f"{request.id} ({call.case}) was started without an approval: {request.kinds}"


def _check_rest(journal: Journal, requests: list[PastRequest]) -> Iterator[str]:
    """Checks the runs without approval, and what rules answered."""
    runs = [request for request in requests if request.id.startswith("run-")]
    if sorted(request.id for request in runs) != sorted(journal.run_ids.elements()):
        yield f"{len(runs)} runs without approval are in the history, but {journal.run_ids.total()} were reported"
    answered = [request for request in requests if request.ruled]
    for case in RULED:
        made = sum(call.case is case and bool(call.began) for call in journal.calls.values())
        found = sum(request.state is expected_state(case) for request in answered)
        if made != found:
            yield f"{made} calls were {case}, but the history has {found}"
    for request in requests:
        if request.ruled or request in runs:
            continue
        if request.agent != RULED_AGENT or request.started:  # the request that a rule was made from was denied
            yield f"{request.id} of {request.agent} is in the history, but nobody called {request.action}"


def check_effects(journal: Journal, effects: dict[str, int]) -> Iterator[str]:
    """Everything that was approved took effect exactly once at the service, and nothing else did."""
    expected = {call.marker: int(call.case in SENDS) for call in journal.calls.values() if call.ended}
    allowed = sum(call.case is Case.RULE_ALLOWED and bool(call.ended) for call in journal.calls.values())
    expected |= {f"PATCH {RULED_FILE}": allowed, f"DELETE {DENIED_FILE}": 0}
    for what, count in effects.items():
        if what not in expected:
            yield f"{what} took effect {count} times, but nobody asked for it or was told how it ended"
    for what, count in expected.items():
        if effects.get(what, 0) != count:
            yield f"{what} took effect {effects.get(what, 0)} times instead of {count}"
