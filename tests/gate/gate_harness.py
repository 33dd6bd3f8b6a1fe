"""Runs gates on one data folder, kills them with `kill -9`, and checks what must hold between and after the runs."""

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
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.states import RequestState
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from tests.gate.counted_service import CountedService
from tests.gate.disk_state import DiskState, RecordedRequest, checked_disk_state, read_disk_state
from tests.gate.gate_process import TIMEOUT, Agent, Approver, Client, ForkServer, GateAddress, GateDied, GateProcess

ACTION: Final = "send-draft"
ENVIRONMENT: Final = {"HARNESS_MAIL": MAIL_CREDENTIAL, "HARNESS_FILES": FILES_CREDENTIAL}
CONFIG: Final = """
[policy]
timeout = {timeout}
asks_per_10_minutes = 0
[connectors."local://aileron/mail".credential]
env = "HARNESS_MAIL"
[connectors."local://aileron/files".credential]
env = "HARNESS_FILES"
"""

_EXPECTED_RESULTS: Final = {
    RequestState.EXECUTED: ("completed", ""),
    RequestState.DENIED: ("denied", ""),
    RequestState.EXPIRED: ("failed", "approval_timeout"),
    RequestState.WITHDRAWN: ("failed", "withdrawn"),
    RequestState.INTERRUPTED: ("failed", "outcome_unknown"),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: what the approver decides, when the gate is killed, and what the next run must find.

    `kill` is a crash point. `hold` is an HTTP method that the service holds while the gate is killed. `delay` is a
    number of seconds after which it is killed. With none of them, it is killed at the end. If `disconnects` is set, the
    agent disconnects while its call is held open. `found` is None if the request must not exist.
    """

    name: str
    kill: str = ""
    hold: str = ""
    done: bool = False
    delay: float = 0.0
    verdict: Verdict | None = Verdict.APPROVE
    disconnects: bool = False
    timeout: int = 300
    found: RequestState | None = None


@dataclass
class Observed:
    """Everything that clients asked of the gate, and what it responded."""

    accepted: dict[str, str] = field(default_factory=dict)
    approving: set[str] = field(default_factory=set)
    decided: dict[str, Verdict] = field(default_factory=dict)
    ended: dict[str, Any] = field(default_factory=dict)
    collected: Counter[str] = field(default_factory=Counter)

    @property
    def open(self) -> dict[str, str]:
        """The accepted requests whose result no agent has received, with their drafts."""
        return {id_: draft for id_, draft in self.accepted.items() if id_ not in self.ended}


class GateHarness:
    """One sample service, one key, and one gate after another on the same folder."""

    def __init__(self, root: Path, service: CountedService, fork_server: ForkServer, key: UnlockedKey) -> None:
        self.service = service
        self.home = root / "home"
        self.key = key
        self.runs = 0
        self.ends: Counter[str] = Counter()
        self._manifests = materialise(root / "manifests", service.port)
        self._fork_server = fork_server
        self._clients: list[Client] = []
        self.clear()

    @property
    def data(self) -> Path:
        return self.home / "data"

    def clear(self) -> None:
        """Deletes the data folder; keeps only the compiled connectors."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.home.mkdir(0o700, exist_ok=True)
        (self.home / "log").unlink(missing_ok=True)
        with open_ledger(self.data / LEDGER_FILE, role="test") as ledger:
            ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("tester", self.key.public))
        self.observed = Observed()
        self.disk_state = DiskState()

    def draft(self) -> str:
        """Creates a draft to be sent."""
        text = f"To: team@example.com\r\nSubject: {time.monotonic_ns()}\r\n\r\nText"
        return str(self.service.mailbox.create_draft(base64.urlsafe_b64encode(text.encode()).decode())["id"])

    # runs

    @contextmanager
    def gate(self, plan: Plan) -> Iterator[GateProcess]:
        """Runs a gate, kills it at the end of the block at the latest, and then checks everything."""
        config = self.home / "config.toml"
        config.write_text(CONFIG.format(timeout=plan.timeout), "utf-8")
        config.chmod(0o600)
        if plan.hold:
            self.service.hold(plan.hold, done=plan.done)
        self.runs += 1
        process = self._fork_server.start(self.home, self._manifests, plan.kill)
        cancel_kill = _kill_later(process, plan, self.service)
        try:
            with suppress(GateDied):
                yield process
        finally:
            cancel_kill()
            process.kill()
            self.service.release()
            while self._clients:
                self._clients.pop().close()
        before, self.disk_state = self.disk_state, checked_disk_state(self.data)
        self.check(before)

    def run_once(self, plan: Plan, flow: Callable[[GateAddress], None]) -> bool:
        """Runs a gate once: checks its recovery, then calls `flow`. Returns whether it died before `flow` was done."""
        before, completed = self.disk_state, False
        with self.gate(plan) as process:
            address = process.ready()
            if address is not None:
                self.check_recovered(before, address)
                flow(address)
                completed = True
            elif not plan.kill and not plan.delay:
                raise AssertionError(f"the gate does not start:\n{self.log()}")
        return not completed

    def log(self) -> str:
        """The last lines of the log."""
        return "\n".join((self.home / "log").read_text("utf-8").splitlines()[-12:])

    def crash_at(self, plan: Plan) -> None:
        """Crashes a gate as planned, and checks what the next run finds."""
        draft = self.draft()
        died_early = self.run_once(plan, lambda address: self.play(address, draft, plan))
        assert died_early == bool(plan.kill or plan.hold), f"the gate did not die {plan.name}"
        self.check_next_run(draft, plan.found)

    def crash_twice(self, first: str, second: str, found: RequestState) -> None:
        """Crashes twice in a row, the second time during recovery from the first."""
        draft = self.draft()
        plan = Plan(first, kill=first)
        assert self.run_once(plan, lambda address: self.play(address, draft, plan)), f"the gate did not die {first}"
        assert self.run_once(Plan(second, kill=second), self._wait_for_crash), f"the gate did not die {second}"
        self.check_next_run(draft, found)

    def _wait_for_crash(self, address: GateAddress) -> None:
        """Sends requests until the gate dies."""
        agent = self.agent(address)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            agent.ask("GET", "/v1/health")
            time.sleep(0.005)

    def check_next_run(self, draft: str, state: RequestState | None) -> None:
        """Checks that the next run finds the request of a draft in this state, then ends all requests."""

        def check(address: GateAddress) -> None:
            requests = [
                request
                for request in read_disk_state(self.data).requests.values()
                if request.draft == draft and not request.repeats
            ]
            if state is RequestState.EXPIRED:
                wait_until(lambda: read_disk_state(self.data).requests[requests[0].id].state is state)
            else:
                states = [request.state for request in requests]
                assert states == ([state] if state else []), f"{draft} should be {state}, is {states}"
            self.finish_all(address)

        self.run_once(Plan("the next run"), check)

    # clients

    def agent(self, address: GateAddress) -> Agent:
        """Returns an agent, which is disconnected at the end of the run."""
        agent = Agent(address, "agent")
        self._clients.append(agent)
        return agent

    def approver(self, address: GateAddress) -> Approver:
        """Returns an approver, who is disconnected at the end of the run."""
        approver = Approver(address, self.key)
        self._clients.append(approver)
        return approver

    def play(self, address: GateAddress, draft: str, plan: Plan) -> None:
        """Plays one request from call to result."""
        if plan.disconnects:
            self.call_and_disconnect(address, draft)
            self._wait_for_crash(address)
            return
        agent = self.agent(address)
        id_ = self.call(agent, draft)
        if plan.verdict:
            self.decide(self.approver(address), id_, plan.verdict)
        self.wait_for_result(agent, id_)

    def call(self, agent: Agent, draft: str) -> str:
        """Calls an action and records the reply; returns the request id, or "" if a result was delivered."""
        status, body = agent.run(ACTION, {"draft_id": draft})
        if status == 202:
            id_ = str(body["approval_id"])
            assert id_ not in self.observed.ended, f"{id_} has ended but is reported as waiting"
            self.observed.accepted[id_] = draft
            return id_
        assert status == 200, body
        if body["status"] == "completed":
            id_ = body["audit_id"].removeprefix("audit-")
            assert id_ not in self.observed.ended, f"the result of {id_} was delivered twice"
            self.observed.collected[id_] += 1
            self.observed.ended[id_] = body
        return ""

    def decide(self, approver: Approver, id_: str, verdict: Verdict) -> None:
        """Decides a request once its preview has been fetched."""
        item = approver.previewed_request(id_)
        if item["state"] != RequestState.PENDING:
            return
        if verdict is Verdict.APPROVE:
            self.observed.approving.add(id_)
        status, body = approver.decide(item, verdict)
        assert status == 200, body
        self.observed.decided[id_] = verdict

    def wait_for_result(self, agent: Agent, id_: str) -> None:
        """Waits for the result of a request."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            status, body = agent.result(id_)
            assert status == 200, f"{id_}: {body}"
            if body["status"] not in ("pending_approval", "running"):
                self.observed.ended[id_] = body
                return
            time.sleep(0.002)
        raise AssertionError(f"{id_} did not end")

    def call_and_disconnect(self, address: GateAddress, draft: str) -> None:
        """An agent disconnects while its call is held open, which withdraws the request."""
        agent, approver = self.agent(address), self.approver(address)
        agent.send_run(ACTION, {"draft_id": draft}, wait=30)

        def waits() -> bool:
            return any(item["args"] == {"draft_id": draft} for item in approver.waiting())

        wait_until(waits)
        agent.close()
        wait_until(lambda: not waits())

    def finish_all(self, address: GateAddress) -> None:
        """Ends all accepted requests: repeats the waiting calls, which must join, and denies them."""
        agent, approver = self.agent(address), self.approver(address)
        for item in approver.waiting():
            assert self.call(agent, item["args"]["draft_id"]) == item["id"], (
                "an identical call must join the waiting request"
            )
            self.decide(approver, item["id"], Verdict.DENY)
            self.wait_for_result(agent, item["id"])
        for id_ in self.observed.open:
            self.wait_for_result(agent, id_)

    # checks

    def check(self, before: DiskState) -> None:
        """After each run: everything the clients were told is true, and nothing ran that was not recorded."""
        observed, requests = self.observed, self.disk_state.requests
        for id_ in observed.accepted:
            assert id_ in requests, f"{id_} was accepted and is lost"
        for id_, verdict in observed.decided.items():
            assert requests[id_].verdict is verdict, f"{id_}: {verdict} was acknowledged but is lost"
        for id_, body in observed.ended.items():
            _check_answer(requests[id_], body)
        for id_, request in requests.items():
            assert request.kinds.count(EntryKind.RUNNING) <= 1, f"{id_} ran twice"
            if EntryKind.RUNNING in request.kinds and EntryKind.RULED not in request.kinds:
                assert id_ in observed.approving, f"{id_} ran but was never approved"
            again = len(self.disk_state.repeats_of(id_))
            assert again == (request.state is RequestState.INTERRUPTED), (
                f"{id_} is {request.state}, asked again {again} times"
            )
        assert max(observed.collected.values(), default=1) == 1, "a result was delivered twice"
        self._check_sends()
        self._check_unchanged(before)

    def _check_sends(self) -> None:
        """Checks the sends at the service: no more than were started, no fewer than have a known end."""
        by_draft: dict[str, list[RecordedRequest]] = {}
        for request in self.disk_state.requests.values():
            by_draft.setdefault(request.draft, []).append(request)
        for draft, requests in by_draft.items():
            arrived = self.service.arrived[draft]
            started = sum(EntryKind.RUNNING in request.kinds for request in requests)
            ended = sum(request.state in (RequestState.EXECUTED, RequestState.FAILED) for request in requests)
            assert ended <= arrived <= started, f"{draft}: {started} started, {ended} ended, {arrived} arrived"

    def _check_unchanged(self, before: DiskState) -> None:
        """Checks that recorded entries stay, and that running requests end by their stored result or as interrupted."""
        for id_, old in before.requests.items():
            new = self.disk_state.requests[id_]
            assert new.kinds[: len(old.kinds)] == old.kinds, f"{id_} has different entries"
            if old.state is RequestState.RUNNING:
                possible = before.outcome(id_)
                assert new.state in (RequestState.RUNNING, possible), f"{id_} should be {possible}, is {new.state}"
            elif old.state is not RequestState.PENDING:
                assert new.state is old.state, f"{id_} was {old.state} and is now {new.state}"
        for id_, new in self.disk_state.requests.items():
            if id_ not in before.requests or before.requests[id_].state is not new.state:
                self.ends[new.state] += 1

    def check_recovered(self, before: DiskState, address: GateAddress) -> None:
        """After start: nothing is left running, waiting requests are shown, and agents get the right results."""
        now = read_disk_state(self.data)
        waiting = {item["id"]: item for item in self.approver(address).waiting()}
        agent = self.agent(address)
        for id_, request in now.requests.items():
            old = before.requests.get(id_)
            assert request.state is not RequestState.RUNNING, f"{id_} was left running"
            if request.state is RequestState.PENDING:
                shown = id_ in waiting or read_disk_state(self.data).requests[id_].state is RequestState.EXPIRED
                assert shown, f"{id_} is waiting but not shown"
            elif old is not None and old.state is RequestState.PENDING:
                assert request.state is RequestState.EXPIRED, f"{id_} was waiting and is now {request.state}"
            if request.repeats and id_ in waiting:
                assert waiting[id_]["asked_again"] == request.repeats
            if old is not None and old.state is RequestState.RUNNING:
                status, body = agent.result(id_)
                assert status == 200, f"{id_}: {body}"
                _check_answer(request, body)
                self.observed.ended[id_] = body
                if request.state is RequestState.INTERRUPTED:
                    assert body["failure"]["error"]["details"] == {"asked_again": now.repeats_of(id_)[0]}


def _check_answer(request: RecordedRequest, body: Any) -> None:
    """Checks that a result matches the ledger and contains nothing from the preview."""
    status, class_ = _EXPECTED_RESULTS.get(request.state, ("failed", ""))
    assert body["status"] == status, f"{request.id} is {request.state}, the agent received {body}"
    if class_:
        assert body["failure"]["error"]["class"] == class_
    assert "team@example.com" not in json.dumps(body)


def _kill_later(process: GateProcess, plan: Plan, service: CountedService) -> Callable[[], None]:
    """Kills the gate later, as planned; returns a function that cancels this."""
    cancelled = threading.Event()

    def wait() -> None:
        if plan.hold:
            while not service.reached.wait(0.005):
                if cancelled.is_set():
                    return
        elif cancelled.wait(plan.delay):
            return
        process.signal(signal.SIGKILL)

    thread = threading.Thread(target=wait, daemon=True)
    if plan.hold or plan.delay:
        thread.start()

    def end() -> None:
        cancelled.set()
        if thread.ident:
            thread.join()

    return end


def wait_until(condition: Callable[[], bool]) -> None:
    """Waits until a condition is true."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.005)


@contextmanager
def gate_harness(root: Path) -> Iterator[GateHarness]:
    """Yields a harness in a folder, which may already contain a `home` with compiled connectors."""
    service = CountedService()
    with service, ForkServer(ENVIRONMENT) as fork_server, for_this_run("tester") as key:
        yield GateHarness(root, service, fork_server, key)
