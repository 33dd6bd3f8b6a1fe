"""Those who know better than the gate what happened: the sample service it calls, and the files it leaves."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Entry, EntryKind
from aileron_tui.core.states import RequestState
from aileron_tui.demo.sample_service import SampleService
from aileron_tui.demo.service_routes import ServiceRequest, ServiceResponse
from aileron_tui.gate.gate import LEDGER_FILE, OUTBOX_FILE
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.recorded_decision import decision_of
from aileron_tui.ledger.store import open_reader
from aileron_tui.signing.recorded_signers import RecordedSigners

LONGEST_HOLD: Final = 30.0

_STATES: Final = {
    EntryKind.REQUESTED: RequestState.PENDING,
    EntryKind.RUNNING: RequestState.RUNNING,
    EntryKind.EXECUTED: RequestState.EXECUTED,
    EntryKind.FAILED: RequestState.FAILED,
    EntryKind.EXPIRED: RequestState.EXPIRED,
    EntryKind.WITHDRAWN: RequestState.WITHDRAWN,
    EntryKind.INTERRUPTED: RequestState.INTERRUPTED,
}


class CountedService(SampleService):
    """Counts the sends that arrive for each draft, and can hold the next call of a method open."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived: Counter[str] = Counter()
        self.reached = threading.Event()
        self._hold: tuple[str, bool] | None = None
        self._count = threading.Lock()
        self._release = threading.Event()

    def hold(self, method: str, *, done: bool) -> None:
        """Holds the next such call, before it has its effect or, if `done`, after."""
        self.reached.clear()
        self._release.clear()
        self._hold = method, done

    def release(self) -> None:
        """Lets what is held go on, and holds nothing more."""
        self._hold = None
        self._release.set()

    def serve(self, request: ServiceRequest, target: str, credentials: dict[str, str]) -> ServiceResponse | None:
        """Serves, and counts each send as it arrives, whatever becomes of it."""
        if request.segments[-1] == "send":
            with self._count:
                self.arrived[json.loads(request.body)["id"]] += 1
        method, done = self._hold or ("", False)
        if method != request.method:
            return super().serve(request, target, credentials)
        answer = super().serve(request, target, credentials) if done else None
        self.reached.set()
        self._release.wait(LONGEST_HOLD)
        return answer if done else super().serve(request, target, credentials)


@dataclass(frozen=True, slots=True)
class Fact:
    """A request as the entries of the ledger tell it. `after` is the interrupted one for which it asks again."""

    id: str
    draft: str
    after: str
    state: RequestState
    kinds: tuple[str, ...]
    verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class Memory:
    """What lies on the disk: every request, and the answers that are kept for agents."""

    facts: dict[str, Fact] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)

    def again(self, id_: str) -> list[str]:
        """The requests that ask again for an interrupted one."""
        return [fact.id for fact in self.facts.values() if fact.after == id_]

    def outcome(self, id_: str) -> RequestState:
        """What becomes of a request that ran when the gate died: what its kept answer says, else nobody knows."""
        if id_ not in self.kept:
            return RequestState.INTERRUPTED
        return RequestState.EXECUTED if self.kept[id_]["status"] == "completed" else RequestState.FAILED


def audited(data: Path) -> Memory:
    """What the disk says; the ledger must be whole."""
    with open_reader(data / LEDGER_FILE) as reader:
        report = audit(reader, RecordedSigners())
        assert report.fault is None, f"the ledger is damaged: {report.fault}"
    return remembered(data)


def remembered(data: Path) -> Memory:
    """What the disk says."""
    made: dict[str, list[Entry]] = {}
    with open_reader(data / LEDGER_FILE) as reader:
        for entry in reader.entries():
            if entry.request:
                made.setdefault(entry.request, []).append(entry)
    return Memory({id_: _fact(id_, entries) for id_, entries in made.items()}, _kept(data / OUTBOX_FILE))


def _fact(id_: str, entries: list[Entry]) -> Fact:
    state, verdict = RequestState.PENDING, None
    for entry in entries:
        if found := decision_of(entry):
            verdict = found[0].verdict
            state = RequestState.DENIED if verdict is Verdict.DENY else RequestState.APPROVED
        state = next((state for kind, state in _STATES.items() if kind == entry.kind), state)
    made: Any = entries[0].body
    return Fact(
        id_, made["args"]["draft_id"], made.get("after", ""), state, tuple(entry.kind for entry in entries), verdict
    )


def _kept(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    db = sqlite3.connect(path)
    try:
        return {id_: json.loads(body) for id_, body in db.execute("SELECT request, body FROM answers")}
    except sqlite3.OperationalError:  # the gate died before there was a table
        return {}
    finally:
        db.close()
