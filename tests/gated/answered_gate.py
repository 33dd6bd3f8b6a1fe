"""A gate in this process and an operator in a thread, who answers each request as a test says."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict, new_rule_id
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.files.config import Config, Policy
from aileron_tui.files.private_files import private_folder
from aileron_tui.gate.gate_state import GateSetup
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import discover
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.surface.agent_changes import add_agent
from aileron_tui.surface.embedded_gate import EmbeddedGate
from aileron_tui.surface.key_enrolment import enrolled

T = TypeVar("T")

SECONDS = 20.0


@dataclass(frozen=True)
class Reply:
    """What the operator answers."""

    verdict: Verdict
    reason: str = ""
    edits: JsonObject | None = None


APPROVE = Reply(Verdict.APPROVE)

Operator = Callable[[Request], Reply | None]
"""Answers a request, or leaves it waiting."""


def approve(_: Request) -> Reply:
    return APPROVE


def deny(reason: str = "") -> Operator:
    return lambda _: Reply(Verdict.DENY, reason)


def edit(**changes: Any) -> Operator:
    """Approves a call with other arguments."""
    return lambda request: Reply(Verdict.APPROVE, edits={**request.prompt.args, **changes})


def nobody(_: Request) -> None:
    return None


def until(find: Callable[[], T | None], words: str, seconds: float = SECONDS) -> T:
    """What is found, as soon as it is there."""
    end = time.monotonic() + seconds
    while (found := find()) is None or found is False:
        assert time.monotonic() < end, f"waited in vain for {words}"
        time.sleep(0.005)
    return found


@dataclass
class AnsweredGate:
    """A running gate, what its operator does, and what the operator saw."""

    root: Path
    key: UnlockedKey
    operator: Operator = approve
    seen: list[Request] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _answered: set[str] = field(default_factory=set)

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a program that finds this gate."""
        return {**os.environ, "AILERON_TUI_HOME": str(self.root)}

    def answer(self, approver: ApproverClient) -> None:
        """Answers what waits, until the gate is left."""
        while not self._stop.wait(0.01):
            try:
                for request in approver.waiting():
                    self._look_at(approver, request)
            except AileronError as error:
                if not self._stop.is_set():
                    self.problems.append(str(error))

    def _look_at(self, approver: ApproverClient, request: Request) -> None:
        if request.id in self._answered:
            return
        if all(known.id != request.id for known in self.seen):
            self.seen.append(request)
        reply = self.operator(request)
        if reply is None:
            return
        self._answered.add(request.id)
        if reply.edits is not None:
            request = approver.refresh(request.id, reply.edits)
        with suppress(AileronError):  # the program may have withdrawn it
            approver.decide(request, reply.verdict, reason=reply.reason, edits=reply.edits)

    def forget(self) -> None:
        """Prepares for the next test."""
        self.operator = approve
        self._answered.update(request.id for request in self.seen)  # it may be looking at a list from before
        self.seen.clear()
        self.problems.clear()

    def stop(self) -> None:
        self._stop.set()

    @property
    def shown(self) -> Request:
        """The only request that the operator saw."""
        (only,) = self.seen
        return only

    def record(self, id_: str) -> HistoryRecord:
        with open_reader(self.data / FILE) as reader:
            found = reader.find(id_)
        assert found is not None
        return found

    def outcome(self, id_: str, expected: str) -> HistoryRecord:
        """Waits until the history has this outcome of a request."""

        def found() -> HistoryRecord | None:
            record = self.record(id_)
            return record if record.outcome == expected else None

        try:
            return until(found, "the outcome", 8)
        except AssertionError:
            raise AssertionError(f"{id_} is {self.record(id_).outcome}, not {expected}") from None

    def problem(self, id_: str) -> str:
        """The error in the last entry of a request."""
        with open_reader(self.data / FILE) as reader:
            return str(reader.of_request(id_)[-1].body.get("error", ""))

    @contextmanager
    def rule(self, tool: str, server: str, verdict: RuleVerdict = RuleVerdict.ALLOW) -> Iterator[Rule]:
        """A rule for all calls of a function."""
        rule = Rule(
            new_rule_id(),
            verdict,
            "python",
            tool,
            RuleReach.ANY,
            timestamp(utc_now() + timedelta(hours=1)),
            kind=CallKind.TOOL,
            risk=RiskLevel.NORMAL,
            connector=server,
        )
        with self.approver() as approver:
            approver.make_rule(rule)
            try:
                yield rule
            finally:
                approver.end_rule(rule.id)

    def approver(self) -> ApproverClient:
        return ApproverClient(discover(data=self.data), self.key)


@contextmanager
def answered_gate(root: Path, policy: Policy | None = None) -> Iterator[AnsweredGate]:
    """A gate that knows the agent `python`, with an operator who approves everything until a test says otherwise."""
    with ExitStack() as stack:
        key = stack.enter_context(for_this_run("operator"))
        manifests = root / "manifests"
        manifests.mkdir(parents=True)
        data = private_folder(root / "data")
        config = Config(policy or Policy(timeout=60, asks_per_10_minutes=0))
        stack.enter_context(enrolled(data, key))
        add_agent(data / FILE, "python", key)
        gate = stack.enter_context(EmbeddedGate(GateSetup(data, manifests, config, private_folder(root / "cache"))))
        made = AnsweredGate(root, key)
        approver = stack.enter_context(ApproverClient(gate.found, key))
        thread = threading.Thread(target=made.answer, args=(approver,))
        thread.start()
        stack.callback(thread.join)
        stack.callback(made.stop)
        yield made
