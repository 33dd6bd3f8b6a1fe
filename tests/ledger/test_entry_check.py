"""Every kind of damage is found, named, and laid at the first bad entry."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict, pae
from aileron_tui.core.entry_chain import Damage, Entry, header
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.times import timestamp
from aileron_tui.ledger.entry_check import CheckReport
from aileron_tui.ledger.head import Head, read_head
from aileron_tui.signing.envelope import Envelope, read_envelope
from aileron_tui.signing.key_store import for_this_run
from tests.ledger.scenes import DIGEST, START, Scene, change_entry, check, tampering

# Entry 1 enrols the key; act-1 has 2 to 7, act-2 has 8 to 13, act-3 (denied) 14 to 17.
LAST = 17
DECIDED = 11


@pytest.fixture
def ledger(scene: Scene) -> Path:
    """Two approved requests and a denied one, closed."""
    scene.approved("act-1")
    scene.approved("act-2")
    scene.denied("act-3")
    return scene.close()


def found(report: CheckReport) -> tuple[int, Damage] | None:
    return (report.fault.seq, report.fault.damage) if report.fault else None


def test_a_good_ledger_verifies(ledger: Path, scene: Scene) -> None:
    report = check(ledger, noted=True)
    assert found(report) is None
    assert (report.entries, report.head.seq, report.key_changes) == (LAST, LAST, (1,))
    assert report.decisions == {scene.key.public.fingerprint: 3}
    assert report.notes == ()


def test_an_empty_ledger_verifies(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "data" / "ledger.db")
    assert check(scene.close()).fault is None


def test_a_removed_body_is_reported_as_such(ledger: Path) -> None:
    with tampering(ledger) as db:
        data = db.execute("SELECT data FROM entries WHERE seq = 3").fetchone()[0]
        db.execute("UPDATE entries SET data = ? WHERE seq = 3", (header(data),))
    assert found(check(ledger)) == (3, Damage.REMOVED)


def test_an_entry_of_a_newer_version(ledger: Path) -> None:
    with tampering(ledger) as db:
        data = db.execute("SELECT data FROM entries WHERE seq = 5").fetchone()[0]
        db.execute("UPDATE entries SET data = ? WHERE seq = 5", (data.replace(b'"version":2}', b'"version":3}'),))
    report = check(ledger)
    assert found(report) == (5, Damage.NEWER)
    assert report.fault is not None
    assert "format 3; this program reads up to 2" in report.fault.detail


def test_a_decision_of_a_newer_version(ledger: Path, scene: Scene) -> None:
    payload, type_ = b'{"version":3}', "application/vnd.aileron.decision.v3+json"
    signature = scene.key.sign(pae(type_, payload))
    envelope = Envelope(payload, type_, scene.key.public.fingerprint, signature).fields()
    with tampering(ledger) as db:
        change_entry(db, 5, lambda entry: replace(entry, body={"envelope": envelope}))
    assert found(check(ledger)) == (5, Damage.NEWER)


@pytest.mark.parametrize("seq", [1, 2, DECIDED, LAST])
def test_a_flipped_byte_of_the_content(ledger: Path, seq: int) -> None:
    with tampering(ledger) as db:
        data = bytearray(db.execute("SELECT data FROM entries WHERE seq = ?", (seq,)).fetchone()[0])
        data[data.index(b'"time":"2026') + 8] ^= 1
        db.execute("UPDATE entries SET data = ? WHERE seq = ?", (bytes(data), seq))
    report = check(ledger)
    assert found(report) == (seq, Damage.CHANGED)
    assert report.entries == report.head.seq == seq - 1


@pytest.mark.parametrize("position", [0, 30, -1])
def test_a_flipped_byte_that_ends_the_json(ledger: Path, position: int) -> None:
    with tampering(ledger) as db:
        data = bytearray(db.execute("SELECT data FROM entries WHERE seq = 5").fetchone()[0])
        data[position] = 0
        db.execute("UPDATE entries SET data = ? WHERE seq = 5", (bytes(data),))
    assert found(check(ledger)) == (5, Damage.CHANGED)


@pytest.mark.parametrize("seq", [1, 2, DECIDED])
def test_a_flipped_byte_of_the_hash(ledger: Path, seq: int) -> None:
    with tampering(ledger) as db:
        digest = bytearray(db.execute("SELECT hash FROM entries WHERE seq = ?", (seq,)).fetchone()[0])
        digest[7] ^= 1
        db.execute("UPDATE entries SET hash = ? WHERE seq = ?", (bytes(digest), seq))
    assert found(check(ledger)) == (seq, Damage.HASH)


@pytest.mark.parametrize(
    ("column", "value"), [("data", "{}"), ("data", 7), ("data", b""), ("hash", "x" * 32), ("hash", 1.5), ("hash", b"")]
)
@pytest.mark.parametrize("seq", [5, LAST])
def test_something_of_another_type(ledger: Path, column: str, value: object, seq: int) -> None:
    with tampering(ledger) as db:
        db.execute(f"UPDATE entries SET {column} = ? WHERE seq = ?", (value, seq))
    fault = check(ledger).fault
    assert fault is not None
    assert (fault.seq, fault.damage) in {(seq, Damage.CHANGED), (seq, Damage.HASH)}


@pytest.mark.parametrize("seq", [1, 5, LAST - 1])
def test_a_removed_entry(ledger: Path, seq: int) -> None:
    with tampering(ledger) as db:
        db.execute("DELETE FROM entries WHERE seq = ?", (seq,))
    assert found(check(ledger)) == (seq, Damage.GAP)


def test_a_removed_entry_with_the_rest_moved_up(ledger: Path) -> None:
    with tampering(ledger) as db:
        db.execute("DELETE FROM entries WHERE seq = 5")
        for seq in range(6, LAST + 1):
            db.execute("UPDATE entries SET seq = ? WHERE seq = ?", (seq - 1, seq))
    assert found(check(ledger)) == (5, Damage.GAP)


def test_a_removed_entry_with_the_chain_mended(ledger: Path) -> None:
    with tampering(ledger) as db:
        db.execute("DELETE FROM entries WHERE seq = 5")
        for seq in range(6, LAST + 1):
            db.execute("UPDATE entries SET seq = ? WHERE seq = ?", (seq - 1, seq))
        change_entry(db, 5, lambda entry: entry)
    assert found(check(ledger)) == (5, Damage.GAP)


@pytest.mark.parametrize(("one", "other"), [(4, 5), (3, 12)])
def test_swapped_entries(ledger: Path, one: int, other: int) -> None:
    with tampering(ledger) as db:
        rows = {
            seq: db.execute("SELECT data, hash FROM entries WHERE seq = ?", (seq,)).fetchone() for seq in (one, other)
        }
        for seq, source in ((one, other), (other, one)):
            db.execute("UPDATE entries SET data = ?, hash = ? WHERE seq = ?", (*rows[source], seq))
    assert found(check(ledger)) == (one, Damage.ORDER)


def test_a_repeated_entry(ledger: Path) -> None:
    with tampering(ledger) as db:
        db.execute("UPDATE entries SET data = (SELECT data FROM entries WHERE seq = 4) WHERE seq = 5")
    assert found(check(ledger)) == (5, Damage.ORDER)


def test_a_cut_tail_is_found_against_a_kept_head(ledger: Path, scene: Scene) -> None:
    kept = check(ledger).head
    with tampering(ledger) as db:
        db.execute("DELETE FROM entries WHERE seq > 14")
        db.execute("UPDATE requests SET outcome = 'pending' WHERE id = 'act-3'")
    assert found(check(ledger)) is None, "a chain alone cannot know where it should end"
    assert found(check(ledger, kept)) == (15, Damage.CUT)
    assert found(check(ledger, Head(-1, kept.hash))) == (15, Damage.CUT)
    assert found(check(ledger, noted=True)) == (15, Damage.CUT)


def test_a_ledger_that_grew_still_contains_a_kept_head(ledger: Path) -> None:
    report = check(ledger)
    with tampering(ledger) as db:
        digest = db.execute("SELECT hash FROM entries WHERE seq = 9").fetchone()[0].hex()
    for kept in (f"9:sha256:{digest}", f"sha256:{digest}", str(report.head), f"0:sha256:{'0' * 64}"):
        assert found(check(ledger, read_head(kept))) is None


def test_another_chain_of_the_same_length_is_not_the_kept_one(ledger: Path) -> None:
    assert found(check(ledger, Head(9, "sha256:" + "12" * 32))) == (9, Damage.REWRITTEN)


def test_a_rewritten_past_contradicts_the_signed_heads(ledger: Path) -> None:
    """The attacker mends every hash, but cannot sign: the first decision after the change names another past."""
    with tampering(ledger) as db:
        change_entry(db, 8, lambda entry: replace(entry, body=entry.body | {"agent": "someone else"}))
    assert found(check(ledger)) == (DECIDED, Damage.HEAD)


def flip_signature(entry: Entry) -> Entry:
    envelope = read_envelope(entry.body["envelope"])
    flipped = bytes([envelope.signature[0] ^ 1]) + envelope.signature[1:]
    return replace(entry, body={"envelope": replace(envelope, signature=flipped).fields()})


def flip_payload(entry: Entry) -> Entry:
    envelope = read_envelope(entry.body["envelope"])
    return replace(entry, body={"envelope": replace(envelope, payload=envelope.payload[:-1] + b"]").fields()})


def unsign(entry: Entry) -> Entry:
    return replace(entry, body={})


@pytest.mark.parametrize("change", [flip_signature, flip_payload, unsign])
def test_a_spoilt_signature_in_a_mended_chain(ledger: Path, change: Callable[[Entry], Entry]) -> None:
    with tampering(ledger) as db:
        change_entry(db, DECIDED, change)
    assert found(check(ledger)) == (DECIDED, Damage.SIGNATURE)


def test_an_unreadable_entry_in_a_mended_chain(ledger: Path) -> None:
    with tampering(ledger) as db:
        change_entry(db, LAST, lambda entry: replace(entry, seq='"not a number"'))  # type: ignore[arg-type]
    assert found(check(ledger)) == (LAST, Damage.UNREADABLE)


def test_a_decision_moved_to_another_request(scene: Scene) -> None:
    scene.ask("act-1")
    scene.ask("act-2")
    scene.forged_decision("act-2", scene.statement("act-1"))
    assert found(check(scene.close())) == (4, Damage.SIGNATURE)


def test_an_expired_decision(scene: Scene) -> None:
    scene.ask("act-1")
    scene.decide("act-1", expires=timestamp(START))
    scene.clock.now = scene.clock.now.replace(hour=12)
    scene.ask("act-2")
    statement = scene.statement("act-2", time=timestamp(START), expires=timestamp(START.replace(minute=5)))
    scene.forged_decision("act-2", statement)
    assert found(check(scene.close())) == (5, Damage.SIGNATURE)


def test_an_unknown_key(scene: Scene) -> None:
    scene.ask("act-1")
    scene.decide("act-1", key=for_this_run("stranger"))
    assert found(check(scene.close())) == (3, Damage.KEY)


def test_a_key_counts_only_between_enrolment_and_revocation(scene: Scene) -> None:
    phone = for_this_run("phone")
    scene.enrol(phone)
    scene.ask("act-1")
    scene.decide("act-1", key=phone)
    scene.revoke(phone)
    scene.ask("act-2")
    scene.decide("act-2")
    assert check(scene.ledger.path).fault is None, "decisions before the revocation stay good"
    scene.ask("act-3")
    scene.decide("act-3", key=phone)
    assert found(check(scene.close())) == (9, Damage.KEY)


def test_a_decision_over_a_head_older_than_its_request(scene: Scene) -> None:
    old = scene.ledger.head.hash
    scene.ask("act-1")
    scene.forged_decision("act-1", scene.statement("act-1", head=old))
    assert found(check(scene.close())) == (3, Damage.HEAD)


def test_a_request_that_ran_twice(scene: Scene) -> None:
    scene.approved("act-1")
    scene.forge(EntryKind.RUNNING, "act-1", {})
    scene.forge(EntryKind.EXECUTED, "act-1", {})
    assert found(check(scene.close())) == (8, Damage.REPEATED)


@pytest.mark.parametrize("verdict", [None, Verdict.DENY])
def test_a_request_that_ran_without_approval(scene: Scene, verdict: Verdict | None) -> None:
    scene.ask("act-1")
    if verdict:
        scene.decide("act-1", verdict)
    bad = scene.forge(EntryKind.RUNNING, "act-1", {}).seq
    assert found(check(scene.close())) == (bad, Damage.REPEATED)


def test_a_request_decided_twice(scene: Scene) -> None:
    scene.ask("act-1")
    scene.decide("act-1")
    scene.forged_decision("act-1", scene.statement("act-1", Verdict.DENY))
    assert found(check(scene.close())) == (4, Damage.REPEATED)


def test_something_else_ran(scene: Scene) -> None:
    scene.ask("act-1")
    scene.decide("act-1")
    scene.step(EntryKind.RUNNING, "act-1", digest="sha256:" + "66" * 32)
    assert found(check(scene.close())) == (4, Damage.OTHER)


def test_ungated_runs_need_no_decision(scene: Scene) -> None:
    scene.ledger.append(EntryKind.RUNNING, {"gated": False}, "run-1")
    scene.ledger.append(EntryKind.EXECUTED, {"gated": False}, "run-1")
    scene.ask("act-1")
    assert check(scene.ledger.path).fault is None
    scene.forge(EntryKind.RUNNING, "act-1", {"gated": False})
    assert found(check(scene.close())) == (5, Damage.REPEATED)


def test_every_way_a_request_can_end_is_fine(scene: Scene) -> None:
    for kind in (EntryKind.EXPIRED, EntryKind.WITHDRAWN):
        scene.ask(kind.value)
        scene.step(kind, kind.value)
    for kind in (EntryKind.EXECUTED, EntryKind.FAILED, EntryKind.INTERRUPTED):
        scene.ask(kind.value)
        scene.decide(kind.value)
        scene.step(EntryKind.RUNNING, kind.value, digest=DIGEST)
        scene.step(kind, kind.value)
        scene.step(EntryKind.DELIVERED, kind.value)
    for kind in (
        EntryKind.STARTED,
        EntryKind.STOPPED,
        EntryKind.FELL_BACK,
        EntryKind.CONFIG_CHANGED,
        EntryKind.LIMITED,
        EntryKind.REFUSED,
    ):
        scene.step(kind, "")
    assert check(scene.close()).fault is None


def test_a_history_that_shows_something_else(ledger: Path) -> None:
    with tampering(ledger) as db:
        db.execute("UPDATE requests SET outcome = 'denied' WHERE id = 'act-2'")
    assert found(check(ledger)) == (8, Damage.INDEX)


def test_a_history_that_hides_a_request(ledger: Path) -> None:
    with tampering(ledger) as db:
        db.execute("DELETE FROM requests WHERE id = 'act-1'")
    assert found(check(ledger)) == (2, Damage.INDEX)


def test_a_clock_that_went_back_is_noted_and_harmless(scene: Scene) -> None:
    scene.approved("act-1")
    scene.clock.now = START.replace(year=2020)
    scene.approved("act-2")
    scene.denied("act-3")
    report = check(scene.close())
    assert report.fault is None
    assert [note[:41] for note in report.notes] == ["the clock went back before entry 8, from "]


def test_a_time_that_does_not_exist_is_damage_and_no_crash(ledger: Path) -> None:
    with tampering(ledger) as db:
        change_entry(db, LAST, lambda entry: replace(entry, time="yesterday"))
    assert found(check(ledger)) == (LAST, Damage.UNREADABLE)


def test_a_start_that_does_not_say_what_was_started(scene: Scene) -> None:
    scene.ask("act-1")
    scene.decide("act-1")
    started = scene.step(EntryKind.RUNNING, "act-1")
    assert found(check(scene.close())) == (started.seq, Damage.OTHER)
