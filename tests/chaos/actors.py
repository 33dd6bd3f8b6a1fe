"""The clients of a gate in a chaos round: agents that call it, and approvers that decide."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import Rejected
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import FoundGate
from aileron_tui.signing.key_store import UnlockedKey
from tests.chaos.fault_plan import FaultKind, Plan, upstream_reply
from tests.chaos.journal import Claim, DecisionMade, Journal
from tests.chaos.shim import Shim
from tests.chaos.upstream import ChaosUpstream
from tests.gate.gate_process import GateAddress

CALL_BOUND: Final = 15.0
"""Seconds after which a call counts as hung, beyond the time that it asked to wait."""

GATED: Final = "send-draft"
UNGATED: Final = "list-drafts"
_MAX_CALLS: Final = 8
_PAUSE: Final = 0.01


class NoAnswer(Exception):
    """The gate is down, or closed the connection before it answered."""


@dataclass(frozen=True)
class Stage:
    """What all clients of a round share. `address` returns None while no gate runs."""

    plan: Plan
    journal: Journal
    upstream: ChaosUpstream
    shim: Shim
    key: UnlockedKey
    data: Path
    address: Callable[[], GateAddress | None]
    closing: threading.Event


class AgentConnection:
    """One HTTP connection of an agent to the gate that runs now."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        address = stage.address()
        if address is None:
            raise NoAnswer("no gate")
        self._token = address.token
        self._http = http.client.HTTPConnection(address.host, address.port, timeout=CALL_BOUND)

    def close(self) -> None:
        self._http.close()

    def send(self, method: str, path: str, body: Any = None, wait: int = 0) -> None:
        """Sends a request without reading the reply."""
        headers = {"Authorization": f"Bearer {self._token}", "X-Aileron-Agent": "agent"}
        if wait:
            headers["Prefer"] = f"wait={wait}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            self._http.request(method, path, None if body is None else json.dumps(body).encode(), headers)
        except (OSError, http.client.HTTPException) as error:
            self._lost(error, f"{method} {path}")

    def receive(self, what: str) -> tuple[int, Any]:
        """Returns the status and JSON of the reply."""
        try:
            response = self._http.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._lost(error, what)
        try:
            return response.status, json.loads(data) if data else {}
        except ValueError:
            return response.status, {}  # for example the plain text of a server error

    def ask(self, method: str, path: str, body: Any = None, wait: int = 0) -> tuple[int, Any]:
        self.send(method, path, body, wait)
        return self.receive(f"{method} {path}")

    def _lost(self, error: Exception, what: str) -> Any:
        self._http.close()
        if isinstance(error, TimeoutError):
            self._stage.journal.violation(f"no reply within {CALL_BOUND:.0f} s: {what}")
        raise NoAnswer(what) from error


