"""The checks of a chaos round notice each kind of violation."""

from collections import Counter
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.states import RequestState
from tests.chaos.fault_plan import DISK, LEDGER, FaultKind, plan_round
from tests.chaos.invariants import PastRequest, check
from tests.chaos.journal import DecisionMade, Journal
from tests.chaos.upstream import ChaosUpstream

MADE, RAN = EntryKind.REQUESTED, (EntryKind.REQUESTED, EntryKind.DECIDED, EntryKind.RUNNING)
TIMEOUT = 300


class Scene:
    """A round in which one request was approved and done; tests change one thing."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.upstream = ChaosUpstream()
        self.upstream.arrived, self.upstream.effects = Counter({"r-1": 1}), Counter({"r-1": 1})
        self.history = {"act-1": self.request()}
        self.tell(202, {"status": "pending_approval", "approval_id": "act-1"})
        self.approve(sent_at=1.0)
        self.tell(200, {"status": "completed", "audit_id": "audit-act-1"})

    def request(self, state: RequestState = RequestState.EXECUTED, kinds: tuple[str, ...] = RAN) -> PastRequest:
        return PastRequest("act-1", "r-1", "", state, kinds, (Verdict.APPROVE,) if len(kinds) > 1 else ())

    def tell(self, status: int, body: Any) -> None:
        self.journal.told("r-1", "", (status, body), 0.0)

    def approve(self, sent_at: float, reply: str = "accepted") -> None:
        self.journal.decisions["act-1"] = [DecisionMade("act-1", Verdict.APPROVE, sent_at, reply)]

    def violations(self) -> str:
        return "\n".join([*self.journal.violations, *check(self.journal, self.history, self.upstream, TIMEOUT)])


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_good_round_has_no_violations(scene: Scene) -> None:
    assert scene.violations() == ""


def test_a_lost_request_is_noticed(scene: Scene) -> None:
    scene.history.clear()
    assert "act-1 was accepted and is not in the history" in scene.violations()


def test_an_unapproved_effect_is_noticed(scene: Scene) -> None:
    scene.journal.decisions.clear()
    assert "r-1 was sent 1 times, with 0 approved" in scene.violations()


def test_an_effect_without_a_request_is_noticed(scene: Scene) -> None:
    scene.upstream.arrived["r-2"] = 1
    assert "r-2 was sent 1 times, with 0 approved and 0 started" in scene.violations()


def test_a_second_effect_is_noticed(scene: Scene) -> None:
    scene.upstream.arrived["r-1"] = scene.upstream.effects["r-1"] = 2
    assert "r-1 was sent 2 times" in scene.violations()
    assert "r-1 took effect 2 times" in scene.violations()


def test_a_false_completion_is_noticed(scene: Scene) -> None:
    scene.upstream.effects.clear()
    assert "the agent was told it was done, but it was not" in scene.violations()


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (503, {"error": {"code": "not_recorded"}}, "the agent was told that nothing was done, but it was started"),
        (200, {"status": "denied"}, "the agent was told that nothing was done, but it was started"),
        (
            200,
            {"status": "failed", "failure": {"error": {"class": "network_error"}}},
            "that it failed, but it was done",
        ),
    ],
)
def test_a_false_reply_is_noticed(scene: Scene, status: int, body: Any, expected: str) -> None:
    scene.tell(status, body)
    assert expected in scene.violations()


def test_an_unknown_outcome_may_have_taken_effect_or_not(scene: Scene) -> None:
    scene.history["act-1"] = scene.request(RequestState.INTERRUPTED)
    scene.journal.statements.clear()
    scene.journal.ended.clear()
    scene.tell(200, {"status": "failed", "failure": {"error": {"class": "outcome_unknown"}}})
    assert scene.violations() == ""
    scene.upstream.effects.clear()
    assert scene.violations() == ""


def test_a_failure_that_took_effect_is_noticed(scene: Scene) -> None:
    scene.history["act-1"] = scene.request(RequestState.FAILED)
    assert "r-1 took effect 1 times" in scene.violations()


def test_a_request_that_runs_for_ever_is_noticed(scene: Scene) -> None:
    scene.history["act-1"] = scene.request(RequestState.RUNNING)
    assert "act-1 is still running" in scene.violations()


def test_a_late_approval_is_noticed(scene: Scene) -> None:
    scene.approve(sent_at=TIMEOUT + 60.0)
    assert "act-1 was started by an approval 60.0 s after its deadline" in scene.violations()


def test_a_lost_decision_is_noticed(scene: Scene) -> None:
    scene.history["act-1"] = scene.request(RequestState.EXPIRED, (MADE,))
    assert "was accepted, but the history has ()" in scene.violations()


def test_an_approval_that_counted_although_it_was_refused_is_noticed(scene: Scene) -> None:
    scene.approve(1.0, "not_recorded")
    assert "every approver was told that nothing was done" in scene.violations()


def test_two_different_replies_are_noticed(scene: Scene) -> None:
    scene.journal.told("r-1", "act-1", (200, {"status": "denied"}), 0.0)
    assert "act-1: the agent was told <Claim.DONE" in scene.violations()


def test_a_seed_always_gives_the_same_plan() -> None:
    assert plan_round(7) == plan_round(7) != plan_round(8)


def test_every_fault_is_planned_but_never_two_of_the_disk() -> None:
    plans = [plan_round(seed) for seed in range(500)]
    assert {kind for plan in plans for kind in plan.kinds} == set(FaultKind)
    assert all(len(plan.kinds & DISK) <= 1 for plan in plans)


def test_without_the_shim_only_faults_from_outside_are_planned() -> None:
    kinds = {kind for seed in range(300) for kind in plan_round(seed, shim=False).kinds}
    assert not kinds & DISK
    assert kinds >= LEDGER | {FaultKind.KILLED, FaultKind.FROZEN}
