"""A gate that is killed while a rule answers a call: nothing runs twice, and what is not certain is asked."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.rule_change import made
from aileron_tui.core.rule_reader import read_rule
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.signing.envelope import sign
from tests.gate.disk_state import RecordedRequest, read_disk_state
from tests.gate.gate_harness import ACTION, GateHarness, Plan, gate_harness
from tests.gate.gate_process import GateAddress


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Iterator[GateHarness]:
    root = tmp_path_factory.mktemp("rule-crash")
    (root / "home").mkdir(0o700)
    shutil.copytree(compiled, root / "home" / "cache")
    with gate_harness(root) as harness:
        yield harness


@pytest.fixture
def harness(shared: GateHarness) -> GateHarness:
    shared.clear()
    return shared


def make_rule(harness: GateHarness, address: GateAddress, draft: str) -> None:
    """Makes a rule from a request for a draft, then denies the request."""
    agent, approver = harness.agent(address), harness.approver(address)
    id_ = harness.call(agent, draft)
    approver.previewed_request(id_)
    status, offers = approver.ask("GET", f"/v1/action-approvals/{id_}/rules")
    assert status == 200, offers
    change = made(read_rule(offers["offers"][0]["rule"]), offers["head"], timestamp(datetime.now(UTC)))
    status, reply = approver.ask("POST", "/v1/rules", {"envelope": sign(change, harness.key).fields()})
    assert status == 200, reply
    harness.decide(approver, id_, Verdict.DENY)
    harness.wait_for_result(agent, id_)


def ruled(harness: GateHarness, draft: str) -> list[RecordedRequest]:
    """The requests for a draft after the first one, which was denied."""
    found = [request for request in read_disk_state(harness.data).requests.values() if request.draft == draft]
    return [request for request in found if request.state is not RequestState.DENIED]


@pytest.mark.parametrize(
    ("kill", "found", "sent"),
    [
        ("ledger:request.made:before:1", [], 0),
        ("sandbox:preview:before:1", [RequestState.PENDING], 0),
        ("ledger:rule.answered:before:1", [RequestState.PENDING], 0),
        ("ledger:rule.answered:after:1", [RequestState.RUNNING], 0),
        ("sandbox:execute:before:1", [RequestState.RUNNING], 0),
        ("sandbox:execute:after:1", [RequestState.RUNNING], 1),
        ("ledger:op.executed:before:1", [RequestState.RUNNING], 1),
        ("ledger:op.executed:after:1", [RequestState.EXECUTED], 1),
    ],
)
def test_a_crash_while_a_rule_answers(harness: GateHarness, kill: str, found: list[RequestState], sent: int) -> None:
    draft = harness.draft()
    assert not harness.run_once(Plan("a rule is made"), lambda address: make_rule(harness, address, draft))

    def call(address: GateAddress) -> None:
        harness.agent(address).run(ACTION, {"draft_id": draft})

    assert harness.run_once(Plan("a rule answers", kill=kill), call), "the gate did not die"
    assert [request.state for request in ruled(harness, draft)] == found
    assert harness.service.arrived[draft] == sent

    def check(address: GateAddress) -> None:
        """What was interrupted is asked again, and no rule answers that."""
        waiting = [item["args"]["draft_id"] for item in harness.approver(address).waiting()]
        assert waiting == ([draft] if found and found[0] is not RequestState.EXECUTED else [])
        harness.finish_all(address)

    harness.run_once(Plan("the next run"), check)
    assert harness.service.arrived[draft] == sent
    runs = [request.kinds.count(EntryKind.RUNNING) for request in ruled(harness, draft)]
    assert sum(runs) == bool(found and found[0] is not RequestState.PENDING)