def ask_once(stage: Stage, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Sends one request on a connection of its own."""
    connection = AgentConnection(stage)
    try:
        return connection.ask(method, path, body)
    finally:
        connection.close()


def call(stage: Stage, connection: AgentConnection, draft: str, wait: int = 0) -> Claim:
    """Calls the gated action for a draft, and notes the reply."""
    reply = connection.ask("POST", f"/v1/actions/{GATED}/run", {"args": {"draft_id": draft}}, wait)
    return stage.journal.told(draft, "", reply, stage.shim.elapsed())


def poll(stage: Stage, connection: AgentConnection, id_: str, draft: str) -> Claim:
    """Asks for the result of a request, and notes the reply."""
    reply = connection.ask("GET", f"/v1/action-approvals/{id_}/result")
    if reply[0] == 404:
        stage.journal.violation(f"{id_} was accepted, but the gate does not know it")
    return stage.journal.told(draft, id_, reply, stage.shim.elapsed())


class AgentActor(threading.Thread):
    """An agent: makes gated and ungated calls, waits or polls, and sometimes disconnects in the middle."""

    def __init__(self, stage: Stage, seed: str) -> None:
        super().__init__(name=f"agent {seed}", daemon=True)
        self._stage = stage
        self._random = random.Random(seed)
        self._calls = 0
        self._again = ""

    def run(self) -> None:
        while not self._stage.closing.is_set():
            try:
                self._connect_and_act()
            except NoAnswer:
                time.sleep(_PAUSE)

    def _connect_and_act(self) -> None:
        connection = AgentConnection(self._stage)
        try:
            for _ in range(self._random.randint(1, 6)):
                if not self._stage.closing.is_set():
                    self._act(connection)
                    time.sleep(self._random.uniform(0.0, 4 * _PAUSE))
        finally:
            connection.close()

    def _act(self, connection: AgentConnection) -> None:
        stage, random_ = self._stage, self._random
        leaves = 0.3 if FaultKind.DISCONNECTS in stage.plan.kinds else 0.03
        choice = random_.random()
        if choice < 0.15:
            connection.ask("POST", f"/v1/actions/{UNGATED}/run", {"args": {}})
        elif choice < 0.5 and (waiting := stage.journal.open):
            id_ = random_.choice(sorted(waiting))
            poll(stage, connection, id_, waiting[id_])
        elif self._calls < _MAX_CALLS:
            self._calls += 1
            draft = self._again or stage.upstream.new_draft(upstream_reply(random_, stage.plan))
            self._again = draft if random_.random() < 0.5 else ""
            wait = random_.choice((0, 0, 1, 2))
            if random_.random() < leaves:
                connection.send("POST", f"/v1/actions/{GATED}/run", {"args": {"draft_id": draft}}, wait)
                time.sleep(random_.uniform(0.0, 0.2))
                connection.close()
                self._again = ""
                raise NoAnswer("left")
            call(stage, connection, draft, wait)
            self._again = ""


class ApproverActor(threading.Thread):
    """An approver: reads what waits and decides it, sometimes only long after reading it."""

    def __init__(self, stage: Stage, seed: str) -> None:
        super().__init__(name=f"approver {seed}", daemon=True)
        self._stage = stage
        self._random = random.Random(seed)
        self._kept: list[Request] = []

    def run(self) -> None:
        while not self._stage.closing.is_set():
            with_client(self._stage, self._decide_for_a_while)
            time.sleep(_PAUSE)

    def _decide_for_a_while(self, client: ApproverClient) -> None:
        for _ in range(self._random.randint(1, 10)):
            if self._stage.closing.is_set():
                return
            requests = waiting(self._stage, client)
            ready = [request for request in requests if not request.fetching]
            if ready and self._random.random() < 0.25:
                self._kept.append(self._random.choice(ready))
            elif ready:
                decide(self._stage, client, self._random.choice(ready), self._verdict())
            if self._kept and self._random.random() < 0.1:
                decide(self._stage, client, self._kept.pop(0), Verdict.APPROVE)
            time.sleep(self._random.uniform(0.0, 4 * _PAUSE))

    def _verdict(self) -> Verdict:
        return Verdict.APPROVE if self._random.random() < 0.75 else Verdict.DENY


def with_client(stage: Stage, work: Callable[[ApproverClient], None]) -> bool:
    """Calls `work` with a client for the gate that runs now; returns False if the gate refused or went away."""
    address = stage.address()
    if address is None:
        return False
    socket = stage.data / "gate.sock"
    found = FoundGate(
        f"http://{address.host}:{address.port}", address.instance, None, socket if socket.exists() else None
    )
    began = time.monotonic()
    try:
        client = ApproverClient(found, stage.key, surface="console", clock=stage.shim.wall_clock)
        try:
            work(client)
        finally:
            client.close()
    except AileronError:
        if time.monotonic() - began > CALL_BOUND + 10:
            stage.journal.violation(f"an approver's call took {time.monotonic() - began:.0f} s")
        return False
    return True


def waiting(stage: Stage, client: ApproverClient) -> tuple[Request, ...]:
    """Returns the waiting requests, and notes when they were first seen."""
    requests = client.waiting()
    now = stage.shim.elapsed()
    with stage.journal.guard:
        for request in requests:
            stage.journal.seen_at.setdefault(request.id, now)
    return requests


def decide(stage: Stage, client: ApproverClient, request: Request, verdict: Verdict) -> bool:
    """Decides a request, and notes the reply."""
    sent_at, reply = stage.shim.elapsed(), ""
    try:
        state = client.decide(request, verdict)
        reply = "accepted" if state in (RequestState.APPROVED, RequestState.DENIED) else str(state)
    except Rejected as refused:
        reply = refused.code or str(refused.status)
    finally:
        stage.journal.decided(DecisionMade(request.id, verdict, sent_at, reply))
    return reply == "accepted"
