"""Bodies older than `[ledger] keep` are removed; the ledger still verifies and says so. Nothing else may be missing."""

import contextlib
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.entry_chain import Damage, Entry, decode, encode, header, link
from aileron_tui.core.entry_kinds import REDUCIBLE, EntryKind
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.reduction import in_runs, read_reduction
from aileron_tui.core.rule import RuleVerdict
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.ledger.entry_check import CheckReport
from aileron_tui.ledger.errors import EntryRefused, LedgerUnusable
from aileron_tui.ledger.export import Exported, write_jsonl, write_ocsf
from aileron_tui.ledger.full_check import audit_export
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.history_summaries import summaries
from aileron_tui.ledger.open_store import reducible
from aileron_tui.ledger.quick_check import QuickCheck
from aileron_tui.ledger.sqlite import body_removal
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.signing.key_store import for_this_run
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.ledger import test_extensions as extensions
from tests.ledger import test_rules as rules
from tests.ledger.scenes import DIGEST, Scene, change_entry, check, tampering

SECRET = "xylophone"
KEEP = timedelta(days=30)


def reduce(scene: Scene, keep: timedelta = KEEP) -> tuple[int, int]:
    """Reduces a ledger completely; returns how many requests and entries were reduced."""
    before, after, requests, entries = timestamp(scene.clock.now - keep), 0, 0, 0
    while True:
        step = scene.ledger.reduce(before, "30d", after)
        requests, entries, after = requests + step.requests, entries + step.entries, step.next
        if not after:
            break
    more = scene.ledger.erase()
    while more:
        more = scene.ledger.erase(go_on=True)
    return requests, entries


def wait(scene: Scene, span: timedelta = KEEP + timedelta(days=1)) -> None:
    scene.clock.now += span


def old(scene: Scene) -> None:
    """Requests of every outcome with words that are to go, 31 days ago."""
    scene.approved("act-1", note=f"{SECRET} one")
    scene.denied("act-2", reason=f"{SECRET} two")
    scene.ask("act-3", note="plain")
    scene.ledger.append(EntryKind.PREVIEWED, {"digest": DIGEST, "preview": {"rows": [SECRET]}}, "act-3")
    scene.decide("act-3", edits={"note": f"{SECRET} three"})
    scene.step(EntryKind.RUNNING, "act-3", digest=DIGEST)
    scene.step(EntryKind.FAILED, "act-3", error=f"{SECRET} four")
    scene.ask("act-4", note=f"{SECRET} five")
    scene.step(EntryKind.WITHDRAWN, "act-4", error=f"{SECRET} six")
    call: JsonObject = {"gated": False, "action": "list", "args": {"q": SECRET}}
    scene.ledger.append(EntryKind.RUNNING, call, "run-1")
    scene.ledger.append(EntryKind.EXECUTED, {"gated": False}, "run-1")
    wait(scene)


def found(report: CheckReport) -> tuple[int, Damage] | None:
    return (report.fault.seq, report.fault.damage) if report.fault else None


