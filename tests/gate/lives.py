"""One data folder over many lives of a gate, each ended by `kill -9`, and what must hold between and after them."""

from __future__ import annotations

import base64
import json
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.core.states import RequestState
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.ledger.store import open_ledger
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from tests.gate.process import PATIENCE, Agent, Approver, Caller, Dead, Nursery, Place, Process
from tests.gate.witness import CountedService, Fact, Memory, audited, remembered

ACTION: Final = "send-draft"
ENVIRONMENT: Final = {"LIVES_MAIL": MAIL_CREDENTIAL, "LIVES_FILES": FILES_CREDENTIAL}
CONFIG: Final = """
[policy]
timeout = {timeout}
[connectors."local://aileron/mail".credential]
env = "LIVES_MAIL"
[connectors."local://aileron/files".credential]
env = "LIVES_FILES"
"""

_TOLD: Final = {
    RequestState.EXECUTED: ("completed", ""),
    RequestState.DENIED: ("denied", ""),
    RequestState.EXPIRED: ("failed", "approval_timeout"),
    RequestState.WITHDRAWN: ("failed", "withdrawn"),
    RequestState.INTERRUPTED: ("failed", "outcome_unknown"),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """How one life goes: what the approver says, where it ends, and what the next life must find.

    `kill` is a point of the gate's own death, `hold` a method at which the service holds the call while the gate is
    killed, `delay` the seconds after which it is killed whatever it does; with none of them it is killed when all is
    done. If `leaves`, the agent waits on an open connection and hangs up. A `found` of None: the request never was.
    """

    name: str
    kill: str = ""
    hold: str = ""
    done: bool = False
    delay: float = 0.0
    verdict: Verdict | None = Verdict.APPROVE
    leaves: bool = False
    timeout: int = 300
    found: RequestState | None = None


@dataclass
class Told:
    """Everything the gate ever answered, and what was asked of it."""

    accepted: dict[str, str] = field(default_factory=dict)
    approving: set[str] = field(default_factory=set)
    decided: dict[str, Verdict] = field(default_factory=dict)
    ended: dict[str, Any] = field(default_factory=dict)
    collected: Counter[str] = field(default_factory=Counter)

    @property
    def open(self) -> dict[str, str]:
        """The accepted requests whose end no agent has seen, with their drafts."""
        return {id_: draft for id_, draft in self.accepted.items() if id_ not in self.ended}


class World:
    """One sample service, one key, and one gate after another on the same folder."""

    def __init__(self, root: Path, service: CountedService, nursery: Nursery, key: UnlockedKey) -> None:
        self.service = service
        self.home = root / "home"
        self.key = key
        self.lives = 0
        self.ends: Counter[str] = Counter()
        self._manifests = materialise(root / "manifests", service.port)
        self._nursery = nursery
        self._callers: list[Caller] = []
        self.clear()

    @property
    def data(self) -> Path:
        return self.home / "data"

    def clear(self) -> None:
        """Begins with a new folder; only the compiled connectors stay."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.home.mkdir(0o700, exist_ok=True)
        (self.home / "log").unlink(missing_ok=True)
        with open_ledger(self.data / LEDGER_FILE, role="test") as ledger:
            ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("tester", self.key.public))
        self.told = Told()
        self.memory = Memory()

    def draft(self) -> str:
        """A new draft to be sent."""
        text = f"To: team@example.com\r\nSubject: {time.monotonic_ns()}\r\n\r\nText"
        return str(self.service.mailbox.create_draft(base64.urlsafe_b64encode(text.encode()).decode())["id"])

    # lives

    @contextmanager
    def gate(self, plan: Plan) -> Iterator[Process]:
        """One life of the gate, which ends by `kill -9` at the latest here. Then everything is checked."""
        config = self.home / "config.toml"
        config.write_text(CONFIG.format(timeout=plan.timeout), "utf-8")
        config.chmod(0o600)
        if plan.hold:
            self.service.hold(plan.hold, done=plan.done)
        self.lives += 1
        process = self._nursery.start(self.home, self._manifests, plan.kill)
        spare = _killing(process, plan, self.service)
        try:
            with suppress(Dead):
                yield process
        finally:
            spare()
            process.kill()
            self.service.release()
            while self._callers:
                self._callers.pop().hang_up()
        before, self.memory = self.memory, audited(self.data)
        self.check(before)

    def live(self, plan: Plan, flow: Callable[[Place], None]) -> bool:
        """One life: what the last one left is put right, then something happens. Whether the end came before that."""
        before, whole = self.memory, False
        with self.gate(plan) as process:
            place = process.ready()
            if place is not None:
                self.check_recovered(before, place)
                flow(place)
                whole = True
            elif not plan.kill and not plan.delay:
                raise AssertionError(f"the gate does not start:\n{self.log()}")
        return not whole

    def log(self) -> str:
        """The last words of the gates."""
        return "\n".join((self.home / "log").read_text("utf-8").splitlines()[-12:])

    def step(self, plan: Plan) -> None:
        """A named step: the gate dies exactly there, and the next one finds the request as it must."""
        draft = self.draft()
        early = self.live(plan, lambda place: self.see(place, draft, plan))
        assert early == bool(plan.kill or plan.hold), f"the gate did not die {plan.name}"
        self.found(draft, plan.found)

    def twice(self, first: str, second: str, found: RequestState) -> None:
        """Two deaths in a row, the second while the gate puts things right after the first."""
        draft = self.draft()
        plan = Plan(first, kill=first)
        assert self.live(plan, lambda place: self.see(place, draft, plan)), f"the gate did not die {first}"
        assert self.live(Plan(second, kill=second), self._outlive), f"the gate did not die {second}"
        self.found(draft, found)

    def _outlive(self, place: Place) -> None:
        """Waits for a death that is near."""
        agent = self.agent(place)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            agent.ask("GET", "/v1/health")
            time.sleep(0.005)

    def found(self, draft: str, state: RequestState | None) -> None:
        """The next life finds the request of a draft in this state; everything then comes to its end."""

        def look(place: Place) -> None:
            facts = [fact for fact in remembered(self.data).facts.values() if fact.draft == draft and not fact.after]
            if state is RequestState.EXPIRED:
                until(lambda: remembered(self.data).facts[facts[0].id].state is state)
            else:
                states = [fact.state for fact in facts]
                assert states == ([state] if state else []), f"{draft} should be {state}, is {states}"
            self.see_through(place)

        self.live(Plan("the next life"), look)

    # what agents and the approver do

    def agent(self, place: Place) -> Agent:
        """The agent, who hangs up at the end of the gate's life."""
        agent = Agent(place, "agent")
        self._callers.append(agent)
        return agent

    def approver(self, place: Place) -> Approver:
        """The approver, who hangs up at the end of the gate's life."""
        approver = Approver(place, self.key)
        self._callers.append(approver)
        return approver

    def see(self, place: Place, draft: str, plan: Plan) -> None:
        """A request from the call to the answer."""
        if plan.leaves:
            self.leave(place, draft)
            self._outlive(place)
            return
        agent = self.agent(place)
        id_ = self.call(agent, draft)
        if plan.verdict:
            self.decide(self.approver(place), id_, plan.verdict)
        self.ending(agent, id_)

    def call(self, agent: Agent, draft: str) -> str:
        """Calls, and notes what it was told: the id of a request, or "" if an answer was there to be collected."""
        status, body = agent.run(ACTION, {"draft_id": draft})
        if status == 202:
            id_ = str(body["approval_id"])
            assert id_ not in self.told.ended, f"{id_} had ended and is said to wait"
            self.told.accepted[id_] = draft
            return id_
        assert status == 200, body
        if body["status"] == "completed":
            id_ = body["audit_id"].removeprefix("audit-")
            assert id_ not in self.told.ended, f"the answer to {id_} was delivered before"
            self.told.collected[id_] += 1
            self.told.ended[id_] = body
        return ""

    def decide(self, approver: Approver, id_: str, verdict: Verdict) -> None:
        """Looks at a request and answers it."""
        item = approver.item(id_)
        if item["state"] != RequestState.PENDING:
            return
        if verdict is Verdict.APPROVE:
            self.told.approving.add(id_)
        status, body = approver.decide(item, verdict)
        assert status == 200, body
        self.told.decided[id_] = verdict

    def ending(self, agent: Agent, id_: str) -> None:
        """Waits for the answer to a request."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            status, body = agent.result(id_)
            assert status == 200, f"{id_}: {body}"
            if body["status"] not in ("pending_approval", "running"):
                self.told.ended[id_] = body
                return
            time.sleep(0.002)
        raise AssertionError(f"{id_} does not end")

    def leave(self, place: Place, draft: str) -> None:
        """An agent waits on an open connection, hangs up, and takes its request with it."""
        agent, approver = self.agent(place), self.approver(place)
        agent.send_run(ACTION, {"draft_id": draft}, wait=30)

        def waits() -> bool:
            return any(item["args"] == {"draft_id": draft} for item in approver.waiting())

        until(waits)
        agent.hang_up()
        until(lambda: not waits())

    def see_through(self, place: Place) -> None:
        """Everything that was accepted comes to its end. The same call joins what waits, which is then denied."""
        agent, approver = self.agent(place), self.approver(place)
        for item in approver.waiting():
            assert self.call(agent, item["args"]["draft_id"]) == item["id"], "the same call must join what waits"
            self.decide(approver, item["id"], Verdict.DENY)
            self.ending(agent, item["id"])
        for id_ in self.told.open:
            self.ending(agent, id_)

    # what must hold

    def check(self, before: Memory) -> None:
        """Whenever a gate is gone: what anyone was told is true, and nothing happened that was not on record."""
        told, facts = self.told, self.memory.facts
        for id_ in told.accepted:
            assert id_ in facts, f"{id_} was accepted and is lost"
        for id_, verdict in told.decided.items():
            assert facts[id_].verdict is verdict, f"{id_}: {verdict} was acknowledged and is lost"
        for id_, body in told.ended.items():
            _check_answer(facts[id_], body)
        for id_, fact in facts.items():
            assert fact.kinds.count(EntryKind.RUNNING) <= 1, f"{id_} ran twice"
            if EntryKind.RUNNING in fact.kinds:
                assert id_ in told.approving, f"{id_} ran and was never approved"
            again = len(self.memory.again(id_))
            assert again == (fact.state is RequestState.INTERRUPTED), (
                f"{id_} is {fact.state}, asked again {again} times"
            )
        assert max(told.collected.values(), default=1) == 1, "an answer was collected twice"
        self._check_sends()
        self._check_kept(before)

    def _check_sends(self) -> None:
        """The effects, where they happen: never more than were started, never fewer than have a known end."""
        mine: dict[str, list[Fact]] = {}
        for fact in self.memory.facts.values():
            mine.setdefault(fact.draft, []).append(fact)
        for draft, facts in mine.items():
            arrived = self.service.arrived[draft]
            started = sum(EntryKind.RUNNING in fact.kinds for fact in facts)
            ended = sum(fact.state in (RequestState.EXECUTED, RequestState.FAILED) for fact in facts)
            assert ended <= arrived <= started, f"{draft}: {started} started, {ended} ended, {arrived} arrived"

    def _check_kept(self, before: Memory) -> None:
        """Nothing on record changes; what ran when the gate died ends as its kept answer says, or as unknown."""
        for id_, old in before.facts.items():
            new = self.memory.facts[id_]
            assert new.kinds[: len(old.kinds)] == old.kinds, f"{id_} has another past"
            if old.state is RequestState.RUNNING:
                possible = before.outcome(id_)
                assert new.state in (RequestState.RUNNING, possible), f"{id_} should be {possible}, is {new.state}"
            elif old.state is not RequestState.PENDING:
                assert new.state is old.state, f"{id_} was {old.state} and is {new.state}"
        for id_, new in self.memory.facts.items():
            if id_ not in before.facts or before.facts[id_].state is not new.state:
                self.ends[new.state] += 1

    def check_recovered(self, before: Memory, place: Place) -> None:
        """As soon as a gate is ready: nothing is left running, what waited waits, and agents are told so."""
        now = remembered(self.data)
        waiting = {item["id"]: item for item in self.approver(place).waiting()}
        agent = self.agent(place)
        for id_, fact in now.facts.items():
            old = before.facts.get(id_)
            assert fact.state is not RequestState.RUNNING, f"{id_} was left running"
            if fact.state is RequestState.PENDING:
                shown = id_ in waiting or remembered(self.data).facts[id_].state is RequestState.EXPIRED
                assert shown, f"{id_} waits and is not shown"
            elif old is not None and old.state is RequestState.PENDING:
                assert fact.state is RequestState.EXPIRED, f"{id_} waited and is {fact.state}"
            if fact.after and id_ in waiting:
                assert waiting[id_]["asked_again"] == fact.after
            if old is not None and old.state is RequestState.RUNNING:
                status, body = agent.result(id_)
                assert status == 200, f"{id_}: {body}"
                _check_answer(fact, body)
                self.told.ended[id_] = body
                if fact.state is RequestState.INTERRUPTED:
                    assert body["failure"]["error"]["details"] == {"asked_again": now.again(id_)[0]}


def _check_answer(fact: Fact, body: Any) -> None:
    """An agent is told what the ledger says, and nothing of what the operator was shown."""
    status, class_ = _TOLD.get(fact.state, ("failed", ""))
    assert body["status"] == status, f"{fact.id} is {fact.state}, the agent was told {body}"
    if class_:
        assert body["failure"]["error"]["class"] == class_
    assert "team@example.com" not in json.dumps(body)


def _killing(process: Process, plan: Plan, service: CountedService) -> Callable[[], None]:
    """Begins to wait for the moment to kill; the result ends that."""
    over = threading.Event()

    def wait() -> None:
        if plan.hold:
            while not service.reached.wait(0.005):
                if over.is_set():
                    return
        elif over.wait(plan.delay):
            return
        process.signal(signal.SIGKILL)

    thread = threading.Thread(target=wait, daemon=True)
    if plan.hold or plan.delay:
        thread.start()

    def end() -> None:
        over.set()
        if thread.ident:
            thread.join()

    return end


def until(true: Callable[[], bool]) -> None:
    """Waits for something to become true."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.005)


@contextmanager
def world(root: Path) -> Iterator[World]:
    """A world under a folder, which may already have a `home` with a cache of compiled connectors."""
    service = CountedService()
    with service, Nursery(ENVIRONMENT) as nursery, for_this_run("tester") as key:
        yield World(root, service, nursery, key)
