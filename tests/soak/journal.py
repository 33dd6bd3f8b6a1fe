"""Everything that the clients of a soak did, were told and measured."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from aileron_tui.core.decision import Verdict
from tests.soak.cases import Case

PENDING: Final = "call to pending"
RESULT: Final = "decision to result"
SEARCH: Final = "search in the history"

_MOST_VIOLATIONS: Final = 50


@dataclass
class Call:
    """One call of an agent. `marker` occurs in its inputs, so that it can be found at the operator and in the history.

    `may_decide` keeps the operator from answering too early.
    """

    marker: str
    case: Case
    agent: str
    began: float = 0.0
    id: str = ""
    verdicts: list[Verdict] = field(default_factory=list)
    decided_at: float = 0.0
    pending: threading.Event = field(default_factory=threading.Event)
    may_decide: threading.Event = field(default_factory=threading.Event)
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Latency:
    """One measured time, in seconds. `at` is the time since the beginning of the soak."""

    what: str
    at: float
    seconds: float


class Journal:
    """The record of a soak."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.calls: dict[str, Call] = {}
        self.latencies: list[Latency] = []
        self.counts: Counter[str] = Counter()
        self.violations: list[str] = []
        self.run_ids: Counter[str] = Counter()
        self._guard = threading.Lock()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.started

    def begin(self) -> None:
        """Starts the clock, once everything is ready."""
        self.started = time.monotonic()

    def add(self, call: Call) -> None:
        with self._guard:
            self.calls[call.marker] = call

    def count(self, what: str) -> None:
        with self._guard:
            self.counts[what] += 1

    def measured(self, what: str, began: float) -> None:
        """Notes how long something took; `began` is from `time.monotonic`."""
        now = time.monotonic()
        with self._guard:
            self.latencies.append(Latency(what, now - self.started, now - began))

    def ran(self, id_: str) -> None:
        """Notes the id of a run without approval."""
        with self._guard:
            self.run_ids[id_] += 1

    def violation(self, text: str) -> None:
        """Notes something that must not happen; a flood of them is cut off."""
        with self._guard:
            self.counts["violations"] += 1
            if len(self.violations) < _MOST_VIOLATIONS and text not in self.violations:
                self.violations.append(text)


def marker_of(args: object) -> str:
    """The marker in the inputs of a call, "" if there is none."""
    if not isinstance(args, Mapping):
        return ""
    text = args.get("draft_id") or args.get("subject") or args.get("command")
    return text.rpartition(" ")[2] if isinstance(text, str) else ""
