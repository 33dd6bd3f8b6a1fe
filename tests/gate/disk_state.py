"""What a gate left on disk: the requests in its ledger and the stored results."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.states import RequestState
from aileron_tui.gate.gate import LEDGER_FILE, OUTBOX_FILE
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.ledger.recorded_decision import decision_of
from aileron_tui.signing.recorded_signers import RecordedSigners

_STATES: Final = {
    EntryKind.REQUESTED: RequestState.PENDING,
    EntryKind.RUNNING: RequestState.RUNNING,
    EntryKind.EXECUTED: RequestState.EXECUTED,
    EntryKind.FAILED: RequestState.FAILED,
    EntryKind.EXPIRED: RequestState.EXPIRED,
    EntryKind.WITHDRAWN: RequestState.WITHDRAWN,
    EntryKind.INTERRUPTED: RequestState.INTERRUPTED,
}


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as recorded in the ledger. `repeats` is the earlier request that may have taken effect.

    `asked_again` is the request that the gate made when this one was interrupted.
    """

    id: str
    draft: str
    repeats: str
    state: RequestState
    kinds: tuple[str, ...]
    verdict: Verdict | None
    asked_again: str = ""


@dataclass(frozen=True, slots=True)
class DiskState:
    """All requests in the ledger, and the results stored for agents."""

    requests: dict[str, RecordedRequest] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)

    def repeats_of(self, id_: str) -> list[str]:
        """Returns the requests that the gate made because this one was interrupted."""
        asked_again = self.requests[id_].asked_again
        return [other.id for other in self.requests.values() if other.repeats == id_ and other.id == asked_again]

    def outcome(self, id_: str) -> RequestState:
        """Returns the state that a running request must get after a crash: by its stored result, else interrupted."""
        if id_ not in self.results:
            return RequestState.INTERRUPTED
        return RequestState.EXECUTED if self.results[id_]["status"] == "completed" else RequestState.FAILED


def checked_disk_state(data: Path) -> DiskState:
    """Reads the disk state; the ledger must be intact."""
    with open_reader(data / LEDGER_FILE) as reader:
        report = audit(reader, RecordedSigners())
        assert report.fault is None, f"the ledger is damaged: {report.fault}"
    return read_disk_state(data)


def read_disk_state(data: Path) -> DiskState:
    """Reads the disk state."""
    entries_by_request: dict[str, list[Entry]] = {}
    with open_reader(data / LEDGER_FILE) as reader:
        for entry in reader.entries():
            if entry.request and entry.body.get("gated") is not False:
                entries_by_request.setdefault(entry.request, []).append(entry)
    return DiskState(
        {id_: _recorded_request(id_, entries) for id_, entries in entries_by_request.items()},
        _stored_results(data / OUTBOX_FILE),
    )


def _recorded_request(id_: str, entries: list[Entry]) -> RecordedRequest:
    state, verdict = RequestState.PENDING, None
    for entry in entries:
        if found := decision_of(entry):
            verdict = found[0].verdict
            state = RequestState.DENIED if verdict is Verdict.DENY else RequestState.APPROVED
        state = next((state for kind, state in _STATES.items() if kind == entry.kind), state)
    body: Any = entries[0].body
    asked_again = next((str(entry.body["asked_again"]) for entry in entries if "asked_again" in entry.body), "")
    kinds = tuple(entry.kind for entry in entries)
    return RecordedRequest(id_, body["args"]["draft_id"], body.get("after", ""), state, kinds, verdict, asked_again)


def _stored_results(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    db = sqlite3.connect(path)
    try:
        return {id_: json.loads(body) for id_, body in db.execute("SELECT request, body FROM answers")}
    except sqlite3.OperationalError:  # the gate died before there was a table
        return {}
    finally:
        db.close()
