"""The history: newest first, by page, by filter, by words."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.reader import Reader
from aileron_tui.ledger.search import ALL, Filter, every, find, match_expression, page
from tests.ledger.scenes import Scene


@pytest.fixture
def reader(scene: Scene) -> Iterator[Reader]:
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
    with Reader(scene.ledger.path) as opened:
        yield opened


def ids(reader: Reader, wanted: Filter = ALL, before: int | None = None, limit: int = 50) -> list[str]:
    return [record.id for record in page(reader, wanted, before=before, limit=limit)]


def test_newest_first_by_page(reader: Reader) -> None:
    first = page(reader, limit=2)
    assert [record.id for record in first] == ["act-5", "act-4"]
    assert ids(reader, before=first[-1].seq, limit=2) == ["act-3", "act-2"]
    assert ids(reader, before=2) == []
    assert [record.id for record in every(reader)] == ["act-5", "act-4", "act-3", "act-2", "act-1"]


def test_a_record_tells_the_whole_story(reader: Reader, scene: Scene) -> None:
    record = find(reader, "act-2")
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
    failed = find(reader, "act-4")
    assert failed is not None
    assert (failed.outcome, failed.error, failed.surface) == ("failed", "Gmail API returned 404", "cli")
    waiting = find(reader, "act-5")
    assert waiting is not None
    assert (waiting.outcome, waiting.took, waiting.signer, waiting.ended) == ("pending", None, "", "")
    assert find(reader, "act-9") is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(outcomes=("denied",)), ["act-2"]),
        (Filter(outcomes=("denied", "executed")), ["act-2", "act-1"]),
        (Filter(surfaces=("cli",)), ["act-4"]),
        (Filter(actions=("move-file",)), ["act-3"]),
        (Filter(actions=("send-draft",), outcomes=("executed",)), ["act-1"]),
        (Filter(text="team@example.com"), ["act-1"]),
        (Filter(text="example com"), ["act-2", "act-1"]),
        (Filter(text="RECIPIENT"), ["act-2"]),
        (Filter(text="uberraschung"), ["act-2"]),
        (Filter(text="notes.txt codex"), ["act-3"]),
        (Filter(text="nobody"), ["act-3"]),
        (Filter(text="404"), ["act-4"]),
        (Filter(text="move-f*"), ["act-3"]),
        (Filter(text="send-draft denied"), ["act-2"]),
        (Filter(text="send-draft pending"), ["act-5"]),
        (Filter(text="send-draft", outcomes=("failed",)), ["act-4"]),
        (Filter(text='"quoted"'), ["act-5"]),
        (Filter(text="nothing-like-this"), []),
        (Filter(text="***"), []),
        (Filter(text="   "), ["act-5", "act-4", "act-3", "act-2", "act-1"]),
        (Filter(since="2026-05-12T10:00:08"), ["act-5", "act-4", "act-3", "act-2"]),
        (Filter(until="2026-05-12T10:00:08"), ["act-1"]),
        (Filter(since="2026-05-12T10:00:08", until="2026-05-12T10:00:13"), ["act-3", "act-2"]),
        (Filter(since="2027"), []),
        (Filter(until="2020"), []),
        (Filter(since="2026-05-12T10:00:08", text="send-draft"), ["act-5", "act-4", "act-2"]),
    ],
)
def test_filters_and_words(reader: Reader, wanted: Filter, found: list[str]) -> None:
    assert ids(reader, wanted) == found


def test_search_pages_too(reader: Reader) -> None:
    newest = page(reader, Filter(text="send-draft"), limit=1)
    assert [record.id for record in newest] == ["act-5"]
    assert ids(reader, Filter(text="send-draft"), before=newest[0].seq, limit=1) == ["act-4"]


@given(st.text(max_size=30))
def test_no_words_break_the_search(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = _shared(tmp_path_factory.getbasetemp())
    with Reader(path) as reader:
        page(reader, Filter(text=text))


@pytest.mark.parametrize(
    "text", ['"', "z OR b", "NOT", "action:x", "(", "^z", "z + b", "NEAR(z b)", "\0", "'; DROP TABLE"]
)
def test_operators_are_only_words(reader: Reader, text: str) -> None:
    assert ids(reader, Filter(text=text)) == []


def test_words_that_are_not_text_are_refused_in_words(reader: Reader) -> None:
    with pytest.raises(LedgerError, match="not text"):
        ids(reader, Filter(text="a\udcff"))


def test_every_word_becomes_a_quoted_string() -> None:
    assert match_expression('send OR "x" pre* -- *') == '"send" "OR" """x""" "pre"*'


def test_long_inputs_are_found_by_their_beginning(scene: Scene) -> None:
    scene.ask("act-1", body="needle " + "hay " * 50_000)
    with Reader(scene.ledger.path) as reader:
        assert ids(reader, Filter(text="needle")) == ["act-1"]


def test_a_clock_set_back_hides_nothing(scene: Scene) -> None:
    scene.ask("act-1")
    now = scene.clock.now
    scene.clock.now = now.replace(year=2025)
    scene.ask("act-2")
    scene.clock.now = now
    scene.ask("act-3")
    with Reader(scene.ledger.path) as reader:
        assert ids(reader, Filter(since="2026")) == ["act-3", "act-1"]
        assert ids(reader, Filter(until="2026")) == ["act-2"]


def _shared(base: Path) -> Path:
    """One small ledger for all the examples of a property."""
    path = base / "search" / "ledger.db"
    if not path.exists():
        scene = Scene(path)
        scene.denied("act-1")
        scene.close()
    return path