def raw(path: Path) -> bytes:
    """Everything that is in the files of a ledger."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def strip(path: Path, *numbers: int) -> None:
    """Removes bodies as an attacker with all rights can, without breaking the chain."""
    with tampering(path) as db:
        for seq in numbers:
            data = db.execute("SELECT data FROM entries WHERE seq = ?", (seq,)).fetchone()[0]
            db.execute("UPDATE entries SET data = ? WHERE seq = ?", (header(data), seq))


def test_old_requests_are_reduced_and_the_ledger_verifies(scene: Scene) -> None:
    old(scene)
    scene.approved("act-9", note="young")
    head = scene.ledger.head
    assert reduce(scene) == (4, 10)
    report = check(scene.close(), head, noted=True)
    assert found(report) is None
    assert (report.reduced, report.reduced_before[:10]) == (10, "2026-05-13")
    assert report.decisions == {scene.key.public.fingerprint: 2}, "what says nothing keeps its signature"


def test_what_was_removed_is_not_in_the_files_any_more(scene: Scene) -> None:
    """Also not while the ledger is open: not in the file, its log, the search index or the lists."""
    for number in range(300):
        scene.approved(f"act-a{number}", note=f"{SECRET} {number} " + "filler " * (number % 50))
        scene.denied(f"act-d{number}", reason=f"{SECRET}{number} " + "no " * (number % 30))
    scene.approved("act-large", note=SECRET * 5000)
    assert SECRET.encode() in raw(scene.ledger.path)
    wait(scene)
    assert reduce(scene)[0] == 601
    assert SECRET.encode() not in raw(scene.ledger.path)
    assert b"filler" not in raw(scene.ledger.path)
    assert check(scene.close(), noted=True).fault is None


def test_the_history_shows_what_is_left(scene: Scene) -> None:
    old(scene)
    reduce(scene)
    with SqliteReader(scene.close()) as reader:
        records = {record.id: record for record in reader.every()}
        assert [records[f"act-{n}"].outcome for n in (1, 2, 3, 4)] == ["executed", "denied", "failed", "withdrawn"]
        denied = records["act-2"]
        assert (denied.action, denied.agent, denied.risk, denied.surface) == ("send-draft", "claude", "high", "tui")
        assert (denied.reason, denied.signer) == ("", scene.key.public.fingerprint)
        assert denied.reduced.startswith("2026-06-12")
        assert records["act-3"].edited
        assert records["act-3"].error == ""
        assert not reader.page(HistoryFilter(SECRET))
        assert len(reader.page(HistoryFilter("denied send-draft"))) == 1
        assert list(summaries(reader, tuple(records.values()))) == [()] * 4
        made, *_ = reader.of_request("act-1")
        assert (made.body, made.removed[:7]) == ({}, "sha256:")


def test_the_index_can_be_rebuilt(scene: Scene) -> None:
    old(scene)
    scene.approved("act-9", note="young")
    reduce(scene)
    tables = ("requests", "steps", "nonces", "counters", "keys", "search_content")

    def content() -> list[list[object]]:
        with SqliteReader(scene.ledger.path) as reader:
            return [reader.db.execute(f"SELECT * FROM {name}").fetchall() for name in tables]

    before = content()
    scene.ledger.rebuild_index()
    assert content() == before
    assert check(scene.close(), noted=True).fault is None


def test_nothing_is_reduced_that_is_younger_or_waits(scene: Scene) -> None:
    scene.ask("act-1", note="waits")
    scene.ask("act-2", note="has a young entry")
    scene.step(EntryKind.WITHDRAWN, "act-2")
    scene.ask_daemon("act-3", note="of a daemon")
    scene.tell("act-3", "denied", elsewhere=True)
    scene.approved("act-4")
    wait(scene)
    scene.step(EntryKind.DELIVERED, "act-2")
    assert reduce(scene) == (1, 1)
    scene.step(EntryKind.WITHDRAWN, "act-1")
    wait(scene)
    assert reduce(scene) == (2, 2)
    assert reduce(scene) == (0, 0)
    assert check(scene.close(), noted=True).fault is None


def test_an_entry_is_recorded_only_for_what_was_removed(scene: Scene) -> None:
    scene.approved("act-1")
    head = scene.ledger.head
    assert reduce(scene) == (0, 0)
    assert scene.ledger.head == head
    wait(scene)
    reduce(scene)
    with SqliteReader(scene.ledger.path) as reader:
        entry = reader.entry(reader.head().seq)
        assert entry is not None
        reduction = read_reduction(entry)
    assert (reduction.keep, list(reduction.numbers())) == ("30d", [2])
    scene.close()


def test_entries_of_version_1_keep_their_bodies(scene: Scene) -> None:
    """Their hash covers the body."""
    path = scene.close()
    with tampering(path) as db:
        entry = Entry(2, "2026-05-12T10:00:02.000000Z", EntryKind.REQUESTED, "act-1", {"action": "a", "args": {}}, 1)
        (previous,) = db.execute("SELECT hash FROM entries WHERE seq = 1").fetchone()
        data = encode(entry)
        db.execute(
            "INSERT INTO entries VALUES (2, ?, ?)", (data, bytes.fromhex(link(f"sha256:{previous.hex()}", data)[7:]))
        )
        db.execute("UPDATE meta SET value = '0' WHERE name = 'index'")
    scene.reopen()
    scene.step(EntryKind.WITHDRAWN, "act-1")
    wait(scene)
    assert reduce(scene) == (0, 0)
    assert check(scene.close()).fault is None


def test_tool_calls_and_rules_still_verify(scene: Scene) -> None:
    body: JsonObject = {"action": "Bash", "kind": "tool", "agent": "claude", "says": "", "args": {"command": SECRET}}
    scene.ledger.append(EntryKind.REQUESTED, body, "act-1")
    scene.decide("act-1")
    scene.step(EntryKind.HANDED_OVER, "act-1", digest=DIGEST)
    wait(scene)
    assert reduce(scene) == (1, 1), "it was handed over, and nobody reported what became of it"
    assert check(scene.close(), noted=True).fault is None


def test_entries_from_the_future_keep_nothing(scene: Scene) -> None:
    """A clock that was wrong for a while does not keep what was recorded after it."""
    now = scene.clock.now
    scene.approved("act-1")
    scene.clock.now += timedelta(days=9000)
    scene.approved("act-2")
    scene.clock.now = now
    scene.approved("act-3")
    wait(scene)
    scene.ask("act-4")
    assert reduce(scene) == (2, 2)
    assert check(scene.close(), noted=True).fault is None


def test_calls_without_approval_after_an_entry_from_the_future_are_reduced(scene: Scene) -> None:
    now = scene.clock.now
    scene.clock.now += timedelta(days=9000)
    scene.ask("act-1")
    scene.clock.now = now
    scene.ledger.append(EntryKind.RUNNING, {"gated": False, "action": "list", "args": {"q": SECRET}}, "run-1")
    wait(scene)
    assert reduce(scene) == (0, 1)
    assert check(scene.close(), noted=True).fault is None


def test_what_was_recorded_while_the_clock_was_behind_is_not_old(scene: Scene) -> None:
    now = scene.clock.now
    scene.approved("act-1")
    scene.clock.now -= timedelta(days=700)
    scene.approved("act-2", note=SECRET)
    scene.clock.now = now + timedelta(hours=1)
    assert reduce(scene) == (0, 0)
    wait(scene)
    assert reduce(scene) == (2, 2)
    assert check(scene.close(), noted=True).fault is None


def test_why_there_was_no_preview_is_removed(scene: Scene) -> None:
    """A connector writes it."""
    scene.ask("act-1")
    scene.ledger.append(EntryKind.PREVIEWED, {"digest": DIGEST, "unavailable": f"404: {SECRET}"}, "act-1")
    scene.step(EntryKind.WITHDRAWN, "act-1")
    wait(scene)
    reduce(scene)
    assert SECRET.encode() not in raw(scene.ledger.path)
    assert check(scene.close(), noted=True).fault is None


def test_the_ledger_of_an_earlier_version_can_be_looked_at(scene: Scene) -> None:
    scene.approved("act-1")
    wait(scene)
    scene.ask("act-2")
    now, path = scene.clock.now, scene.close()
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript("""
            ALTER TABLE requests DROP COLUMN reduced;
            UPDATE meta SET value = '8' WHERE name = 'index';
            PRAGMA user_version = 5;
        """)
    assert sum(step.entries for step in reducible(path, timestamp(now - KEEP), timestamp(now))) == 1


def test_a_large_file_is_to_be_rewritten_until_it_is(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_removal, "SOON_REWRITTEN", 0)
    old(scene)
    reduce(scene)
    unerased = [scene.ledger.unerased]
    while scene.ledger.erase(whole=True):
        pass
    assert [*unerased, scene.ledger.unerased] == [True, False], "a gate does not rewrite a large file"
    scene.close()


def test_answers_of_rules_and_extensions_still_verify(scene: Scene) -> None:
    seq = rules.make(scene)
    for kind in (EntryKind.EXECUTED, EntryKind.FAILED):
        request = rules.asked(scene, f"act-{kind}")
        rules.rule_answers(scene, request, seq)
        scene.step(EntryKind.RUNNING, request, digest=DIGEST)
        scene.step(kind, request, error=SECRET)
    extensions.ask(scene)
    extensions.extend(scene)
    scene.decide("act-1")
    scene.step(EntryKind.RUNNING, "act-1", digest=DIGEST)
    scene.step(EntryKind.EXECUTED, "act-1")
    wait(scene)
    assert reduce(scene)[0] == 3
    report = check(scene.close(), noted=True)
    assert (found(report), report.rule_answers) == (None, {rules.RULE.id: 2})


@pytest.mark.parametrize("changes", [{"verdict": RuleVerdict.DENY}, {"rule": "rule-ffffffffffffffff"}, {"made": 1}])
def test_an_answer_of_a_rule_that_does_not_fit_is_found_in_what_is_left(scene: Scene, changes: dict[str, Any]) -> None:
    seq = rules.make(scene)
    request = rules.asked(scene)
    scene.forge(EntryKind.RULED, request, rules.answer(scene, seq, **changes))
    wait(scene)
    assert found(check(forged(scene, 3))) == (5, Damage.RULE)


def test_an_extension_that_nobody_signed_is_found_in_what_is_left(scene: Scene) -> None:
    extensions.ask(scene)
    other = for_this_run("other")
    scene.forge(EntryKind.EXTENDED, "act-1", extensions.body(extensions.extension(scene), other))
    scene.step(EntryKind.WITHDRAWN, "act-1")
    wait(scene)
    assert found(check(forged(scene, 2))) == (3, Damage.KEY)


@pytest.mark.parametrize("changes", [{"request": "act-7"}, {"before": "2026-05-12T10:00:01.000000Z"}])
def test_an_extension_that_does_not_fit_is_found_in_what_is_left(scene: Scene, changes: dict[str, Any]) -> None:
    extensions.ask(scene)
    scene.forge(EntryKind.EXTENDED, "act-1", extensions.body(extensions.extension(scene, **changes), scene.key))
    scene.step(EntryKind.WITHDRAWN, "act-1")
    wait(scene)
    assert found(check(forged(scene, 2))) == (3, Damage.SIGNATURE)


# What must not be taken for a reduction


@pytest.mark.parametrize("seq", [2, 3, 4, 5])
def test_a_body_that_is_missing_without_a_record(scene: Scene, seq: int) -> None:
    scene.denied("act-1", reason="no")
    path = scene.close()
    strip(path, seq)
    assert found(check(path)) == (seq, Damage.REMOVED)


def test_a_whole_request_without_a_record(scene: Scene) -> None:
    scene.denied("act-1")
    path = scene.close()
    strip(path, 2, 5)
    assert found(check(path)) == (2, Damage.REMOVED)


def test_one_more_body_than_recorded(scene: Scene) -> None:
    old(scene)
    reduce(scene)
    path = scene.close()
    strip(path, 5)
    assert found(check(path)) == (5, Damage.REMOVED), "an approval that was left"


@pytest.mark.parametrize("kind", sorted(set(EntryKind) - REDUCIBLE))
def test_a_kind_that_always_has_its_body(kind: EntryKind) -> None:
    data = header(encode(Entry(7, "2026-05-12T10:00:00.000000Z", kind, "", {"name": "laptop"})))
    with pytest.raises(Exception, match="the body of the entry was removed"):
        decode(data)


def forged(scene: Scene, *numbers: int, before: str = "", **changes: Json) -> Path:
    """The ledger with these bodies removed, and a record of it that an attacker wrote."""
    body: JsonObject = {
        "keep": "30d",
        "before": before or timestamp(scene.clock.now - KEEP),
        "entries": [[first, last] for first, last in in_runs(numbers)],
        "requests": [],
        "counters": {},
    }
    scene.forge(EntryKind.REDUCED, "", body | changes)
    path = scene.close()
    strip(path, *numbers)
    return path


def test_a_forged_record_does_not_cover_keys(scene: Scene) -> None:
    scene.revoke(scene.key)
    wait(scene)
    assert found(check(forged(scene, 2))) == (2, Damage.REMOVED)


def test_a_forged_record_does_not_cover_a_request_that_waits(scene: Scene) -> None:
    scene.ask("act-1")
    wait(scene)
    assert found(check(forged(scene, 2))) == (2, Damage.REMOVED)


def test_a_forged_record_does_not_cover_what_is_younger(scene: Scene) -> None:
    wait(scene)
    scene.denied("act-1")
    report = check(forged(scene, 2, 5))
    assert found(report) == (5, Damage.REMOVED)
    assert report.fault
    assert "only bodies from before" in report.fault.detail


def test_a_forged_record_cannot_name_a_later_time(scene: Scene) -> None:
    scene.denied("act-1")
    wait(scene)
    path = forged(scene, 2, 5)
    later: JsonObject = {"before": timestamp(scene.clock.now)}
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        change_entry(db, 6, lambda entry: replace(entry, body=entry.body | later))
    assert found(check(path)) == (6, Damage.REDUCED)


@pytest.mark.parametrize(
    "changes",
    [
        {"entries": [[5, 2]]},
        {"entries": [[2, 99]]},
        {"entries": "2"},
        {"entries": [[True, 2]]},
        {"requests": [{"id": 1, "outcome": "denied"}]},
        {"requests": [{"id": "act-1", "outcome": "denied", "reason": "x"}]},
        {"requests": [{"id": "act-1", "outcome": "denied", "action": {}}]},
        {"requests": [{"id": "act-1", "outcome": "denied", "took": "long"}]},
        {"requests": [{"id": "act-1", "outcome": "denied", "edited": 1}]},
        {"requests": [{"id": "act-1", "outcome": "pending"}]},
        {"requests": [{"id": "act-1", "outcome": "eaten"}]},
        {"requests": [{"id": "act-1"}]},
        {"counters": {"k": "1"}},
        {"before": "yesterday"},
        {"more": 1},
    ],
)
def test_a_record_that_is_not_valid(scene: Scene, changes: JsonObject) -> None:
    scene.denied("act-1")
    wait(scene)
    valid: JsonObject = {"keep": "30d", "before": timestamp(scene.clock.now - KEEP)}
    body = valid | {"entries": [[2, 2]], "requests": [], "counters": {}} | changes
    with pytest.raises(EntryRefused):
        scene.ledger.append(EntryKind.REDUCED, body)


def test_a_removed_approval_lets_no_other_call_run(scene: Scene) -> None:
    """An approval that was removed cannot be checked, and the report says so. What is left must still fit."""
    old(scene)
    reduce(scene)
    report = check(scene.ledger.path)
    assert report.reduced
    scene.forge(EntryKind.RUNNING, "act-3", {"digest": DIGEST})
    assert found(check(scene.close())) == (report.entries + 1, Damage.REPEATED)


def test_a_run_that_nobody_approved_is_found_in_what_is_left(scene: Scene) -> None:
    scene.ask("act-1")
    scene.forge(EntryKind.RUNNING, "act-1", {"digest": DIGEST})
    scene.forge(EntryKind.EXECUTED, "act-1", {"error": "x"})
    wait(scene)
    assert found(check(forged(scene, 2, 4))) == (3, Damage.REPEATED)


@pytest.mark.parametrize("numbers", [(2,), (3,), (2, 3)])
def test_a_run_that_nobody_asked_for_is_found_in_what_is_left(scene: Scene, numbers: tuple[int, ...]) -> None:
    """Without their bodies, only calls with an id of their own kind pass for calls that needed no approval."""
    scene.forge(EntryKind.RUNNING, "act-1", {"digest": DIGEST})
    scene.forge(EntryKind.EXECUTED, "act-1", {"error": "x"})
    wait(scene)
    assert found(check(forged(scene, *numbers))) == (2, Damage.REPEATED)


def test_a_record_changes_nothing_about_requests_that_are_still_there(scene: Scene) -> None:
    scene.approved("act-1")
    wait(scene)
    said: JsonObject = {"id": "act-1", "outcome": "executed", "action": "harmless", "signer": "nobody"}
    path = forged(scene, requests=[said])
    with SqliteReader(path) as reader:
        record = reader.find("act-1")
        assert record
        assert (record.action, record.signer, record.reduced) == ("send-draft", scene.key.public.fingerprint, "")


def test_a_start_of_an_approved_call_always_has_its_body(scene: Scene) -> None:
    scene.approved("act-1")
    wait(scene)
    assert found(check(forged(scene, 2, 6))) == (6, Damage.REMOVED)


def test_a_run_of_another_call_is_found_in_what_is_left(scene: Scene) -> None:
    scene.ask("act-1")
    scene.decide("act-1")
    scene.forge(EntryKind.RUNNING, "act-1", {"digest": "sha256:" + "ee" * 32})
    scene.step(EntryKind.EXECUTED, "act-1")
    wait(scene)
    assert found(check(forged(scene, 2))) == (4, Damage.OTHER)


def test_the_database_lets_only_a_header_take_the_place_of_an_entry(scene: Scene) -> None:
    scene.approved("act-1")
    scene.approved("act-2")
    db = sqlite3.connect(scene.close())
    two, eight = (db.execute("SELECT data FROM entries WHERE seq = ?", (seq,)).fetchone()[0] for seq in (2, 8))
    changed = two.replace(b"claude", b"cloude")
    for data in (changed, b"", header(eight), header(two)[:-1], header(two).replace(b"act-1", b"act-2")):
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            db.execute("UPDATE entries SET data = ? WHERE seq = 2", (data,))
    for change in ("hash = zeroblob(32)", "seq = 99"):
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            db.execute(f"UPDATE entries SET {change} WHERE seq = 2")
    db.execute("UPDATE entries SET data = ? WHERE seq = 2", (header(two),))
    db.close()


# Elsewhere


def test_an_export_verifies_on_another_machine(scene: Scene, tmp_path: Path) -> None:
    old(scene)
    reduce(scene)
    out, ocsf = BytesIO(), BytesIO()
    with SqliteReader(scene.close()) as reader:
        write_jsonl(reader, out, utc_now())
        write_ocsf(reader, ocsf, "1.0")
    assert SECRET.encode() not in out.getvalue() + ocsf.getvalue()
    file = tmp_path / "ledger.jsonl"
    file.write_bytes(out.getvalue())
    report = audit_export(Exported(file), RecordedSigners())
    assert (found(report), report.reduced) == (None, 10)
    assert ocsf.getvalue().count(b'"reduced":true') == 10


def test_an_export_with_a_missing_body_is_damaged(scene: Scene, tmp_path: Path) -> None:
    scene.denied("act-1")
    path = scene.close()
    strip(path, 2, 5)
    out = BytesIO()
    with SqliteReader(path) as reader:
        write_jsonl(reader, out, utc_now())
    file = tmp_path / "ledger.jsonl"
    file.write_bytes(out.getvalue())
    assert found(audit_export(Exported(file), RecordedSigners())) == (2, Damage.REMOVED)


def test_a_copy_has_nothing_that_was_removed(scene: Scene, tmp_path: Path) -> None:
    old(scene)
    reduce(scene)
    copy = tmp_path / "copy" / "ledger.db"
    copy.parent.mkdir(mode=0o700)
    with SqliteReader(scene.close()) as reader:
        reader.copy_to(copy)
    assert SECRET.encode() not in raw(copy)
    assert check(copy).reduced == 10


def test_a_checkpoint_from_before_a_reduction_is_used(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aileron_tui.ledger.quick_check.FEWEST", 1)
    quick = QuickCheck(RecordedSigners, tmp_path)
    old(scene)
    seen: list[tuple[int, int, int]] = []
    changes: list[Callable[[], object]] = [lambda: None, lambda: reduce(scene), lambda: scene.approved("act-8")]
    for change in changes:
        change()
        with SqliteReader(scene.ledger.path) as reader:
            report, _ = quick.run(reader)
        assert report.fault is None
        seen.append((report.entries, report.reduced, report.trusted))
    scene.close()
    first = seen[0][0]
    assert seen == [(first, 0, 0), (first + 1, 10, first), (first + 7, 10, first + 1)]


def test_the_counter_of_a_security_key_is_not_lost(scene: Scene) -> None:
    record: JsonObject = {
        "keep": "30d",
        "before": timestamp(scene.clock.now - KEEP),
        "entries": [],
        "requests": [],
        "counters": {"sk-1": 7},
    }
    scene.ledger.append_all([EntryDraft(EntryKind.REDUCED, record)])
    scene.ledger.rebuild_index()
    with SqliteReader(scene.ledger.path) as reader:
        assert reader.counter("sk-1") == 7
    scene.ledger.append(EntryKind.REDUCED, record | {"counters": {"sk-1": 3}})
    with SqliteReader(scene.close()) as reader:
        assert reader.counter("sk-1") == 7


def test_a_step_is_short_and_goes_on_where_it_ended(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_removal, "MOST_READ", 10)
    scene.ask("act-waits")
    for number in range(10):
        scene.approved(f"act-{number}")
    wait(scene)
    before = timestamp(scene.clock.now - KEEP)
    planned = list(reducible(scene.ledger.path, before, timestamp(scene.clock.now)))
    steps, after = [], 0
    while True:
        step = scene.ledger.reduce(before, "30d", after)
        steps.append(step)
        if not (after := step.next):
            break
    assert steps == planned
    assert sum(step.requests for step in steps) == 10
    assert max(step.requests for step in steps) <= 2
    scene.close()


def test_a_full_disk_leaves_everything_as_it_was(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_removal, "MOST_READ", 10_000)
    for number in range(80):
        scene.denied(f"act-{number}", reason=SECRET)
    wait(scene)
    head, before = scene.ledger.head, timestamp(scene.clock.now - KEEP)
    db = scene.ledger._db
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerUnusable, match="the disk is full"):
        scene.ledger.reduce(before, "30d")
    assert scene.ledger.head == head
    assert check(scene.ledger.path, noted=True).reduced == 0
    db.execute("PRAGMA max_page_count = 1000000")
    assert reduce(scene) == (80, 160)
    assert check(scene.close(), noted=True).reduced == 160


def test_entries_stay_equal_when_they_are_read_and_written(scene: Scene) -> None:
    entry = Entry(7, "2026-05-12T10:00:00.000000Z", EntryKind.REQUESTED, "act-1", {"args": {}})
    data = header(encode(entry))
    removed = decode(data)
    assert encode(removed) == data
    assert removed == replace(entry, body={}, removed=removed.removed)
    assert removed.fields()["removed"] == removed.removed
    scene.close()
