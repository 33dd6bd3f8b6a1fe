"""Runs one round: a gate at work, faults, recovery, and the checks."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Final

from aileron_tui.core.decision import Verdict
from aileron_tui.runtime.gate_client import ApproverClient
from tests.chaos.actors import (
    CALL_BOUND,
    GATED,
    UNGATED,
    AgentActor,
    AgentConnection,
    ApproverActor,
    NoAnswer,
    Stage,
    ask_once,
    call,
    decide,
    poll,
    waiting,
    with_client,
)
from tests.chaos.fault_plan import BY_SHIM, LEDGER, WINDOW, Fault, FaultKind, Plan
from tests.chaos.inner_faults import HITS, begin
from tests.chaos.invariants import check, read_history, still_running, verify
from tests.chaos.journal import Claim, Journal
from tests.chaos.lab import Lab, RunningGate, wait_for
from tests.chaos.shim import Descriptor
from tests.chaos.upstream import Reply

SERVE_SECONDS: Final = 5.0
SETTLE_SECONDS: Final = 20.0
STOP_SECONDS: Final = 10.0
BUSY_STOP_SECONDS: Final = 40.0
MORE_DESCRIPTORS: Final = 24
MORE_MEMORY: Final = 48 * 1024 * 1024


@dataclass
class RoundReport:
    """What happened in one round.

    `fired` are the faults that the gate could notice. `growth` is in descriptors and bytes.
    """

    seed: int
    plan: str
    kinds: list[str]
    fired: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    replies: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    effects: int = 0
    seconds: float = 0.0
    growth: tuple[int, int] = (0, 0)
    log: str = ""


class ChaosRound:
    """One round on a lab."""

    def __init__(self, lab: Lab, plan: Plan) -> None:
        self._lab = lab
        self._plan = plan
        self._random = random.Random(f"round {plan.seed}")
        self._gate = RunningGate(lab)
        self._journal = Journal()
        self._fired: set[FaultKind] = set()
        self._growth = (0, 0)
        self._stage = Stage(
            plan,
            self._journal,
            lab.upstream,
            lab.shim,
            lab.key,
            lab.data,
            lambda: self._gate.address,
            threading.Event(),
        )

    def run(self) -> RoundReport:
        """Runs the round; returns what happened."""
        began = time.monotonic()
        report = RoundReport(self._plan.seed, self._plan.describe(), sorted(self._plan.kinds))
        self._lab.clear(self._plan.timeout)
        try:
            self._run()
        except Exception:  # noqa: BLE001  # the other rounds go on
            self._violation(f"the round itself failed:\n{traceback.format_exc()}")
        finally:
            self._stage.closing.set()
            self._lab.shim.heal()
            self._gate.signal(signal.SIGCONT)
            self._gate.kill()
        report.violations = self._journal.violations
        report.replies = self._journal.replies
        report.fired, report.growth = sorted(self._fired), self._growth
        report.requests, report.effects = len(self._journal.accepted), self._lab.upstream.effects.total()
        report.log = self._lab.log() if report.violations else ""
        report.seconds = time.monotonic() - began
        return report

    def _run(self) -> None:
        if not self._gate.start():
            self._violation("the gate does not start")
            return
        self._warm_up()
        first, sizes = self._gate.process, [(self._gate.descriptors(), self._gate.memory())]
        for faults in self._plan.cycles:
            self._shake(faults)
            if self._plan.kinds & LEDGER:
                self._check_refusing()
                return
            self._check_serving()
            self._settle()
            if self._gate.process is first:
                sizes.append((self._gate.descriptors(), self._gate.memory()))
        self._check_growth(sizes)
        if not self._gate.terminate(STOP_SECONDS):
            self._violation(f"the gate did not end within {STOP_SECONDS:.0f} s of SIGTERM")
        elif left := self._lab.logs_left:
            self._violation(f"a clean stop left entries in {', '.join(left)}")
        self._check_records()

    def _shake(self, faults: Sequence[Fault]) -> None:
        """Lets agents and approvers work while the faults happen."""
        self._stage.closing.clear()
        actors: list[threading.Thread] = [
            *(AgentActor(self._stage, f"{self._plan.seed} {n}") for n in range(self._plan.agents)),
            *(ApproverActor(self._stage, f"{self._plan.seed} {n}") for n in range(self._plan.approvers)),
        ]
        for actor in actors:
            actor.start()
        self._play(faults)
        self._stage.closing.set()
        self._end_faults()
        for actor in actors:
            actor.join(CALL_BOUND + 10)
            if actor.is_alive():
                self._violation(f"a call of {actor.name} does not return")

    def _violation(self, text: str) -> None:
        self._journal.violation(text)

    def _warm_up(self) -> None:
        """Runs one call of each kind, so that everything is loaded."""
        with suppress(NoAnswer):
            ask_once(self._stage, "POST", f"/v1/actions/{UNGATED}/run", {"args": {}})

    # faults

    def _play(self, faults: Sequence[Fault]) -> None:
        events: list[tuple[float, Callable[[Fault], None], Fault]] = []
        for fault in faults:
            events.append((fault.at, self._begin, fault))
            events.append((fault.at + fault.seconds, self._end, fault))
        began = time.monotonic()
        for at, event, fault in sorted(events, key=lambda event: event[0]):
            time.sleep(max(0.0, began + at - time.monotonic()))
            due = time.monotonic()
            event(fault)
            began += time.monotonic() - due  # the start of a gate takes time, and the rest happens as long after it
        time.sleep(max(0.0, began + WINDOW - time.monotonic()))

    def _begin(self, fault: Fault) -> None:
        gate = self._gate
        match fault.kind:
            case FaultKind.KILLED:
                gate.signal(signal.SIGCONT)
                gate.kill()
                gate.start()
            case FaultKind.TERMINATED:
                gate.signal(signal.SIGCONT)
                if not gate.terminate(BUSY_STOP_SECONDS):
                    self._violation(f"the gate did not end within {BUSY_STOP_SECONDS:.0f} s of SIGTERM while busy")
                gate.start()
            case FaultKind.FROZEN:
                gate.signal(signal.SIGSTOP)
            case FaultKind.SECOND_GATE:
                self._start_second()
            case kind if kind in LEDGER:
                self._keep_copy()
            case FaultKind.UPSTREAM:
                self._lab.upstream.break_reads(f"reads {self._plan.seed}")
            case kind if kind in BY_SHIM:
                begin(self._lab.shim, fault)
                return
            case _:
                pass  # the agents act by themselves
        self._fired.add(fault.kind)

    def _end(self, fault: Fault) -> None:
        match fault.kind:
            case FaultKind.FROZEN:
                self._gate.signal(signal.SIGCONT)
            case kind if kind in LEDGER:
                self._replace_ledger(fault.kind)
            case FaultKind.NO_THREADS:
                self._lab.shim.refuse_threads(refused=False)
            case FaultKind.NO_DESCRIPTORS:
                self._lab.shim.refuse_descriptors(Descriptor(0))
            case FaultKind.CLOCK_FORWARD | FaultKind.CLOCK_BACK | FaultKind.SLEEP:
                pass  # the clocks stay as they are
            case FaultKind.FULL_DISK | FaultKind.READ_ONLY_DISK:
                if self._plan.kinds <= {fault.kind, FaultKind.UPSTREAM, FaultKind.DISCONNECTS}:
                    self._check_bad_disk()
                self._lab.shim.heal_files()
            case _:
                pass

    def _end_faults(self) -> None:
        """Ends everything that is still wrong, and starts the gate again if it was not started yet."""
        self._lab.shim.heal()
        self._lab.upstream.heal_reads()
        self._gate.signal(signal.SIGCONT)
        for kind, hits in HITS.items():
            if kind in self._plan.kinds and self._lab.shim.hits(*hits):
                self._fired.add(kind)
        if self._gate.process is not None and not self._gate.alive:
            self._violation("the gate ended by itself")
            self._gate.kill()
        if self._gate.process is None and not self._gate.start():
            self._violation("the gate does not start again")

    def _start_second(self) -> None:
        """Starts another gate on the same home, which must refuse to run."""
        if not self._gate.alive:
            return
        second = self._lab.start()
        try:
            if second.ready(CALL_BOUND) is not None and self._gate.alive:
                self._violation("a second gate runs on the same home")
        except AssertionError:
            self._violation("a second gate on the same home neither runs nor ends")
        finally:
            second.kill()

    def _keep_copy(self) -> None:
        with (
            closing(sqlite3.connect(self._lab.ledger)) as ledger,
            closing(sqlite3.connect(self._lab.home / "copy.db")) as copy,
        ):
            ledger.backup(copy)
        (self._lab.home / "copy.db").chmod(0o600)

    def _replace_ledger(self, kind: FaultKind) -> None:
        ledger, copy = self._lab.ledger, self._lab.home / "copy.db"
        if kind is FaultKind.LEDGER_UNLINKED:
            ledger.unlink()
        elif kind is FaultKind.LEDGER_REPLACED:
            copy.rename(ledger)
        else:
            with ledger.open("r+b") as file, copy.open("rb") as old:
                shutil.copyfileobj(old, file)
                file.truncate()
            with ledger.with_name(f"{ledger.name}-wal").open("r+b") as log:
                log.truncate()
        copy.unlink(missing_ok=True)
        self._journal.ledger_gone_at = self._lab.shim.elapsed()

    # checks

    def _check_bad_disk(self) -> None:
        """While nothing can be written, calls are refused and the health says why."""
        with suppress(NoAnswer):
            status, body = ask_once(self._stage, "POST", f"/v1/actions/{UNGATED}/run", {"args": {}})
            if status != 503:
                self._violation(f"a call on a bad disk gets {status} {body}")
            elif (health := ask_once(self._stage, "GET", "/v1/health"))[0] != 503:
                self._violation(f"the disk is bad, but the health is {health}")

    def _check_serving(self) -> None:
        """The gate serves agents and approvers again soon after the faults."""
        draft, problem = self._lab.upstream.new_draft(Reply.GOOD), ""

        def serves() -> bool:
            nonlocal problem
            try:
                status, body = ask_once(self._stage, "GET", "/v1/health")
                if status == 200:
                    status, body = ask_once(self._stage, "POST", f"/v1/actions/{UNGATED}/run", {"args": {}})
                if status != 200:
                    problem = f"{status} {body}"
                    return False
                connection = AgentConnection(self._stage)
                try:
                    accepted = call(self._stage, connection, draft)
                finally:
                    connection.close()
            except NoAnswer as lost:
                problem = f"no answer: {lost}"
                return False
            problem = f"a gated call: {accepted}; or no approver"
            return accepted is not Claim.NONE and accepted is not Claim.NOTHING and self._approve(lambda _: None)

        if not wait_for(serves, SERVE_SECONDS):
            self._violation(f"the gate does not serve {SERVE_SECONDS:.0f} s after the faults ended: {problem}")

    def _approve(self, work: Callable[[ApproverClient], None]) -> bool:
        def look(client: ApproverClient) -> None:
            waiting(self._stage, client)
            work(client)

        return with_client(self._stage, look)

    def _settle(self) -> None:
        """Answers everything that waits; every accepted request must end, and its agent must be told."""

        def decide_all(client: ApproverClient) -> None:
            for request in waiting(self._stage, client):
                if not request.fetching:
                    verdict = Verdict.APPROVE if self._random.random() < 0.5 else Verdict.DENY
                    decide(self._stage, client, request, verdict)

        def settled() -> bool:
            left = 1

            def count(client: ApproverClient) -> None:
                nonlocal left
                decide_all(client)
                left = len(waiting(self._stage, client))

            with_client(self._stage, count)
            with suppress(NoAnswer):
                connection = AgentConnection(self._stage)
                try:
                    for id_, draft in self._journal.open.items():
                        poll(self._stage, connection, id_, draft)
                finally:
                    connection.close()
            return not left and not self._journal.open

        if not wait_for(settled, SETTLE_SECONDS):
            for id_ in self._journal.open:
                text = next((said.text for said in reversed(self._journal.statements) if said.id == id_), "")
                self._violation(f"{id_} did not end after the faults; the last reply was {text}")
            if not self._journal.open:
                self._violation("requests keep waiting although they are answered")

    def _check_growth(self, sizes: list[tuple[int, int]]) -> None:
        """Checks the descriptors and the memory of a gate that survived everything, by its sizes after each cycle."""
        (descriptors, memory), (last_descriptors, last_memory) = sizes[len(sizes) // 4], sizes[-1]
        if last_descriptors > descriptors + MORE_DESCRIPTORS:
            self._violation(f"the gate has {last_descriptors} open descriptors, {descriptors} before the faults")
        if last_memory > memory + MORE_MEMORY:
            self._violation(f"the gate needs {last_memory >> 20} MiB, {memory >> 20} MiB before the faults")
        self._growth = (last_descriptors - descriptors, last_memory - memory) if len(sizes) > 1 else (0, 0)

    def _check_refusing(self) -> None:
        """After the ledger was exchanged: the gate does nothing more, says so, and ends on SIGTERM."""
        draft, answers = self._lab.upstream.new_draft(Reply.GOOD), []
        for action, args in ((UNGATED, {}), (GATED, {"draft_id": draft})):
            with suppress(NoAnswer):
                answers.append(ask_once(self._stage, "POST", f"/v1/actions/{action}/run", {"args": args})[0])
        if accepted := [status for status in answers if status < 400]:
            self._violation(f"the gate accepts calls without its ledger: {accepted}")

        def says_so() -> bool:
            with suppress(NoAnswer):
                return ask_once(self._stage, "GET", "/v1/health")[0] == 503
            return False

        if not wait_for(says_so, SERVE_SECONDS):
            self._violation("the gate lost its ledger, but its health is good")
        for id_, made in self._journal.decisions.items():
            gone = self._journal.ledger_gone_at
            if any(one.reply == "accepted" and gone is not None and one.sent_at > gone for one in made):
                self._violation(f"{id_}: a decision was accepted without the ledger")
        if not self._gate.terminate(BUSY_STOP_SECONDS):
            self._violation("the gate without its ledger did not end on SIGTERM")

    def _check_records(self) -> None:
        if fault := verify(self._lab.home):
            self._violation(f"history verify: {fault}")
            return
        history = read_history(self._lab.ledger)
        for violation in check(self._journal, history, self._lab.upstream, self._plan.timeout):
            self._violation(violation)
        for violation in still_running(self._lab.ledger):
            self._violation(violation)
