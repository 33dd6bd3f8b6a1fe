"""The file of results gives back its space while a gate runs."""

from pathlib import Path

import pytest

from aileron_tui.ledger.sqlite import result_store
from aileron_tui.ledger.sqlite.result_store import SqliteResults
from aileron_tui.ledger.store import StoredResult


def fill(results: SqliteResults, count: int, day: str) -> None:
    for number in range(count):
        result = StoredResult(f"act-{day}-{number}", {"result": "x" * 20_000})
        results.put(result, f"call-{day}-{number}", f"2026-05-{day}T10:00:00.000000Z")


def on_disk(path: Path) -> int:
    return path.stat().st_size


def test_old_results_are_deleted_and_the_file_shrinks(tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    results = SqliteResults(path)
    fill(results, 100, "01")
    results.close()
    assert on_disk(path) > 1_500_000
    results = SqliteResults(path)
    results.forget("2026-05-02", "2026-05-02")
    results.close()
    assert on_disk(path) < 100_000
    assert [file.name for file in tmp_path.iterdir()] == ["answers.db"]


def test_many_delivered_results_are_deleted_before_their_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_store, "_LARGEST", 1_000_000)
    results = SqliteResults(tmp_path / "answers.db")
    fill(results, 300, "01")
    for number in range(290):
        results.deliver(f"act-01-{number}")
    results.forget("2026-01-01", "2026-01-01")
    results.close()
    assert on_disk(tmp_path / "answers.db") < 3_000_000
    results = SqliteResults(tmp_path / "answers.db")
    assert all(results.find(f"act-01-{number}") for number in range(290, 300)), "nobody has fetched these"
    results.close()


def test_undelivered_results_are_found_after_a_restart_and_after_old_ones_were_deleted(tmp_path: Path) -> None:
    results = SqliteResults(tmp_path / "answers.db")
    fill(results, 2, "01")
    fill(results, 2, "09")
    results.deliver("act-09-0")
    results.close()
    results = SqliteResults(tmp_path / "answers.db")
    assert results.undelivered("call-01-1")
    assert results.undelivered("call-09-1")
    results.forget("2026-05-05", "2026-05-05")
    fill(results, 1, "10")
    calls = [f"call-{day}-{number}" for day in ("01", "09", "10") for number in (0, 1)]
    assert [call for call in calls if results.undelivered(call)] == ["call-09-1", "call-10-0"]
    results.close()
