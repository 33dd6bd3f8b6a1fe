"""Runs a soak: starts everything, makes calls at a steady rate, stops, and checks."""

from __future__ import annotations

import math
import queue
import random
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aileron_tui.core.request import Request
from tests.chaos.invariants import verify
from tests.soak.agents import LARGE_TEXT, WAIT, AgentWorker, Connection
from tests.soak.cases import NOT_ASKED, RULED, TOOLS, Case, shuffled_cases
from tests.soak.console import SoakConsole
from tests.soak.invariants import check_effects, check_history, read_history
from tests.soak.journal import Call, Journal
from tests.soak.lab import RULED_AGENT, SoakLab, soak_lab
from tests.soak.operators import Decider, HealthProbe, Historian, Operator, Person, Watcher, make_rules
from tests.soak.report import SoakReport, make_report
from tests.soak.samples import Sampler

ASKS_OF_AN_AGENT: Final = 500
"""How often an agent asks in 10 minutes; the gate's default limit is 600."""

LEAVE_SECONDS: Final = 20.0
"""How long people may take to leave: who watches notices it at the next heartbeat, every 15 seconds."""

MOST_CALLS: Final = 1_000_000
_WORKERS: Final = 32
_DECIDERS: Final = 3
_BACKLOG: Final = 64


@dataclass(frozen=True, slots=True)
class SoakSize:
    """How long and how hard. `timeout` is how long a request waits for an answer."""

    minutes: float = 45.0
    rate: float = 4.0
    timeout: int = 20
    sample_seconds: float = 15.0
    console: bool = True

    @property
    def calls(self) -> int:
        return min(MOST_CALLS, max(1, round(self.minutes * 60 * self.rate)))

    @property
    def agents(self) -> int:
        return max(6, math.ceil(self.rate * 600 / ASKS_OF_AN_AGENT))


class Soak:
    """One soak in a lab. `interrupted` may be set at any time to end it early."""

    def __init__(self, lab: SoakLab, size: SoakSize, say: Callable[[str], None], interrupted: threading.Event) -> None:
        self._lab = lab
        self._size = size
        self._say = say
        self._interrupted = interrupted
        self._journal = Journal()
        self._calls: queue.Queue[Call | None] = queue.Queue(_BACKLOG)
        self._requests: queue.Queue[tuple[Call, Request]] = queue.Queue()
        self._closing = threading.Event()
        self._workers = [AgentWorker(lab, self._journal, self._calls, number) for number in range(_WORKERS)]

    def run(self) -> SoakReport:
        """Runs the soak; returns what was measured and checked."""
        lab, journal, size = self._lab, self._journal, self._size
        checks: dict[str, list[str]] = {}
        with ExitStack() as stack:
            stack.callback(self._closing.set)
            make_rules(lab)
            self._warm_up()
            lab.service.effects.clear()
            console = SoakConsole(lab) if size.console else None
            if console:
                stack.callback(console.end)
                console.start()
                checks["the console connects"] = [] if console.wait_until_connected() else ["it does not connect"]
            people = self._people()
            sampler = Sampler(
                lab.process.pid,
                console.process.pid if console else None,
                lab.ledger,
                lambda: journal.elapsed,
                size.sample_seconds,
            )
            journal.begin()
            for thread in (*people, *self._workers, sampler):
                thread.start()
            self._make_calls()
            seconds = journal.elapsed
            sampler.stop()
            checks["every call returns"] = self._settle()
            if console:
                checks["the console runs to the end"] = [] if console.alive else ["the console ended"]
            checks["the gate runs to the end"] = [] if lab.process.poll() is None else [f"it ended:\n{lab.log()}"]
            self._closing.set()
            for person in people:
                person.join(LEAVE_SECONDS)
        code = lab.stop()
        checks["the gate stops on SIGTERM"] = [] if code == 0 else [f"exit code {code}:\n{lab.log()}"]
        self._check(checks)
        return make_report(
            journal,
            sampler.samples,
            planned_minutes=size.minutes,
            rate=size.rate,
            seconds=seconds,
            interrupted=self._interrupted.is_set(),
            checks=checks,
        )

    def _warm_up(self) -> None:
        """Makes one call to the connector that the rules do not use, so that both are loaded."""
        with Connection(self._lab, RULED_AGENT) as connection:
            status, reply = connection.ask("POST", "/v1/actions/list-drafts/run", {"args": {}})
        assert status == 200, reply
        self._journal.ran(str(reply["audit_id"]).removeprefix("audit-"))

    def _people(self) -> list[Person]:
        common = self._lab, self._journal, self._closing
        deciders = [Decider(*common, self._requests) for _ in range(_DECIDERS)]
        operator = Operator(*common, lambda call, request: self._requests.put((call, request)))
        return [operator, *deciders, Watcher(*common), Historian(*common), HealthProbe(*common)]

    def _make_calls(self) -> None:
        """Hands out the calls at a steady rate; waits if the agents cannot keep up."""
        random_ = random.Random("soak")
        cases, agents = shuffled_cases(random_), sorted(set(self._lab.tokens) - {RULED_AGENT})
        minute = 0
        for number in range(self._size.calls):
            due = number / self._size.rate - self._journal.elapsed
            if self._interrupted.wait(max(0.0, due)):
                return
            call = self._new_call(number, next(cases), agents[number % len(agents)])
            self._journal.add(call)
            while True:
                try:
                    self._calls.put(call, timeout=0.5)
                    break
                except queue.Full:
                    if self._interrupted.is_set():
                        return
            if self._journal.elapsed // 60 > minute:
                minute = int(self._journal.elapsed // 60)
                self._say(f"{number + 1} calls, {self._journal.counts['violations']} violations")

    def _new_call(self, number: int, case: Case, agent: str) -> Call:
        if case in NOT_ASKED:
            return Call(f"n-{number}", case, RULED_AGENT if case in RULED else agent)
        if case in TOOLS or case is Case.LARGE_CALL:
            return Call(f"soak-{number}", case, agent)
        text = "A line of the draft, as long as lines are.\n"
        text *= LARGE_TEXT // len(text) if case is Case.LARGE_PREVIEW else 3
        return Call(self._lab.service.new_draft(text), case, agent)

    def _settle(self) -> list[str]:
        """Lets all agents finish what they have begun."""
        for _ in self._workers:
            self._calls.put(None)
        deadline = time.monotonic() + self._lab.timeout + 2 * WAIT
        for worker in self._workers:
            worker.join(max(0.0, deadline - time.monotonic()))
        stuck = [call.marker for call in self._journal.calls.values() if call.began and not call.ended]
        # Those that failed are violations of their own; here are only those that never returned.
        return [f"{call} did not return" for call in stuck if any(worker.is_alive() for worker in self._workers)]

    def _check(self, checks: dict[str, list[str]]) -> None:
        journal, lab = self._journal, self._lab
        fault = verify(lab.home)
        checks["history verify passes"] = [fault] if fault else []
        history = read_history(lab.ledger)
        checks["every accepted call is in the history exactly once, and ended as it must"] = list(
            check_history(journal, history)
        )
        checks["what was approved took effect exactly once, and nothing else did"] = list(
            check_effects(journal, dict(lab.service.effects))
        )
        checks["every reply is as expected, and the health is 200 the whole time"] = journal.violations


def run_soak(
    root: Path,
    size: SoakSize,
    *,
    cache: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
    interrupted: threading.Event | None = None,
) -> SoakReport:
    """Runs a soak in a folder."""
    with soak_lab(root, cache, timeout=size.timeout, agents=size.agents) as lab:
        return Soak(lab, size, say, interrupted or threading.Event()).run()
