"""The people of a soak: an operator who decides, a watcher who reconnects, and somebody who searches the history."""

from __future__ import annotations

import http.client
import queue
import random
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.request import Request
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict, new_rule_id
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.runtime.errors import PromptChanged
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.source_events import SourceEvent
from tests.soak.agents import Connection, ruled_call
from tests.soak.cases import Case, verdict_of
from tests.soak.journal import PENDING, SEARCH, Call, Journal, marker_of
from tests.soak.lab import RULED_AGENT, SoakLab

HOLD_SECONDS: Final = 20.0
FETCH_SECONDS: Final = 120.0
"""How long a preview may take; the first one waits until its connector is compiled."""
_TRIES: Final = 5
_LONGEST_THOUGHT: Final = 0.6
_WATCH_SECONDS: Final = (5.0, 40.0)
_SEARCH_SECONDS: Final = 3.0
_HEALTH_SECONDS: Final = 1.0


def approver(lab: SoakLab) -> ApproverClient:
    """A client of the operator, over the approvers' Unix socket."""
    assert lab.found.socket is not None, "the gate has no socket for approvers"
    return ApproverClient(lab.found, lab.key, surface="console")


@contextmanager
def watching(client: ApproverClient) -> Iterator[Iterator[SourceEvent | None]]:
    """The events of the gate, on a connection that is closed at the end."""
    events = client.watch()
    assert isinstance(events, Generator)
    with closing(events):
        yield events


def make_rules(lab: SoakLab) -> None:
    """Makes the rules for the calls that rules answer, from a request as the console does."""
    ends = timestamp(datetime.now(UTC) + timedelta(hours=24))
    denied, _ = ruled_call(Case.RULE_DENIED)
    allowed, args = ruled_call(Case.RULE_ALLOWED)
    with approver(lab) as client, Connection(lab, RULED_AGENT) as connection:
        client.make_rule(Rule(new_rule_id(), RuleVerdict.DENY, RULED_AGENT, denied, RuleReach.ANY, ends))
        status, reply = connection.ask("POST", f"/v1/actions/{allowed}/run", {"args": args})
        assert status == 202, reply
        request = _fetched(client, str(reply["approval_id"]))
        offers = client.rule_offers(request.id).offers
        rule = next(offer.rule for offer in offers if offer.rule.reach is RuleReach.CALL)
        client.make_rule(replace(rule, ends=ends))
        client.decide(request, Verdict.DENY, reason="from now on by a rule")
        connection.ask("GET", f"/v1/action-approvals/{request.id}/result")  # else the next identical call would get it


def _fetched(client: ApproverClient, id_: str) -> Request:
    deadline = time.monotonic() + FETCH_SECONDS
    while (request := client.item(id_)).fetching:
        assert time.monotonic() < deadline, "the preview was not fetched"
        time.sleep(0.02)
    return request


class Person(threading.Thread):
    """Does something again and again until the soak closes; an error of the gate is a violation."""

    def __init__(self, lab: SoakLab, journal: Journal, closing: threading.Event) -> None:
        super().__init__(name=type(self).__name__, daemon=True)
        self.lab = lab
        self.journal = journal
        self.closing = closing
        self.random = random.Random(type(self).__name__)

    def run(self) -> None:
        while not self.closing.is_set():
            try:
                self.work()
            except (AileronError, OSError, http.client.HTTPException) as error:
                if not self.closing.is_set():
                    self.journal.violation(f"{self.name}: {error!r}")
                    self.closing.wait(1.0)

    def work(self) -> None:
        raise NotImplementedError


class Operator(Person):
    """Reads everything that happens, and passes on what can be answered."""

    def __init__(
        self,
        lab: SoakLab,
        journal: Journal,
        closing: threading.Event,
        found: Callable[[Call, Request], None],
    ) -> None:
        super().__init__(lab, journal, closing)
        self._found = found

    def work(self) -> None:
        with approver(self.lab) as client, watching(client) as events:
            for event in events:
                if self.closing.is_set():
                    return
                for request in event.requests if event else ():
                    self._read(request)

    def _read(self, request: Request) -> None:
        call = self.journal.calls.get(marker_of(request.prompt.args))
        if call is None or request.fetching or request.state is not RequestState.PENDING or call.pending.is_set():
            return
        self.journal.measured(PENDING, call.began)
        call.id = call.id or request.id
        call.pending.set()
        if verdict_of(call.case) is not None:
            self._found(call, request)


class Decider(Person):
    """Answers one request after another with a signed decision, after a moment of thought."""

    def __init__(
        self, lab: SoakLab, journal: Journal, closing: threading.Event, requests: queue.Queue[tuple[Call, Request]]
    ) -> None:
        super().__init__(lab, journal, closing)
        self._requests = requests

    def work(self) -> None:
        with approver(self.lab) as client:
            while not self.closing.is_set():
                try:
                    call, request = self._requests.get(timeout=0.5)
                except queue.Empty:
                    continue
                self.closing.wait(self.random.uniform(0.0, _LONGEST_THOUGHT))
                if call.may_decide.wait(HOLD_SECONDS):
                    self._decide(client, call, request)

    def _decide(self, client: ApproverClient, call: Call, request: Request) -> None:
        verdict = verdict_of(call.case)
        assert verdict is not None
        for _ in range(_TRIES):
            call.decided_at = time.monotonic()
            call.verdicts.append(verdict)
            try:
                client.decide(request, verdict)
            except PromptChanged:
                self.journal.count("prompts that changed before they were answered")
                request = _fetched(client, request.id)
            else:
                self.journal.count("signed decisions")
                return
        self.journal.violation(f"{request.id} changed each time it was answered")


class Watcher(Person):
    """Watches for a while, disconnects, and watches again."""

    def work(self) -> None:
        until = time.monotonic() + self.random.uniform(*_WATCH_SECONDS)
        with approver(self.lab) as client, watching(client) as events:
            for _ in events:
                if time.monotonic() > until or self.closing.is_set():
                    break
        self.journal.count("watchers that reconnected")


class Historian(Person):
    """Searches the history in several ways."""

    def work(self) -> None:
        queries: tuple[dict[str, str | int | list[str]], ...] = (
            {"limit": 50},
            {"text": "team", "limit": 50},
            {"outcome": ["denied"], "limit": 50},
            {"agent": [RULED_AGENT], "limit": 20},
            {"text": "Bash", "outcome": ["executed"], "limit": 50},
        )
        with approver(self.lab) as client:
            for query in queries:
                began = time.monotonic()
                client.history(**query)
                self.journal.measured(SEARCH, began)
                self.journal.count("searches in the history")
                if self.closing.wait(_SEARCH_SECONDS):
                    return


class HealthProbe(Person):
    """Asks for the health every second; anything but 200 is a violation."""

    def work(self) -> None:
        connection = http.client.HTTPConnection(*self.lab.address, timeout=10)
        try:
            connection.request("GET", "/v1/health")
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        self.journal.count("health checks")
        if response.status != 200 and not self.closing.is_set():
            self.journal.violation(f"the health is {response.status} {body[:300]!r}")
        self.closing.wait(_HEALTH_SECONDS)
