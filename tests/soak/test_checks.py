"""The checks of a soak find what they are there to find."""

from collections.abc import Callable

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.states import RequestState
from tests.soak.cases import Case
from tests.soak.growth import MIB, Growth, compare
from tests.soak.invariants import PastRequest, check_effects, check_history
from tests.soak.journal import PENDING, Call, Journal, Latency
from tests.soak.samples import ProcessSample, Sample

RAN = (EntryKind.REQUESTED, EntryKind.DECIDED, EntryKind.RUNNING, EntryKind.EXECUTED)
MINUTES = 30


def journal(case: Case = Case.APPROVED) -> Journal:
    found = Journal()
    verdicts = [Verdict.APPROVE] if case is Case.APPROVED else []
    found.add(Call("r-1", case, "agent-1", began=1.0, id="act-1", verdicts=verdicts, ended="completed"))
    return found


def past(id_: str = "act-1", state: RequestState = RequestState.EXECUTED, **changes: object) -> PastRequest:
    fields = {"marker": "r-1", "kinds": RAN, "verdicts": (Verdict.APPROVE,)} | changes
    return PastRequest(id_, "send-draft", "agent-1", state=state, **fields)  # type: ignore[arg-type]  # of each field


def test_a_call_that_is_recorded_once_is_fine() -> None:
    assert list(check_history(journal(), [past()])) == []
    assert list(check_effects(journal(), {"r-1": 1})) == []


@pytest.mark.parametrize(
    ("history", "said"),
    [
        ([], "0 times"),
        ([past(), past("act-2")], "2 times"),
        ([past(state=RequestState.RUNNING)], "still running"),
        ([past(state=RequestState.FAILED)], "is failed"),
        ([past("act-9")], "accepted as act-1"),
        ([past(verdicts=())], "without an approval"),
        ([past(verdicts=(Verdict.APPROVE, Verdict.APPROVE))], "decided 2 times"),
        ([past(), past("act-2", marker="r-2")], "nobody called"),
        ([past(), past("run-1", marker="", kinds=(EntryKind.EXECUTED,))], "1 runs without approval"),
    ],
)
def test_a_wrong_history_is_found(history: list[PastRequest], said: str) -> None:
    assert said in "\n".join(check_history(journal(), history))


def test_a_start_without_an_approval_is_found() -> None:
    assert "without an approval" in "\n".join(check_history(journal(Case.EXPIRED), [past()]))


@pytest.mark.parametrize(
    ("effects", "case"), [({}, Case.APPROVED), ({"r-1": 2}, Case.APPROVED), ({"r-1": 1}, Case.DENIED)]
)
def test_a_wrong_number_of_effects_is_found(effects: dict[str, int], case: Case) -> None:
    assert "took effect" in "\n".join(check_effects(journal(case), effects))


def test_an_effect_that_nobody_asked_for_is_found() -> None:
    assert "nobody asked" in "\n".join(check_effects(journal(), {"r-1": 1, "r-2": 1}))


def soaked(
    change: Callable[[int], ProcessSample], seconds: Callable[[int], float] = lambda _: 0.1
) -> dict[str, Growth]:
    """What is said about half an hour with a look every 15 seconds."""
    looks = range(0, MINUTES * 60, 15)
    samples = [Sample(float(at), change(at), None, 0, 0) for at in looks]
    latencies = [Latency(PENDING, float(at), seconds(at)) for at in looks]
    return {row.what: row for row in compare(samples, latencies, MINUTES * 60)}


def steady(_: int) -> ProcessSample:
    return ProcessSample(100 * MIB, 40, 20, 10.0)


def test_what_stays_the_same_is_flat() -> None:
    rows = soaked(steady).values()
    assert {row.flat for row in rows} == {True}
    assert {row.slope for row in rows} == {0.0}


def test_growth_is_found() -> None:
    rows = soaked(lambda at: ProcessSample((100 + at // 10) * MIB, 40 + at // 60, 20 + at // 60, 10.0))
    assert [name for name, row in rows.items() if row.flat is False] == [
        "gate: memory",
        "gate: descriptors",
        "gate: threads",
    ]
    assert rows["gate: memory"].slope == pytest.approx(360, rel=0.05)


def test_longer_response_times_are_found() -> None:
    rows = soaked(steady, lambda at: 0.1 + at / 1000)
    assert rows[f"{PENDING}, median"].flat is False


def test_what_happens_while_it_warms_up_does_not_count() -> None:
    rows = soaked(lambda at: ProcessSample((10 if at < 300 else 100) * MIB, 40, 20 if at >= 300 else 1, 10.0))
    assert {row.flat for row in rows.values()} == {True}


def test_a_short_soak_is_not_judged() -> None:
    samples = [Sample(float(at), ProcessSample(at * MIB, at, at, 1.0), None, 0, 0) for at in range(100)]
    assert {row.flat for row in compare(samples, [], 100)} == {None}
