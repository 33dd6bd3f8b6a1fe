"""Verification in ranges, in several processes, and from a checkpoint on: it finds what the whole one finds."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Damage
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger import checkpoint, parallel_check, quick_check
from aileron_tui.ledger.entry_check import CheckReport
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.quick_check import QuickCheck
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.signing.key_store import for_this_run
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.ledger.scenes import DIGEST, LIFE, Scene, change_entry, check_in_ranges, tampering


@pytest.fixture(autouse=True)
def checkpoints_of_short_ledgers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "FEWEST", 1)
    monkeypatch.setattr(quick_check, "FEWEST", 1)


@pytest.fixture
def never_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if everything is verified again in order, which is done only if something looks wrong."""
    monkeypatch.setattr(quick_check, "audit", None)


@pytest.fixture
def busy(scene: Scene) -> Scene:
    """A ledger whose requests overlap, with a key that came and went, calls that nobody was asked about, and a wait."""
    other = for_this_run("phone")
    for number in range(6):
        scene.ask(f"early-{number}")
        scene.show(f"early-{number}")
    scene.enrol(other)
    scene.approved("act-1")
    scene.ledger.append(EntryKind.RUNNING, {"gated": False}, "free-1")
    for number in range(3):
        scene.decide(f"early-{number}", Verdict.DENY, key=other)
    scene.ledger.append(EntryKind.EXECUTED, {"gated": False}, "free-1")
    scene.revoke(other)
    scene.decide("early-3")
    scene.approved("act-2")
    scene.ledger.append(EntryKind.RUNNING, {"digest": DIGEST}, "early-3")
    scene.step(EntryKind.EXECUTED, "early-3")
    scene.step(EntryKind.EXPIRED, "early-4")
    return scene


def whole(path: Path, *expected: Head) -> CheckReport:
    with SqliteReader(path) as reader:
        return audit(reader, RecordedSigners(), expected)


def resumed(path: Path, folder: Path, *expected: Head) -> CheckReport:
    with SqliteReader(path) as reader:
        return QuickCheck(RecordedSigners, folder).run(reader, expected)[0]


@pytest.mark.parametrize("length", [1, 2, 3, 7, 1000])
def test_ranges_of_any_length_are_as_good_as_all_at_once(busy: Scene, length: int, never_whole: None) -> None:
    path = busy.close()
    with SqliteReader(path) as reader:
        assert check_in_ranges(reader, length) == whole(path)


def test_processes_find_the_same_and_tell_the_progress(
    busy: Scene, monkeypatch: pytest.MonkeyPatch, never_whole: None
) -> None:
    path, told = busy.close(), list[tuple[int, int]]()
    monkeypatch.setattr(parallel_check, "SMALLEST", 5)
    with SqliteReader(path) as reader:
        check = QuickCheck(RecordedSigners, progress=lambda done, total: told.append((done, total)), most=2)
        report, signers = check.run(reader)
    assert report == whole(path)
    assert [approver.name for approver in signers.approvers.active] == ["laptop"]
    assert told[-1] == (report.entries, report.entries)


def _signers_of_a_dying_process() -> RecordedSigners:
    if os.environ["VERIFYING"] != str(os.getpid()):
        os._exit(9)
    return RecordedSigners()


