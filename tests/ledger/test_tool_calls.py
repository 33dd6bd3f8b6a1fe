"""Tool calls in the ledger: handed over at most once, only after an approval, and never run here."""

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Damage
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.sqlite.reader import SqliteReader
from tests.ledger.scenes import DIGEST, Scene, change_entry, check, tampering

TOOL: JsonObject = {"kind": "tool", "action": "Bash", "args": {"command": "make test"}, "agent": "claude", "says": ""}


def approved(scene: Scene, id_: str = "act-1", **changes: str) -> None:
    scene.ledger.append(EntryKind.REQUESTED, {**TOOL, **changes}, id_)
    scene.decide(id_, Verdict.APPROVE)


def hand_over(scene: Scene, id_: str = "act-1", digest: str = DIGEST) -> None:
    scene.ledger.append(EntryKind.HANDED_OVER, {"digest": digest}, id_)


def outcome(scene: Scene, id_: str = "act-1") -> str:
    with SqliteReader(scene.ledger.path) as reader:
        found = reader.find(id_)
    assert found
    return found.outcome


def test_a_call_is_handed_over_and_its_end_reported(scene: Scene) -> None:
    approved(scene)
    hand_over(scene)
    assert outcome(scene) == RequestState.HANDED_OVER
    scene.ledger.append(EntryKind.EXECUTED, {"reported": True}, "act-1")
    assert outcome(scene) == RequestState.EXECUTED
    assert check(scene.close()).fault is None


def test_an_approval_that_was_not_fetched_is_withdrawn(scene: Scene) -> None:
    approved(scene)
    scene.ledger.append(EntryKind.WITHDRAWN, {"error": "nobody came"}, "act-1")
    with pytest.raises(InvalidTransition):
        hand_over(scene)
    assert check(scene.close()).fault is None


def test_nothing_is_handed_over_without_an_approval_or_twice(scene: Scene) -> None:
    scene.ledger.append(EntryKind.REQUESTED, TOOL, "act-1")
    with pytest.raises(InvalidTransition):
        hand_over(scene)
    scene.decide("act-1", Verdict.APPROVE)
    hand_over(scene)
    with pytest.raises(InvalidTransition):
        hand_over(scene)
    assert check(scene.close()).fault is None


def test_a_tool_call_never_runs_here_and_an_action_is_never_handed_over(scene: Scene) -> None:
    approved(scene)
    with pytest.raises(EntryRefused, match="cannot run here"):
        scene.ledger.append(EntryKind.RUNNING, {"digest": DIGEST}, "act-1")
    approved(scene, "act-2", kind="")
    with pytest.raises(EntryRefused, match="only a tool call"):
        hand_over(scene, "act-2")


def test_another_call_that_was_handed_over_is_found(scene: Scene) -> None:
    approved(scene)
    hand_over(scene)
    path = scene.close()
    with tampering(path) as db:
        seq = db.execute("SELECT max(seq) FROM entries").fetchone()[0]
        change_entry(
            db,
            seq,
            lambda entry: entry.__class__(
                entry.seq, entry.time, entry.kind, entry.request, {"digest": "sha256:" + "00" * 32}
            ),
        )
    fault = check(path).fault
    assert fault is not None
    assert fault.damage is Damage.OTHER


@pytest.mark.parametrize(
    ("kind", "step", "words"),
    [
        ("tool", EntryKind.RUNNING, "cannot run here"),
        ("", EntryKind.HANDED_OVER, "only a tool call can be handed over"),
    ],
)
def test_a_forged_step_of_the_other_kind_is_found(scene: Scene, kind: str, step: EntryKind, words: str) -> None:
    approved(scene, kind=kind)
    scene.forge(step, "act-1", {"digest": DIGEST})
    fault = check(scene.close()).fault
    assert fault is not None
    assert words in fault.detail
