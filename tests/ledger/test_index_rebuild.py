"""An index that is rebuilt is the one that was written entry by entry."""

import logging
import sqlite3
from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import decode, read_end
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.sqlite.schema import CHANGE_LISTS
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from tests.ledger.scenes import DIGEST, Scene

TABLES = (*CHANGE_LISTS, "steps", "nonces", "counters", "requests", "search")


def content(path: Path) -> dict[str, object]:
    """Everything in the derived tables, and which indexes there are."""
    db = sqlite3.connect(path)
    try:
        found: dict[str, object] = {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in TABLES}
        found["indexes"] = sorted(db.execute("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'search%'"))
        words = db.execute("SELECT rowid FROM search WHERE search MATCH 'claude OR executed OR wrong' ORDER BY rowid")
        found["words"] = words.fetchall()
        return found
    finally:
        db.close()


@pytest.fixture
def busy(scene: Scene) -> Scene:
    """Requests of every kind: overlapping, denied, edited, reported by a daemon, with ids that are not plain."""
    scene.ask('act-é"\\', to="a@example.com")
    scene.approved("act-1")
    scene.denied("act-2")
    scene.ask("act-3")
    scene.show("act-3")
    scene.ask_daemon("apr-1")
    scene.decide("act-3", edits={"to": "b"}, reason="fine")
    scene.tell("apr-1", "approved", elsewhere=True)
    scene.tell("apr-1", "failed", error="no")
    scene.step(EntryKind.RUNNING, "act-3", digest=DIGEST)
    scene.step(EntryKind.FAILED, "act-3", error="it broke")
    scene.step(EntryKind.EXPIRED, 'act-é"\\')
    scene.ask("act-4")
    scene.show("act-4")
    scene.decide("act-4", Verdict.DENY)
    scene.ledger.append(EntryKind.RUNNING, {"gated": False}, "free-1")
    scene.ledger.append(EntryKind.EXECUTED, {"gated": False}, "free-1")
    scene.ledger.append(EntryKind.STOPPED, {})
    return scene


def test_a_rebuilt_index_is_the_one_that_was_written(busy: Scene) -> None:
    path = busy.close()
    before = content(path)
    told: list[tuple[int, int]] = []
    with SqliteLedger(path) as ledger:
        ledger.rebuild_index(lambda done, total: told.append((done, total)))
        ledger.append(EntryKind.CONFIG_CHANGED, {})
        busy.ledger = ledger
    assert content(path) == before


def test_a_second_rebuild_finds_no_temporary_tables(busy: Scene) -> None:
    busy.ledger.rebuild_index()
    busy.ledger.rebuild_index()
    busy.ask("act-9")


def test_the_end_of_an_entry_is_read_as_the_whole(busy: Scene) -> None:
    path = busy.close()
    db = sqlite3.connect(path)
    rows = [row[0] for row in db.execute("SELECT data FROM entries")]
    db.close()
    for data in rows:
        entry = decode(data)
        plain = entry.request.isascii() and not {'"', "\\"} & set(entry.request)
        assert read_end(data) == ((entry.kind, entry.request, entry.time) if plain else None)


def test_a_program_that_starts_says_that_it_rebuilds(busy: Scene, caplog: pytest.LogCaptureFixture) -> None:
    path = busy.close()
    db = sqlite3.connect(path)
    db.execute("UPDATE meta SET value = 'old' WHERE name = 'index'")
    db.commit()
    db.close()
    with caplog.at_level(logging.INFO):
        SqliteLedger(path).close()
    assert "the search index is being rebuilt: 0 of " in caplog.text