def test_a_process_that_is_killed_costs_only_time(busy: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    path = busy.close()
    monkeypatch.setattr(parallel_check, "SMALLEST", 5)
    monkeypatch.setenv("VERIFYING", str(os.getpid()))
    with SqliteReader(path) as reader:
        report, _ = QuickCheck(_signers_of_a_dying_process, most=2).run(reader)
    assert report == whole(path)
    assert report.fault is None


@pytest.mark.parametrize("length", [1, 4])
def test_a_request_that_is_made_again_in_another_range_is_found(scene: Scene, length: int) -> None:
    scene.denied("act-1")
    scene.approved("act-2")
    scene.ask("act-3")
    path = scene.close()
    with tampering(path) as db:
        change_entry(db, 6 + LIFE, lambda entry: replace(entry, request="act-1"))
        db.execute("DELETE FROM requests WHERE id = 'act-3'")
    path.with_suffix(".lock").unlink()
    with SqliteReader(path) as reader:
        fault = check_in_ranges(reader, length).fault
    assert fault is not None
    assert (fault.seq, fault.damage) == (6 + LIFE, Damage.REPEATED)


def test_a_call_that_nobody_was_asked_about_cannot_continue_a_request(scene: Scene) -> None:
    scene.denied("act-1")
    scene.approved("act-2")
    scene.forge(EntryKind.RUNNING, "act-1", {"gated": False})
    path = scene.close()
    with tampering(path) as db:  # the history list does not show it
        db.execute("UPDATE requests SET outcome = 'denied' WHERE id = 'act-1'")
    with SqliteReader(path) as reader:
        fault = check_in_ranges(reader, 3).fault
    assert fault is not None
    assert fault.damage is Damage.REPEATED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "verified"


@pytest.fixture
def checked(busy: Scene, folder: Path) -> Iterator[Scene]:
    """A ledger that was verified, and that goes on."""
    assert resumed(busy.ledger.path, folder).fault is None
    yield busy
    busy.ledger.close()


def test_the_next_verification_begins_at_the_checkpoint(checked: Scene, folder: Path, never_whole: None) -> None:
    path, before = checked.ledger.path, checked.ledger.head.seq
    checked.decide("early-5")
    checked.ledger.append(EntryKind.RUNNING, {"digest": DIGEST}, "early-5")
    checked.step(EntryKind.EXECUTED, "early-5")
    checked.approved("act-3")
    report = resumed(path, folder)
    assert (report.trusted, report.entries, report.fault) == (before, before + 3 + LIFE, None)
    assert report.decisions == whole(path).decisions
    assert report.key_changes == whole(path).key_changes
    assert resumed(path, folder).trusted == report.entries
    (kept,) = folder.iterdir()
    assert oct(kept.stat().st_mode)[-3:] == "600"


def test_entries_before_the_checkpoint_are_read_again_only_on_request(checked: Scene, folder: Path) -> None:
    path = checked.close()
    with tampering(path) as db:
        db.execute("UPDATE entries SET data = replace(data, 'claude', 'claudf') WHERE seq = 2")
    assert resumed(path, folder).fault is None
    with SqliteReader(path) as reader:
        fault = QuickCheck(RecordedSigners).run(reader)[0].fault
    assert fault is not None
    assert (fault.seq, fault.damage) == (2, Damage.CHANGED)


def test_a_key_that_is_changed_before_the_checkpoint_is_found(checked: Scene, folder: Path) -> None:
    path = checked.close()
    with tampering(path) as db:
        db.execute("UPDATE entries SET data = replace(data, 'laptop', 'labtop') WHERE seq = 1")
    fault = resumed(path, folder).fault
    assert fault is not None
    assert (fault.seq, fault.damage) == (1, Damage.CHANGED)


def test_a_waiting_request_that_is_changed_before_the_checkpoint_is_found(checked: Scene, folder: Path) -> None:
    path = checked.close()
    with SqliteReader(path) as reader:
        made = reader.of_request("early-5")[0].seq
    with tampering(path) as db:
        db.execute("UPDATE entries SET data = replace(data, 'claude', 'claudf') WHERE seq = ?", (made,))
    fault = resumed(path, folder).fault
    assert fault is not None
    assert (fault.seq, fault.damage) == (made, Damage.CHANGED)


def test_a_chain_that_was_written_again_is_found(checked: Scene, folder: Path) -> None:
    path = checked.close()
    path.with_suffix(".lock").unlink()
    with tampering(path) as db:
        change_entry(db, 3, lambda entry: replace(entry, kind="gate.started", request="", body={}))
    report = resumed(path, folder)
    assert report.fault is not None
    assert report.trusted == 0


def test_a_ledger_that_was_cut_since_is_found(checked: Scene, folder: Path) -> None:
    last, path = checked.ledger.head.seq, checked.close()
    path.with_suffix(".lock").unlink()
    with tampering(path) as db:
        db.execute("DELETE FROM entries WHERE seq = ?", (last,))
        db.execute("UPDATE requests SET outcome = 'pending', ended = '' WHERE id = 'early-4'")
    assert whole(path).fault is None, "the ledger alone does not show it"
    fault = resumed(path, folder).fault
    assert fault is not None
    assert (fault.seq, fault.damage) == (last, Damage.CUT)


def test_a_request_cannot_run_again_after_the_checkpoint(checked: Scene, folder: Path) -> None:
    checked.forge(EntryKind.RUNNING, "act-1", {"gated": False})
    fault = resumed(checked.close(), folder).fault
    assert fault is not None
    assert fault.damage is Damage.REPEATED


def test_a_head_from_before_the_checkpoint_is_looked_for_from_the_beginning(checked: Scene, folder: Path) -> None:
    path = checked.close()
    with SqliteReader(path) as reader:
        early = Head(*next(iter(reader.hashes(2, 3))))
    report = resumed(path, folder, early)
    assert (report.fault, report.trusted) == (None, 0)
    fault = resumed(path, folder, Head(3, "sha256:" + "ab" * 32)).fault
    assert fault is not None
    assert fault.damage is Damage.REWRITTEN


@pytest.mark.parametrize("damage", ["cut", "opened", "version", "text"])
def test_a_checkpoint_that_cannot_be_used_is_not_used(checked: Scene, folder: Path, damage: str) -> None:
    (kept,) = folder.iterdir()
    data = kept.read_bytes()
    if damage == "opened":
        kept.chmod(0o644)
    else:
        new = {
            "cut": data[:-5],
            "version": data.replace(b'"version":2', b'"version":3'),
            "text": b"[]\n",
        }
        kept.write_bytes(new[damage])
    report = resumed(checked.close(), folder)
    assert (report.fault, report.trusted) == (None, 0)
