"""Edited approvals in the ledger: that it was edited, how, and that it can be found by the words of the edit."""

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Damage
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.history_pages import past
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from tests.ledger.scenes import DIGEST, Scene, age_index, check
from tests.ledger.test_daemon_reports import found, looked_up, shown, tables

EDITS: JsonObject = {"to": "bob@example.com", "note": "zebra"}


def story(scene: Scene, request: str = "act-1") -> JsonObject:
    told = past(scene.ledger.path, request)
    assert told is not None
    return told


def test_an_edited_approval_is_one_in_the_history_and_its_search(scene: Scene) -> None:
    scene.ask("act-1", to="ann@example.com")
    scene.decide("act-1", edits=EDITS)
    scene.step(EntryKind.RUNNING, "act-1", digest=DIGEST)
    scene.step(EntryKind.EXECUTED, "act-1")
    scene.approved("act-2")
    assert [shown(scene, id_).edited for id_ in ("act-1", "act-2")] == [True, False]
    for words in ("zebra", "bob@example.com", "ann@example.com", "edited"):
        assert looked_up(scene, words) == ["act-1"], words
    asked: JsonObject = {"draft_id": "r-12345", "to": "ann@example.com"}
    assert story(scene)["edit"] == {"asked": asked, "approved": asked | EDITS, "changed": ["to", "note"]}
    assert story(scene, "act-2")["edit"] is None
    assert check(scene.close(), noted=True).fault is None


@pytest.mark.parametrize("edits", [None, {}])
def test_nothing_is_edited_by_no_edits(scene: Scene, edits: JsonObject | None) -> None:
    scene.ask("act-1")
    scene.decide("act-1", edits=edits)
    assert not shown(scene).edited
    assert story(scene)["edit"] is None


def test_a_denial_edits_nothing(scene: Scene) -> None:
    scene.ask("act-1")
    scene.decide("act-1", Verdict.DENY, edits=EDITS)
    assert not shown(scene).edited
    assert looked_up(scene, "zebra") == []


def test_an_edit_that_never_arrived_is_forgotten_and_the_next_answer_counts(scene: Scene) -> None:
    scene.ask_daemon("act-1")
    scene.decide("act-1", edits=EDITS)
    assert shown(scene).edited
    scene.tell("act-1", "pending")
    assert not shown(scene).edited
    assert looked_up(scene, "zebra") == []
    scene.decide("act-1")
    scene.tell("act-1", "executed")
    assert not shown(scene).edited
    assert story(scene)["edit"] is None
    assert found(scene.close()) is None


def test_an_answer_from_elsewhere_takes_the_place_of_an_edited_one(scene: Scene) -> None:
    scene.ask_daemon("act-1")
    scene.decide("act-1", edits=EDITS)
    scene.tell("act-1", "executed", elsewhere=True)
    assert not shown(scene).edited
    assert looked_up(scene, "zebra") == []
    assert story(scene)["edit"] is None


@pytest.mark.parametrize("outcome", ["running", "executed"])
def test_that_it_was_edited_elsewhere_can_be_learned_after_its_end(scene: Scene, outcome: str) -> None:
    scene.ask_daemon("act-1")
    scene.tell("act-1", outcome, elsewhere=True)
    scene.ledger.append(EntryKind.EDITED, {}, "act-1")
    record = shown(scene)
    assert (record.edited, record.surface, record.outcome) == (True, "elsewhere", outcome)
    assert looked_up(scene, "edited elsewhere") == ["act-1"]
    assert story(scene)["edit"] is None
    assert found(scene.close()) is None


def test_only_an_answer_from_elsewhere_can_be_told_to_have_been_edited(scene: Scene) -> None:
    scene.ask_daemon("act-1")
    scene.decide("act-1")
    scene.tell("act-1", "running")
    for request in ("act-1", "act-2"):
        with pytest.raises(EntryRefused):
            scene.ledger.append(EntryKind.EDITED, {}, request)
    scene.forge(EntryKind.EDITED, "act-2", {})
    fault = found(scene.close())
    assert fault is not None
    assert fault[1] is Damage.TOLD


def test_a_ledger_from_before_opens_verifies_and_learns_of_its_edits(scene: Scene) -> None:
    scene.ask_daemon("act-1", kind="shell")
    scene.decide("act-1", edits=EDITS)
    scene.tell("act-1", "running")
    path = scene.close()
    now = tables(path)
    age_index(path)
    assert check(path, noted=True).fault is None
    with SqliteReader(path) as reader:
        assert not reader.indexed()
    with SqliteLedger(path), SqliteReader(path) as reader:
        assert reader.indexed()
        assert [(record.edited, record.kind, record.daemon) for record in reader.page()] == [
            (True, "shell", "daemon-1")
        ]
    assert tables(path) == now
    assert check(path, noted=True).fault is None
