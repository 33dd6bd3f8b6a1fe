"""Requests of a daemon: only what it tells of them counts, in an order that makes sense, and never as our approval."""

import itertools
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Damage
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.export import Exported, write_jsonl
from aileron_tui.ledger.full_check import audit_export
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.request_status import ENDS, OUTCOMES, objection
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.ledger.scenes import START, Scene, check

ASKED = "2026-05-12T09:00:00.000000Z"
AT = "2026-05-12T09:30:00.000000Z"
STANDS = {None: RequestState.PENDING, Verdict.APPROVE: RequestState.APPROVED, Verdict.DENY: RequestState.DENIED}


def found(path: Path) -> tuple[int, Damage] | None:
    fault = check(path, noted=True).fault
    return (fault.seq, fault.damage) if fault else None


def shown(scene: Scene, request: str = "act-1") -> HistoryRecord:
    with SqliteReader(scene.ledger.path) as reader:
        record = reader.find(request)
    assert record is not None
    return record


def looked_up(scene: Scene, text: str) -> list[str]:
    with SqliteReader(scene.ledger.path) as reader:
        return [record.id for record in reader.page(HistoryFilter(text=text))]


def tables(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Everything that is derived from the entries."""
    db = sqlite3.connect(path)
    names = ("steps", "keys", "nonces", "requests", "search")
    rows = {name: db.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in names if name != "keys"}
    rows["keys"] = db.execute("SELECT * FROM keys").fetchall()
    db.close()
    return rows


def test_our_answer_followed_to_its_end(scene: Scene) -> None:
    scene.ask_daemon("act-1", asked=ASKED)
    scene.show("act-1")
    scene.decide("act-1", reason="fine")
    scene.tell("act-1", "running")
    scene.tell("act-1", "failed", error="network_error: no route", reason="theirs")
    record = shown(scene)
    assert (record.asked, record.outcome, record.surface, record.reason) == (ASKED, "failed", "tui", "fine")
    assert record.signer == scene.key.public.fingerprint
    assert record.error == "network_error: no route"
    assert record.ended > record.decided > ""
    assert looked_up(scene, "route") == looked_up(scene, "fine") == looked_up(scene, "failed") == ["act-1"]
    assert looked_up(scene, "pending") == []
    assert found(scene.close()) is None


def test_an_answer_from_elsewhere_is_shown_as_such(scene: Scene) -> None:
    scene.ask_daemon("act-1", asked=ASKED)
    scene.tell("act-1", "denied", elsewhere=True, reason="not today", at=AT)
    record = shown(scene)
    assert (record.outcome, record.surface, record.signer, record.reason) == ("denied", "elsewhere", "", "not today")
    assert (record.decided, record.ended, record.took) == (AT, AT, 1800.0)
    assert looked_up(scene, "today") == ["act-1"]
    assert found(scene.close()) is None


def test_an_answer_from_elsewhere_that_was_faster_takes_the_place_of_ours(scene: Scene) -> None:
    scene.ask_daemon("act-1")
    scene.decide("act-1", Verdict.DENY, reason="no")
    scene.tell("act-1", "approved", elsewhere=True)
    scene.tell("act-1", "executed", elsewhere=True, at=AT)
    record = shown(scene)
    assert (record.outcome, record.surface, record.signer, record.reason) == ("executed", "elsewhere", "", "")
    assert record.ended == AT != record.decided
    assert found(scene.close()) is None


@pytest.mark.parametrize("verdict", list(Verdict))
def test_an_answer_that_never_arrived_can_be_given_again(scene: Scene, verdict: Verdict) -> None:
    scene.ask_daemon("act-1")
    scene.decide("act-1", verdict, reason="first")
    with pytest.raises(InvalidTransition):
        scene.decide("act-1", Verdict.DENY)
    scene.tell("act-1", "pending")
    record = shown(scene)
    assert (record.outcome, record.decided, record.took, record.surface, record.signer) == ("pending", "", None, "", "")
    assert (record.reason, record.ended) == ("", "")
    assert looked_up(scene, "first") == []
    scene.decide("act-1", Verdict.DENY, reason="second")
    assert (shown(scene).outcome, shown(scene).reason) == ("denied", "second")
    scene.tell("act-1", "denied")
    with pytest.raises(EntryRefused, match="its end was already reported"):
        scene.tell("act-1", "pending")
    assert found(scene.close()) is None


def test_a_confirmation_is_news_once(scene: Scene) -> None:
    scene.ask_daemon("act-1")
    scene.decide("act-1", Verdict.DENY)
    before = shown(scene)
    scene.tell("act-1", "denied")
    assert shown(scene) == before
    with pytest.raises(EntryRefused, match="nothing new"):
        scene.tell("act-1", "denied")


@pytest.mark.parametrize("end", sorted(ENDS))
@pytest.mark.parametrize("then", sorted(OUTCOMES))
def test_an_end_that_was_told_is_the_end(scene: Scene, end: str, then: str) -> None:
    scene.ask_daemon("act-1")
    scene.tell("act-1", end)
    with pytest.raises(EntryRefused, match="nothing new"):
        scene.tell("act-1", then)
    with pytest.raises(InvalidTransition):
        scene.decide("act-1")
    scene.forge(EntryKind.TOLD, "act-1", {"outcome": then})
    assert found(scene.close()) == (4, Damage.TOLD)


@pytest.mark.parametrize("body", [{}, {"outcome": "expired"}, {"outcome": "maybe"}, {"outcome": 7}, {"outcome": None}])
def test_words_that_say_nothing_are_refused_and_found(scene: Scene, body: JsonObject) -> None:
    scene.ask_daemon("act-1")
    with pytest.raises(EntryRefused, match="must say"):
        scene.ledger.append(EntryKind.TOLD, body, "act-1")
    scene.forge(EntryKind.TOLD, "act-1", body)
    assert found(scene.close()) == (3, Damage.TOLD)


@pytest.mark.parametrize("decided", [None, Verdict.APPROVE, Verdict.DENY])
def test_nothing_is_told_of_a_gates_own_request(scene: Scene, decided: Verdict | None) -> None:
    scene.ask("act-1")
    if decided:
        scene.decide("act-1", decided)
    for request in ("act-1", "act-9", ""):
        with pytest.raises(EntryRefused, match="its own requests"):
            scene.tell(request, "executed")
    bad = scene.forge(EntryKind.TOLD, "act-1", {"outcome": "executed"})
    assert found(scene.close()) == (bad.seq, Damage.TOLD)


def test_what_is_told_is_never_an_approval(scene: Scene) -> None:
    scene.ask("act-1")
    with pytest.raises(EntryRefused):
        scene.tell("act-1", "approved")
    with pytest.raises(InvalidTransition):
        scene.step(EntryKind.RUNNING, "act-1")
    scene.ask_daemon("act-2")
    scene.tell("act-2", "approved", elsewhere=True)
    with pytest.raises(EntryRefused, match="only its daemon"):
        scene.step(EntryKind.RUNNING, "act-2")
    report = check(scene.close(), noted=True)
    assert (report.fault, report.decisions) == (None, {})


@pytest.mark.parametrize("told", [None, "approved", "running"])
@pytest.mark.parametrize("body", [{}, {"gated": False}])
@pytest.mark.parametrize(
    "kind",
    [
        EntryKind.RUNNING,
        EntryKind.EXECUTED,
        EntryKind.FAILED,
        EntryKind.EXPIRED,
        EntryKind.WITHDRAWN,
        EntryKind.INTERRUPTED,
    ],
)
def test_nothing_is_run_for_a_daemon(scene: Scene, kind: EntryKind, body: JsonObject, told: str | None) -> None:
    scene.ask_daemon("act-1")
    scene.decide("act-1")
    if told:
        scene.tell("act-1", told)
    with pytest.raises(EntryRefused, match="only its daemon"):
        scene.ledger.append(kind, body, "act-1")
    bad = scene.forge(kind, "act-1", body)
    assert found(scene.close()) == (bad.seq, Damage.REPEATED)


@pytest.mark.parametrize("name", ["", 7, None, {}, ["daemon"]])
def test_a_daemon_has_a_name(scene: Scene, name: Json) -> None:
    with pytest.raises(EntryRefused, match="must name the daemon"):
        scene.ask_daemon("act-1", daemon=name)
    scene.forge(EntryKind.REQUESTED, "act-1", {"daemon": name})
    assert found(scene.close()) == (2, Damage.TOLD)


@pytest.mark.parametrize("asked", ["", "yesterday", 7, "2026-05-12", "2026-13-01T00:00:00.000000Z", ASKED + " "])
def test_a_time_that_is_none_does_not_pass_for_one(scene: Scene, asked: Json) -> None:
    scene.ask_daemon("act-1", asked=asked)
    scene.tell("act-1", "denied", elsewhere=True, at=asked)
    record = shown(scene)
    assert (record.asked, record.decided) == ("2026-05-12T10:00:02.000000Z", "2026-05-12T10:00:03.000000Z")


def test_a_gate_cannot_choose_when_it_was_asked(scene: Scene) -> None:
    scene.ledger.append(EntryKind.REQUESTED, {"asked": ASKED}, "act-1")
    assert shown(scene).asked == "2026-05-12T10:00:02.000000Z"


def lived(scene: Scene) -> None:
    """Requests of a daemon in every condition, between those of a gate."""
    for number, outcome in enumerate(sorted(OUTCOMES)):
        for verdict in (None, *Verdict):
            request = f"act-{number}-{verdict}"
            scene.ask_daemon(request, asked=ASKED, args={"text": request})
            scene.show(request)
            if verdict:
                scene.decide(request, verdict, reason=f"because {number}")
            if not objection(STANDS[verdict], False, RequestState(outcome)):
                scene.tell(request, outcome, elsewhere=bool(number % 2), reason="word", error="trouble", at=AT)
    scene.approved("act-gate-1")
    scene.denied("act-gate-2")
    scene.ask("act-gate-3")


def test_a_rebuilt_history_is_the_same(scene: Scene) -> None:
    lived(scene)
    before = tables(scene.ledger.path)
    scene.ledger.rebuild_index()
    assert tables(scene.ledger.path) == before
    assert len(before["requests"]) == 3 * len(OUTCOMES) + 3
    assert found(scene.close()) is None


def test_an_index_of_the_version_before_is_built_anew(scene: Scene) -> None:
    scene.approved("act-1")
    path = scene.close()
    db = sqlite3.connect(path)
    db.execute("ALTER TABLE requests DROP COLUMN told")
    db.execute("ALTER TABLE requests DROP COLUMN daemon")
    db.execute("UPDATE meta SET value = '1' WHERE name = 'index'")
    db.commit()
    db.close()
    again = Scene(path)
    again.ask_daemon("act-2")
    again.tell("act-2", "approved", elsewhere=True)
    assert found(again.close()) is None


def test_an_export_verifies_elsewhere(scene: Scene, tmp_path: Path) -> None:
    lived(scene)
    head = scene.ledger.head
    out = tmp_path / "out.jsonl"
    with SqliteReader(scene.close()) as reader, out.open("wb") as file:
        write_jsonl(reader, file, START)
    report = audit_export(Exported(out), RecordedSigners())
    assert (report.fault, report.head) == (None, head)
    out.write_bytes(out.read_bytes().replace(b'"trouble"', b'"Trouble"', 1))
    fault = audit_export(Exported(out), RecordedSigners()).fault
    assert fault is not None
    assert fault.damage is Damage.CHANGED


@pytest.mark.parametrize("kind", [EntryKind.REQUESTED, EntryKind.RUNNING, EntryKind.EXECUTED])
@pytest.mark.parametrize("daemon", [False, True])
def test_a_finished_request_that_goes_on_is_found_by_the_entries_alone(
    scene: Scene, tmp_path: Path, kind: EntryKind, daemon: bool
) -> None:
    if daemon:
        scene.ask_daemon("act-1")
        scene.tell("act-1", "executed")
    else:
        scene.approved("act-1")
    scene.approved("act-2")
    again = scene.ledger.head.seq + 1
    # As a program without rules and without an index would write it.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("aileron_tui.ledger.sqlite.request_index.record", lambda *_: None)
        patch.setattr("aileron_tui.ledger.sqlite.request_index.NewRequest.write", lambda *_: None)
        scene.forge(kind, "act-1", {"gated": False} if kind != EntryKind.REQUESTED else {})
    out = tmp_path / "out.jsonl"
    with SqliteReader(scene.close()) as reader, out.open("wb") as file:
        write_jsonl(reader, file, START)
    fault = audit_export(Exported(out), RecordedSigners()).fault
    assert fault is not None
    assert (fault.seq, fault.damage) == (again, Damage.REPEATED)


def test_a_history_that_shows_another_outcome_is_found(scene: Scene) -> None:
    scene.ask_daemon("act-1")
    scene.decide("act-1", Verdict.DENY)
    path = scene.close()
    db = sqlite3.connect(path)
    db.execute("UPDATE requests SET outcome = 'executed'")
    db.commit()
    db.close()
    assert found(path) == (2, Damage.INDEX)


STEPS = (*sorted(OUTCOMES), *Verdict)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(STEPS), max_size=12))
def test_whatever_is_tried_what_is_taken_verifies(tmp_path_factory: pytest.TempPathFactory, tries: list[str]) -> None:
    """The writer and the verification agree on what may follow: one refuses exactly what the other finds."""
    scene = Scene(tmp_path_factory.mktemp("told") / "data" / "ledger.db")
    scene.ask_daemon("act-1")
    for number, what in enumerate(tries):
        before = scene.ledger.head
        try:
            if what in set(Verdict):
                scene.decide("act-1", Verdict(what))
            else:
                scene.tell("act-1", what, elsewhere=bool(number % 2))
        except (EntryRefused, InvalidTransition):
            assert scene.ledger.head == before
            if what not in set(Verdict):
                bad = scene.forge(EntryKind.TOLD, "act-1", {"outcome": what})
                assert found(scene.close()) == (bad.seq, Damage.TOLD)
                return
    kept = tables(scene.ledger.path)
    scene.ledger.rebuild_index()
    assert tables(scene.ledger.path) == kept
    assert found(scene.close()) is None


def test_every_pair_of_outcomes_has_an_answer() -> None:
    open_ = [(RequestState.PENDING, False), (RequestState.APPROVED, False), (RequestState.DENIED, False)]
    heard = [(state, True) for state in OUTCOMES - {RequestState.PENDING}]
    allowed = {
        (state, told, outcome)
        for (state, told), outcome in itertools.product(open_ + heard, OUTCOMES)
        if not objection(state, told, outcome)
    }
    assert not any(told and state in ENDS for state, told, _ in allowed)
    assert (RequestState.PENDING, False, RequestState.PENDING) not in allowed
    assert {(state, told) for state, told, outcome in allowed if outcome is RequestState.PENDING} == {
        (RequestState.APPROVED, False),
        (RequestState.DENIED, False),
        (RequestState.APPROVED, True),
        (RequestState.RUNNING, True),
    }
    assert (RequestState.RUNNING, True, RequestState.APPROVED) not in allowed
