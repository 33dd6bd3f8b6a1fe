"""The history: newest first, by page, by filter, by words."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.outcome_words import ALLOWED
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.history_filter import ALL, HistoryFilter
from aileron_tui.ledger.sqlite.history_queries import match_expression
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.signing.key_store import for_this_run
from tests.ledger.scenes import Scene, tampering


@pytest.fixture
def reader(scene: Scene) -> Iterator[SqliteReader]:
    """Five requests with different ends, and a reader."""
    scene.approved("act-1", to="team@example.com")
    scene.denied("act-2", reason="wrong recipient", to="bob@example.com", subject="Überraschung")
    scene.ask("act-3", action="move-file", agent="codex", path="/tmp/notes.txt")
    scene.step(EntryKind.EXPIRED, "act-3")
    scene.ask("act-4")
    scene.decide("act-4", surface="cli")
    scene.step(EntryKind.RUNNING, "act-4")
    scene.step(EntryKind.FAILED, "act-4", error="Gmail API returned 404")
    scene.ask("act-5", quote='a "quoted" word')
    with SqliteReader(scene.ledger.path) as opened:
        yield opened


def ids(reader: SqliteReader, wanted: HistoryFilter = ALL, before: int | None = None, limit: int = 50) -> list[str]:
    return [record.id for record in reader.page(wanted, before=before, limit=limit)]


def test_what_was_approved_and_never_fetched_was_approved(scene: Scene) -> None:
    scene.ask("act-1")
    scene.decide("act-1")
    scene.ask("act-2")
    for id_ in ("act-1", "act-2"):
        scene.step(EntryKind.WITHDRAWN, id_)
    with SqliteReader(scene.ledger.path) as reader:
        assert ids(reader, HistoryFilter(outcomes=ALLOWED)) == ["act-1"]
        assert ids(reader, HistoryFilter(outcomes=(*ALLOWED, "withdrawn"))) == ["act-2", "act-1"]


def test_newest_first_by_page(reader: SqliteReader) -> None:
    first = reader.page(limit=2)
    assert [record.id for record in first] == ["act-5", "act-4"]
    assert ids(reader, before=first[-1].seq, limit=2) == ["act-3", "act-2"]
    assert ids(reader, before=2) == []
    assert [record.id for record in reader.every()] == ["act-5", "act-4", "act-3", "act-2", "act-1"]


def test_a_record_tells_the_whole_story(reader: SqliteReader, scene: Scene) -> None:
    record = reader.find("act-2")
    assert record is not None
    assert (record.action, record.connector, record.agent, record.risk) == (
        "send-draft",
        "local://samples/mail",
        "claude",
        "high",
    )
    assert (record.outcome, record.surface, record.reason) == ("denied", "tui", "wrong recipient")
    assert (record.signer, record.took) == (scene.key.public.fingerprint, 1.0)
    assert record.ended == record.decided > record.shown > record.asked
    failed = reader.find("act-4")
    assert failed is not None
    assert (failed.outcome, failed.error, failed.surface) == ("failed", "Gmail API returned 404", "cli")
    waiting = reader.find("act-5")
    assert waiting is not None
    assert (waiting.outcome, waiting.took, waiting.signer, waiting.ended) == ("pending", None, "", "")
    assert reader.find("act-9") is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (HistoryFilter(outcomes=("denied",)), ["act-2"]),
        (HistoryFilter(outcomes=("denied", "executed")), ["act-2", "act-1"]),
        (HistoryFilter(surfaces=("cli",)), ["act-4"]),
        (HistoryFilter(actions=("move-file",)), ["act-3"]),
        (HistoryFilter(actions=("send-draft",), outcomes=("executed",)), ["act-1"]),
        (HistoryFilter(text="team@example.com"), ["act-1"]),
        (HistoryFilter(text="example com"), ["act-2", "act-1"]),
        (HistoryFilter(text="RECIPIENT"), ["act-2"]),
        (HistoryFilter(text="uberraschung"), ["act-2"]),
        (HistoryFilter(text="notes.txt codex"), ["act-3"]),
        (HistoryFilter(text="nobody"), ["act-3"]),
        (HistoryFilter(text="404"), ["act-4"]),
        (HistoryFilter(text="move-f*"), ["act-3"]),
        (HistoryFilter(text="send-draft denied"), ["act-2"]),
        (HistoryFilter(text="send-draft pending"), ["act-5"]),
        (HistoryFilter(text="send-draft", outcomes=("failed",)), ["act-4"]),
        (HistoryFilter(text='"quoted"'), ["act-5"]),
        (HistoryFilter(text="nothing-like-this"), []),
        (HistoryFilter(text="***"), []),
        (HistoryFilter(text="   "), ["act-5", "act-4", "act-3", "act-2", "act-1"]),
        (HistoryFilter(since="2026-05-12T10:00:08"), ["act-5", "act-4", "act-3", "act-2"]),
        (HistoryFilter(until="2026-05-12T10:00:08"), ["act-1"]),
        (HistoryFilter(since="2026-05-12T10:00:08", until="2026-05-12T10:00:13"), ["act-3", "act-2"]),
        (HistoryFilter(since="2027"), []),
        (HistoryFilter(until="2020"), []),
        (HistoryFilter(since="2026-05-12T10:00:08", text="send-draft"), ["act-5", "act-4", "act-2"]),
    ],
)
def test_filters_and_words(reader: SqliteReader, wanted: HistoryFilter, found: list[str]) -> None:
    assert ids(reader, wanted) == found


def test_search_pages_too(reader: SqliteReader) -> None:
    newest = reader.page(HistoryFilter(text="send-draft"), limit=1)
    assert [record.id for record in newest] == ["act-5"]
    assert ids(reader, HistoryFilter(text="send-draft"), before=newest[0].seq, limit=1) == ["act-4"]


@given(st.text(max_size=30))
def test_no_words_break_the_search(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = _shared(tmp_path_factory.getbasetemp())
    with SqliteReader(path) as reader:
        reader.page(HistoryFilter(text=text))


@pytest.mark.parametrize(
    "text", ['"', "z OR b", "NOT", "action:x", "(", "^z", "z + b", "NEAR(z b)", "\0", "'; DROP TABLE"]
)
def test_operators_are_only_words(reader: SqliteReader, text: str) -> None:
    assert ids(reader, HistoryFilter(text=text)) == []


def test_words_that_are_not_text_are_refused_in_words(reader: SqliteReader) -> None:
    with pytest.raises(LedgerError, match="the search text is not valid Unicode"):
        ids(reader, HistoryFilter(text="a\udcff"))


def test_every_word_becomes_a_quoted_string() -> None:
    assert match_expression('send OR "x" pre* -- *') == '"send" "OR" """x""" "pre"*'


def test_long_inputs_are_found_by_their_beginning(scene: Scene) -> None:
    scene.ask("act-1", body="needle " + "hay " * 50_000)
    with SqliteReader(scene.ledger.path) as reader:
        assert ids(reader, HistoryFilter(text="needle")) == ["act-1"]


def test_a_clock_set_back_hides_nothing(scene: Scene) -> None:
    scene.ask("act-1")
    now = scene.clock.now
    scene.clock.now = now.replace(year=2025)
    scene.ask("act-2")
    scene.clock.now = now
    scene.ask("act-3")
    with SqliteReader(scene.ledger.path) as reader:
        assert ids(reader, HistoryFilter(since="2026")) == ["act-3", "act-1"]
        assert ids(reader, HistoryFilter(until="2026")) == ["act-2"]


def test_the_last_answers_of_a_key_come_in_the_order_of_the_answers(scene: Scene) -> None:
    other = for_this_run("desktop")
    scene.enrol(other)
    scene.ask("act-first")
    scene.denied("act-second")
    scene.approved("act-third")
    scene.decide("act-first")
    scene.ask("act-other")
    scene.decide("act-other", key=other)
    scene.ask("act-open")
    with SqliteReader(scene.ledger.path) as reader:
        mine = HistoryFilter(signer=scene.key.public.fingerprint)
        assert ids(reader, mine) == ["act-first", "act-third", "act-second"]
        assert ids(reader, mine, limit=1) == ["act-first"]
        assert ids(reader, HistoryFilter(signer=other.public.fingerprint)) == ["act-other"]
        assert ids(reader, HistoryFilter(signer="SHA256:unknown")) == []


def test_what_a_rule_allowed_is_found_and_is_nobodys_answer(scene: Scene) -> None:
    scene.approved("act-1")
    scene.approved("act-2")
    scene.denied("act-3")
    scene.denied("act-4")
    path = scene.close()
    with tampering(path) as db:
        db.execute("UPDATE requests SET surface = 'rule' WHERE id IN ('act-2', 'act-4')")
    with SqliteReader(path) as reader:
        assert ids(reader, HistoryFilter(outcomes=("by_rule",))) == ["act-2"]
        assert ids(reader, HistoryFilter(outcomes=("by_rule", "denied"))) == ["act-4", "act-3", "act-2"]
        assert ids(reader, HistoryFilter(text="send-draft", outcomes=("by_rule",))) == ["act-2"]
        assert ids(reader, HistoryFilter(outcomes=("by_rule",), agents=("codex",))) == []
        assert ids(reader, HistoryFilter(signer=scene.key.public.fingerprint)) == ["act-3", "act-1"]


def _shared(base: Path) -> Path:
    """One small ledger for all the examples of a property."""
    path = base / "search" / "ledger.db"
    if not path.exists():
        scene = Scene(path)
        scene.denied("act-1")
        scene.close()
    return path
