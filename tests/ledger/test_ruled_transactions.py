"""A call that a rule allows: recorded, answered and begun in one transaction, and found by what is true of it."""

from dataclasses import replace

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.outcome_words import RULE_SURFACE
from aileron_tui.core.rule import RuleReach
from aileron_tui.core.rule_change import RuleChange, ended
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.signing.envelope import sign
from tests.ledger.scenes import DIGEST, Scene, check
from tests.ledger.test_rules import CONNECTOR, RULE, answer, asked, make

ONE = replace(RULE, reach=RuleReach.CALL, shown="", args={"to": "team@example.com"})


def drafts(scene: Scene, seq: int, request: str) -> list[EntryDraft]:
    body: JsonObject = {
        "action": "send-draft",
        "connector": {"name": "local://samples/mail", "version": "1.0.0", "hash": CONNECTOR},
        "agent": "claude",
        "says": "",
        "risk": "high",
        "args": {"to": "team@example.com"},
    }
    return [
        EntryDraft(EntryKind.REQUESTED, body, request),
        EntryDraft(EntryKind.RULED, answer(scene, seq, ONE, shown=""), request),
        EntryDraft(EntryKind.RUNNING, {"digest": DIGEST}, request),
    ]


def found(scene: Scene, text: str) -> list[str]:
    """The requests that a search finds, by the index as it is and as it is after a rebuild."""
    pages = []
    for _ in range(2):
        with SqliteReader(scene.ledger.path) as reader:
            pages.append([record.id for record in reader.page(HistoryFilter(text=text))])
        scene.ledger.rebuild_index()
    assert pages[0] == pages[1]
    return pages[0]


def rows(scene: Scene) -> tuple[HistoryRecord, ...]:
    with SqliteReader(scene.ledger.path) as reader:
        return reader.page()


def ending(scene: Scene) -> RuleChange:
    return ended(ONE.id, scene.ledger.head.hash, timestamp(scene.clock.now))


def test_a_call_in_one_transaction_is_shown_like_one_in_three(scene: Scene) -> None:
    seq = make(scene, ONE)
    for draft in drafts(scene, seq, "act-1"):
        scene.ledger.append_all([draft])
    scene.ledger.append_all(drafts(scene, seq, "act-2"))
    second, first = rows(scene)
    assert replace(first, id=second.id, seq=second.seq, asked=second.asked, decided=second.decided) == second
    assert (second.outcome, second.surface, second.rule) == (RequestState.RUNNING, RULE_SURFACE, ONE.id)
    scene.ledger.rebuild_index()
    assert rows(scene) == (second, first)
    assert check(scene.ledger.path, noted=True).fault is None


def test_a_running_call_is_found_by_its_words_but_not_by_how_it_will_end(scene: Scene) -> None:
    scene.ledger.append_all(drafts(scene, make(scene, ONE), "act-1"))
    for text in ("team@example.com", "send-draft claude", ONE.id, "allowed rule", "team*"):
        assert found(scene, text) == ["act-1"], text
    for text in ("executed", "done", "team@example.com executed", "exec*", "pending"):
        assert found(scene, text) == [], text
    scene.ledger.append(EntryKind.EXECUTED, {}, "act-1")
    for text in ("executed", "done", "team@example.com executed", "exec*", f"{ONE.id} done"):
        assert found(scene, text) == ["act-1"], text
    assert check(scene.ledger.path, noted=True).fault is None


@pytest.mark.parametrize(
    ("kind", "word"),
    [(EntryKind.FAILED, "failed"), (EntryKind.INTERRUPTED, "interrupted"), (EntryKind.UNKNOWN, "unknown")],
)
def test_a_call_that_does_not_succeed_is_found_by_its_own_end(scene: Scene, kind: EntryKind, word: str) -> None:
    scene.ledger.append_all(drafts(scene, make(scene, ONE), "act-1"))
    scene.ledger.append(kind, {"error": "the host was unreachable"}, "act-1")
    for text in (word, "unreachable", ONE.id, "team@example.com"):
        assert found(scene, text) == ["act-1"], text
    assert found(scene, "executed") == found(scene, "done") == []


def test_a_call_with_a_preview_is_found_by_the_same_words(scene: Scene) -> None:
    seq = make(scene)
    request = asked(scene)
    answered = EntryDraft(EntryKind.RULED, answer(scene, seq), request)
    scene.ledger.append_all([answered, EntryDraft(EntryKind.RUNNING, {"digest": DIGEST}, request)])
    assert found(scene, f"{RULE.id} r-12345") == [request]
    assert found(scene, "executed") == []
    scene.ledger.append(EntryKind.EXECUTED, {}, request)
    assert found(scene, f"{RULE.id} executed") == [request]


def test_a_request_cannot_be_made_or_begin_twice_in_a_transaction(scene: Scene) -> None:
    once = drafts(scene, make(scene, ONE), "act-1")
    head = scene.ledger.head
    for more in once:
        with pytest.raises(InvalidTransition):
            scene.ledger.append_all([*once, more])
    assert scene.ledger.head == head
    assert rows(scene) == ()
    scene.ledger.append_all([*once, EntryDraft(EntryKind.EXECUTED, {}, "act-1")])
    assert rows(scene)[0].outcome == RequestState.EXECUTED
    assert found(scene, "executed") == ["act-1"]


def test_a_rule_that_another_process_ends_answers_nothing_more(scene: Scene) -> None:
    seq = make(scene, ONE)
    scene.ledger.append_all(drafts(scene, seq, "act-1"))
    change = ending(scene)
    with SqliteLedger(scene.ledger.path, guest=True, clock=lambda: scene.clock.now) as guest:
        guest.append(change.change, change.body(sign(change, scene.key).fields()))
    with pytest.raises(EntryRefused, match="no longer in force"):
        scene.ledger.append_all(drafts(scene, seq, "act-2"))


def test_a_key_that_another_process_revokes_ends_its_rules(scene: Scene) -> None:
    seq = make(scene, ONE)
    scene.ledger.append_all(drafts(scene, seq, "act-1"))
    with SqliteLedger(scene.ledger.path, guest=True, clock=lambda: scene.clock.now) as guest:
        guest.append(EntryKind.KEY_REVOKED, {"name": "laptop", "fingerprint": scene.key.public.fingerprint})
    with pytest.raises(EntryRefused, match="no longer in force"):
        scene.ledger.append_all(drafts(scene, seq, "act-2"))


def test_a_rule_that_ends_in_the_same_transaction_answers_nothing_after_that(scene: Scene) -> None:
    seq = make(scene, ONE)
    scene.ledger.append_all(drafts(scene, seq, "act-1"))
    change = ending(scene)
    end = EntryDraft(change.change, change.body(sign(change, scene.key).fields()))
    with pytest.raises(EntryRefused, match="no longer in force"):
        scene.ledger.append_all([*drafts(scene, seq, "act-2"), end, *drafts(scene, seq, "act-3")])
    scene.ledger.append_all([*drafts(scene, seq, "act-2"), end])  # nothing of the refused transaction is left
    with pytest.raises(EntryRefused, match="no longer in force"):
        scene.ledger.append_all(drafts(scene, seq, "act-3"))
