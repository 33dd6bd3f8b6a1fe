"""Security keys in a ledger: signed enrolments, counters that only grow, and denials without a signature."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Damage
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.key_change import KeyChange
from aileron_tui.core.states import InvalidTransition
from aileron_tui.core.times import timestamp
from aileron_tui.core.unsigned_denial import UnsignedDenial
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.errors import KeyFault
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.surface.key_enrolment import enroll_signed, read_approvers, revoke_signed
from tests.ledger.scenes import DIGEST, Scene, check
from tests.signing.security_keys import SoftwareKey

DENIAL = UnsignedDenial(DIGEST, "wrong recipient", "page", "page-1", "")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path / "ledger.db")
    yield scene
    scene.ledger.close()


def change(scene: Scene, key: SoftwareKey, **changes: Any) -> KeyChange:
    with SqliteReader(scene.ledger.path) as reader:
        first = f"sha256:{next(reader.rows())[2].hex()}"
    good = KeyChange(
        EntryKind.KEY_ENROLLED,
        "yubi",
        key.public.line(),
        key.public.fingerprint,
        first,
        scene.ledger.head.hash,
        timestamp(scene.clock.now),
        "ab" * 16,
        added_on="usb",
    )
    return replace(good, **changes)


def body(signed: KeyChange, by: UnlockedKey) -> JsonObject:
    return signed.body(sign(signed, by).fields())


def enrol(scene: Scene, *, counts: bool = True) -> SoftwareKey:
    key = SoftwareKey(counts=counts)
    scene.ledger.append(EntryKind.KEY_ENROLLED, body(change(scene, key), scene.key))
    return key


def decide(scene: Scene, key: SoftwareKey, request: str, **options: Any) -> None:
    scene.ask(request)
    envelope = key.sign(scene.statement(request, Verdict.DENY), **options).fields()
    scene.ledger.append(EntryKind.DECIDED, {"envelope": envelope}, request)


def damage(scene: Scene) -> Damage | None:
    fault = check(scene.close()).fault
    return fault.damage if fault else None


def test_a_security_key_decides_after_its_signed_enrolment(scene: Scene) -> None:
    key = enrol(scene)
    decide(scene, key, "act-1")
    decide(scene, key, "act-2")
    report = check(scene.close(), noted=True)
    assert report.fault is None
    assert report.decisions == {key.public.fingerprint: 2}
    with SqliteReader(scene.ledger.path) as reader:
        approver = Approvers.of(reader.key_changes())[key.public.fingerprint]
        assert reader.counter(key.public.fingerprint) == 2
    assert (approver.name, approver.added_on, approver.backup_eligible) == ("yubi", "usb", False)


@pytest.mark.parametrize("before", ["", " ", "\t", "\n", "\u00a0", "\u2003"])
@pytest.mark.parametrize("named", [True, False])
def test_an_unsigned_enrolment_is_refused_everywhere(scene: Scene, before: str, named: bool) -> None:
    key = SoftwareKey()
    plain = change(scene, key).plain_body() | {"key": before + key.public.line()}
    if not named:
        del plain["fingerprint"]
    with pytest.raises(EntryRefused, match="only be enrolled with the signature"):
        scene.ledger.append(EntryKind.KEY_ENROLLED, plain)
    scene.forge(EntryKind.KEY_ENROLLED, "", plain)
    with SqliteReader(scene.ledger.path) as reader, pytest.raises(KeyFault):
        Approvers.of(reader.key_changes())
    assert damage(scene) is Damage.KEY_CHANGE


@pytest.mark.parametrize("kind", [EntryKind.KEY_ENROLLED, EntryKind.KEY_REVOKED])
def test_an_unsigned_change_after_the_first_key_is_refused_everywhere(scene: Scene, kind: EntryKind) -> None:
    owner, evil = for_this_run("owner"), for_this_run("evil")
    scene.ledger.append(EntryKind.KEY_ENROLLED, Approvers().first_enrolment("owner", owner.public))
    plain = Approvers().enrolment("evil", evil.public)
    if kind is EntryKind.KEY_REVOKED:
        plain = {"name": "owner", "fingerprint": owner.public.fingerprint}
    with pytest.raises(EntryRefused, match="is not signed"):
        scene.ledger.append(kind, plain)
    scene.forge(kind, "", plain)
    with SqliteReader(scene.ledger.path) as reader, pytest.raises(KeyFault, match="is not signed"):
        Approvers.of(reader.key_changes())
    assert damage(scene) is Damage.KEY_CHANGE


@pytest.mark.parametrize(
    "changes",
    [
        {"head": "sha256:" + "0" * 64},
        {"ledger": "sha256:" + "0" * 64},
        {"added_on": ""},
        {"added_on": "mail"},
        {"nonce": "short"},
        {"time": "yesterday"},
        {"fingerprint": "WEBAUTHN:other"},
        {"change": EntryKind.KEY_REVOKED},
    ],
)
def test_an_enrolment_signed_for_something_else_is_refused(scene: Scene, changes: dict[str, Any]) -> None:
    bad = body(change(scene, SoftwareKey(), **changes), scene.key)
    if "fingerprint" not in changes:
        with pytest.raises(EntryRefused):
            scene.ledger.append(EntryKind.KEY_ENROLLED, bad)
    scene.forge(EntryKind.KEY_ENROLLED, "", bad)
    assert damage(scene) is Damage.KEY_CHANGE


@pytest.mark.parametrize("name", ["name", "key", "fingerprint", "backup_eligible", "added_on", "insecure"])
def test_what_surrounds_a_signed_enrolment_cannot_differ(scene: Scene, name: str) -> None:
    other = change(scene, SoftwareKey(), name="other", backup_eligible=True, added_on="page", insecure=True)
    good = body(change(scene, SoftwareKey()), scene.key)
    with pytest.raises(EntryRefused, match="differs"):
        scene.ledger.append(EntryKind.KEY_ENROLLED, good | {name: other.plain_body()[name]})


def test_only_an_approver_with_a_key_of_its_own_can_enrol(scene: Scene) -> None:
    with for_this_run("stranger") as stranger:
        forged = body(change(scene, SoftwareKey()), stranger)
    with pytest.raises(EntryRefused, match="not signed by a key that may approve"):
        scene.ledger.append(EntryKind.KEY_ENROLLED, forged)
    first = enrol(scene)
    second = change(scene, SoftwareKey(), name="second")
    with pytest.raises(EntryRefused, match="not a signed change"):
        scene.ledger.append(EntryKind.KEY_ENROLLED, second.body(first.sign(second).fields()))
    claimed = body(second, scene.key)
    match claimed:
        case {"envelope": {"signatures": [dict() as signature]}}:
            signature["sig"] = "AAAA"
    scene.ledger.append(EntryKind.KEY_ENROLLED, claimed)  # only those who read it verify the signature
    with SqliteReader(scene.ledger.path) as reader, pytest.raises(KeyFault, match="not that of laptop"):
        Approvers.of(reader.key_changes())
    assert damage(scene) is Damage.KEY_CHANGE


def test_an_enrolment_cannot_be_used_again_after_the_key_was_removed(scene: Scene) -> None:
    key = SoftwareKey()
    enrolment = body(change(scene, key), scene.key)
    scene.ledger.append(EntryKind.KEY_ENROLLED, enrolment)
    scene.ledger.append(EntryKind.KEY_REVOKED, {"name": "yubi", "fingerprint": key.public.fingerprint})
    with pytest.raises(EntryRefused, match="head"):
        scene.ledger.append(EntryKind.KEY_ENROLLED, enrolment)
    scene.forge(EntryKind.KEY_ENROLLED, "", enrolment)
    with SqliteReader(scene.ledger.path) as reader, pytest.raises(KeyFault, match="already used"):
        Approvers.of(reader.key_changes())
    assert damage(scene) is Damage.KEY_CHANGE


def test_a_removed_security_key_decides_nothing(scene: Scene) -> None:
    key = enrol(scene)
    scene.ledger.append(EntryKind.KEY_REVOKED, {"name": "yubi", "fingerprint": key.public.fingerprint})
    decide(scene, key, "act-1")  # the gate refuses it; the ledger alone does not verify signatures
    assert damage(scene) is Damage.KEY


@pytest.mark.parametrize("counter", [0, 1, 6, 7])
def test_a_counter_that_does_not_grow_is_refused(scene: Scene, counter: int) -> None:
    key = enrol(scene)
    decide(scene, key, "act-1", counter=7)
    with pytest.raises(EntryRefused, match="copied"):
        decide(scene, key, "act-2", counter=counter)
    scene.reopen()
    scene.ledger.rebuild_index()
    envelope = key.sign(scene.statement("act-2", Verdict.DENY), counter=counter).fields()
    with pytest.raises(EntryRefused, match="copied"):
        scene.ledger.append(EntryKind.DECIDED, {"envelope": envelope}, "act-2")
    scene.forge(EntryKind.DECIDED, "act-2", {"envelope": envelope})
    assert damage(scene) is Damage.COPIED


def test_a_key_that_does_not_count_may_say_zero_forever(scene: Scene) -> None:
    key = enrol(scene, counts=False)
    for request in ("act-1", "act-2", "act-3"):
        decide(scene, key, request)
    assert damage(scene) is None


def test_every_part_of_a_recorded_assertion_is_verified(scene: Scene) -> None:
    key = enrol(scene)
    scene.ask("act-1")
    statement = scene.statement("act-1", Verdict.DENY)
    scene.forge(EntryKind.DECIDED, "act-1", {"envelope": key.sign(statement, flags=0x01).fields()})
    assert damage(scene) is Damage.SIGNATURE


def test_keys_are_enrolled_and_revoked_with_a_signature(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "ledger.db")
    scene.close()
    yubi, phone = SoftwareKey(), SoftwareKey()
    enroll_signed(tmp_path, "yubi", yubi.public, scene.key, added_on="usb")
    enroll_signed(tmp_path, "phone", phone.public, scene.key, added_on="page", backup_eligible=True)
    with pytest.raises(KeyFault, match="already enrolled"):
        enroll_signed(tmp_path, "again", yubi.public, scene.key, added_on="usb")
    with for_this_run("second") as second:
        with pytest.raises(KeyFault, match="may not approve"):
            enroll_signed(tmp_path, "mine", SoftwareKey().public, second, added_on="usb")
        enroll_signed(tmp_path, "second", second.public, scene.key)
        revoke_signed(tmp_path, "yubi", second)
        revoke_signed(tmp_path, "laptop", scene.key)
    found = read_approvers(tmp_path)
    assert [approver.name for approver in found.active] == ["phone", "second"]
    assert [(approver.name, approver.backup_eligible) for approver in found.security_keys] == [("phone", True)]
    assert check(tmp_path / "ledger.db", noted=True).fault is None


def test_a_denial_without_a_signature_ends_a_request(scene: Scene) -> None:
    scene.ask("act-1")
    scene.show("act-1")
    scene.ledger.append(EntryKind.DENIED_UNSIGNED, DENIAL.body(), "act-1")
    for kind in (EntryKind.DENIED_UNSIGNED, EntryKind.RUNNING):
        with pytest.raises(InvalidTransition):
            scene.ledger.append(kind, DENIAL.body(), "act-1")
    report = check(scene.close(), noted=True)
    assert (report.fault, report.unsigned_denials, report.decisions) == (None, 1, {})
    with SqliteReader(scene.ledger.path) as reader:
        record = reader.find("act-1")
    assert record is not None
    assert (record.outcome, record.surface, record.signer, record.reason) == ("denied", "page", "", "wrong recipient")
    assert record.answered == "denied on the page, without a signature"


@pytest.mark.parametrize(
    "changes",
    [
        {"digest": "x"},
        {"surface": ""},
        {"session": ""},
        {"verdict": "approve"},
        {"reason": "x" * 4001},
        {"opened_by": 1},
    ],
)
def test_a_denial_that_is_not_valid_is_refused(scene: Scene, changes: JsonObject) -> None:
    scene.ask("act-1")
    with pytest.raises(EntryRefused, match="denial"):
        scene.ledger.append(EntryKind.DENIED_UNSIGNED, DENIAL.body() | changes, "act-1")
    scene.forge(EntryKind.DENIED_UNSIGNED, "act-1", DENIAL.body() | changes)
    assert damage(scene) is Damage.UNREADABLE


def test_nothing_runs_after_an_unsigned_denial(scene: Scene) -> None:
    scene.ask("act-1")
    scene.ledger.append(EntryKind.DENIED_UNSIGNED, DENIAL.body(), "act-1")
    scene.forge(EntryKind.RUNNING, "act-1", {"digest": DIGEST})
    assert damage(scene) is Damage.REPEATED


def test_the_request_of_a_daemon_needs_a_signature(scene: Scene) -> None:
    scene.ask_daemon("apr-1")
    with pytest.raises(EntryRefused, match="daemon"):
        scene.ledger.append(EntryKind.DENIED_UNSIGNED, DENIAL.body(), "apr-1")
    scene.forge(EntryKind.DENIED_UNSIGNED, "apr-1", DENIAL.body())
    assert damage(scene) is Damage.REPEATED


def test_a_guest_cannot_deny(scene: Scene) -> None:
    scene.ask("act-1")
    path = scene.close()
    with SqliteLedger(path, guest=True) as guest, pytest.raises(EntryRefused, match="only the process that holds"):
        guest.append(EntryKind.DENIED_UNSIGNED, DENIAL.body(), "act-1")
