"""Bindings in the ledger: only signed changes count, once, by a key that may approve at that point."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.binding_change import (
    Binding,
    BindingChange,
    declined_body,
    ended,
    made,
    new_binding_id,
    outdated,
    read_signed_change,
)
from aileron_tui.core.entry_chain import Damage
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonError, JsonObject, canonical
from aileron_tui.core.package_grant import ConnectorGrant, CredentialGrant
from aileron_tui.core.times import timestamp
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.sqlite.reader import SqliteReader, WatchingReader
from aileron_tui.signing.bindings import Bindings
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from tests.ledger.scenes import START, Scene, age_index, check

MAIL = "github://acme/mail"
ADDRESSES = ("https://accounts.example.com/auth", "https://accounts.example.com/token")
HOSTS = ("mail.example.com:443",)
FIRST = Binding(new_binding_id(), MAIL, "oauth2", "work", ("mail.send",), ADDRESSES, "client-1", "file", hosts=HOSTS)
SECOND = replace(FIRST, id=new_binding_id(), replaces=FIRST.id, store="keyring")
HOME = replace(FIRST, id=new_binding_id(), account="home")
ASKED = CredentialGrant("oauth2", ("mail.send",), ADDRESSES)


def making(scene: Scene, binding: Binding = FIRST) -> BindingChange:
    return made(binding, scene.ledger.head.hash, timestamp(scene.clock.now))


def ending(scene: Scene, binding: Binding = FIRST) -> BindingChange:
    return ended(binding, scene.ledger.head.hash, timestamp(scene.clock.now))


def body_of(scene: Scene, change: BindingChange, key: UnlockedKey | None = None) -> JsonObject:
    return change.body(sign(change, key or scene.key).fields())


def record(scene: Scene, change: BindingChange, key: UnlockedKey | None = None) -> None:
    scene.ledger.append(change.change, body_of(scene, change, key))


def bindings_of(scene: Scene) -> Bindings:
    with SqliteReader(scene.ledger.path) as reader:
        return Bindings.of(reader)


def test_bindings_are_made_replaced_declined_and_ended(scene: Scene) -> None:
    record(scene, making(scene))
    record(scene, making(scene, HOME))
    assert [known.binding for known in bindings_of(scene).of_connector(MAIL)] == [HOME, FIRST]
    scene.ledger.append(EntryKind.BINDING_DECLINED, declined_body(MAIL, "work", "oauth2"))
    assert bindings_of(scene)[MAIL, "work"].binding == FIRST
    record(scene, making(scene, SECOND))
    known = bindings_of(scene)[MAIL, "work"]
    assert (known.binding, known.approved_by, known.signer) == (SECOND, "laptop", scene.key.public.fingerprint)
    record(scene, ending(scene, SECOND))
    assert set(bindings_of(scene)) == {(MAIL, "home")}
    report = check(scene.ledger.path, noted=True)
    assert report.fault is None
    assert len(report.binding_changes) == 5


def test_a_gate_that_watches_notices_each_change(scene: Scene) -> None:
    watching = WatchingReader(scene.ledger.path)
    assert watching.last_binding_change() == 0
    record(scene, making(scene))
    assert watching.last_binding_change() == scene.ledger.head.seq
    watching.close()


def test_an_older_index_is_read_and_rebuilt(scene: Scene) -> None:
    record(scene, making(scene))
    path = scene.close()
    age_index(path)
    scene.reopen()
    assert set(bindings_of(scene)) == {(MAIL, "work")}


def test_a_change_counts_only_for_what_is_in_force(scene: Scene) -> None:
    with pytest.raises(EntryRefused, match="was never made"):
        record(scene, making(scene, SECOND))
    with pytest.raises(EntryRefused, match="was never made"):
        record(scene, ending(scene))
    record(scene, making(scene))
    with pytest.raises(EntryRefused, match="was never made"):
        record(scene, ending(scene, replace(FIRST, scopes=("mail.read",))))
    again = making(scene, replace(FIRST, id=new_binding_id()))
    assert "replaces another binding" in bindings_of(scene).objection(again, timestamp(scene.clock.now))
    record(scene, again)
    bindings = bindings_of(scene)
    assert bindings[MAIL, "work"].binding == FIRST
    assert "replaces another binding" in bindings.invalid[0]
    assert check(scene.ledger.path, noted=True).fault


@pytest.mark.parametrize("forged", ["end", "replacement", "nonsense"])
def test_a_forged_entry_keeps_nobody_from_ending_a_binding(scene: Scene, forged: str) -> None:
    record(scene, making(scene))
    if forged == "nonsense":
        scene.forge(EntryKind.BINDING_ENDED, "", {"binding": "x"})
    else:
        change = ending(scene) if forged == "end" else making(scene, SECOND)
        scene.ledger.append(change.change, body_of(scene, change, for_this_run("stranger")))
    assert bindings_of(scene)[MAIL, "work"].binding == FIRST
    assert bindings_of(scene).invalid
    record(scene, ending(scene))
    assert not bindings_of(scene)


def test_a_copied_entry_is_refused(scene: Scene) -> None:
    body = body_of(scene, making(scene))
    scene.ledger.append(EntryKind.BINDING_MADE, body)
    record(scene, ending(scene))
    with pytest.raises(EntryRefused, match="was already made"):
        scene.ledger.append(EntryKind.BINDING_MADE, body)
    scene.forge(EntryKind.BINDING_MADE, "", body)
    bindings = bindings_of(scene)
    assert not bindings
    assert "was already made" in bindings.invalid[0]
    fault = check(scene.ledger.path, noted=True).fault
    assert fault
    assert fault.damage is Damage.BINDING


def test_an_entry_of_another_ledger_is_refused(scene: Scene, tmp_path: Path) -> None:
    other = Scene(tmp_path / "other" / "ledger.db")
    other.enrol(scene.key)
    body = body_of(scene, making(other))
    other.close()
    with pytest.raises(EntryRefused, match="recent head"):
        scene.ledger.append(EntryKind.BINDING_MADE, body)
    scene.forge(EntryKind.BINDING_MADE, "", body)
    assert not bindings_of(scene)
    assert check(scene.ledger.path, noted=True).fault


def test_what_was_signed_long_ago_is_refused(scene: Scene) -> None:
    change = making(scene)
    scene.clock.now += timedelta(minutes=6)
    with pytest.raises(EntryRefused, match="too long ago"):
        record(scene, change)


def unsigned(scene: Scene) -> JsonObject:
    body = body_of(scene, making(scene))
    del body["envelope"]
    return body


def by_a_stranger(scene: Scene) -> JsonObject:
    return body_of(scene, making(scene), for_this_run("stranger"))


def by_a_revoked_key(scene: Scene) -> JsonObject:
    second = for_this_run("second")
    scene.enrol(second)
    scene.revoke(second)
    return body_of(scene, making(scene), second)


def with_another_account(scene: Scene) -> JsonObject:
    return body_of(scene, making(scene)) | {"binding": HOME.fields()}


def signed_as_an_end(scene: Scene) -> JsonObject:
    return body_of(scene, ending(scene))


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (unsigned, "needs its signed envelope"),
        (by_a_stranger, "no approver signed"),
        (by_a_revoked_key, "no approver signed"),
        (with_another_account, "differs from the fields around it"),
        (signed_as_an_end, "differs from the fields around it"),
    ],
)
def test_what_no_approver_signed_does_not_count(scene: Scene, forged: Callable[[Scene], JsonObject], why: str) -> None:
    scene.forge(EntryKind.BINDING_MADE, "", forged(scene))
    bindings = bindings_of(scene)
    assert not bindings
    assert why in bindings.invalid[0]
    fault = check(scene.ledger.path, noted=True).fault
    assert fault
    assert fault.damage is Damage.BINDING


def test_what_a_key_approved_before_it_was_revoked_stays_and_says_so(scene: Scene) -> None:
    second = for_this_run("second")
    scene.enrol(second)
    record(scene, making(scene), second)
    scene.revoke(second)
    known = bindings_of(scene)[MAIL, "work"]
    assert known.approved_by == "second"
    assert known.revoked
    assert check(scene.ledger.path, noted=True).fault is None


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (ASKED, ""),
        (CredentialGrant("oauth2", (), ADDRESSES), ""),
        (None, "no longer uses an account"),
        (CredentialGrant("api_key"), "another kind of account: api_key"),
        (CredentialGrant("oauth2", ("mail.send", "mail.read"), ADDRESSES), "asks for more: mail.read"),
        (CredentialGrant("oauth2", ("mail.send",), ("https://evil.example/auth", ADDRESSES[1])), "another address"),
    ],
)
def test_a_binding_counts_only_for_what_was_agreed_to(asked: CredentialGrant | None, why: str) -> None:
    found = outdated(FIRST, ConnectorGrant(MAIL, "1.0.0", "", "", HOSTS, asked))
    assert why in found
    assert bool(found) == bool(why)


@pytest.mark.parametrize(
    ("hosts", "why"),
    [
        (HOSTS, ""),
        ((), ""),
        ((*HOSTS, "evil.example:443"), "sent to evil.example:443 too"),
        (("mail.example.com:8443",), "sent to mail.example.com:8443 too"),
    ],
)
def test_a_binding_counts_only_for_the_hosts_that_were_agreed_to(hosts: tuple[str, ...], why: str) -> None:
    found = outdated(FIRST, ConnectorGrant(MAIL, "2.0.0", "", "", hosts, ASKED))
    assert why in found
    assert bool(found) == bool(why)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda fields: fields["binding"].update(id="bnd-1"),
        lambda fields: fields["binding"].update(replaces="nothing"),
        lambda fields: fields["binding"].update(connector="mail"),
        lambda fields: fields["binding"].update(account="a b"),
        lambda fields: fields["binding"].update(account="x\x1b[2J"),
        lambda fields: fields["binding"].update(kind="root"),
        lambda fields: fields["binding"].update(store="plain"),
        lambda fields: fields["binding"].update(scopes="mail.send"),
        lambda fields: fields["binding"].update(scopes=[1]),
        lambda fields: fields["binding"].update(secret="x"),
        lambda fields: fields["binding"].pop("region"),
        lambda fields: fields.update(binding=None),
        lambda fields: fields.update(change="package.added"),
        lambda fields: fields.update(change="binding.declined"),
        lambda fields: fields.update(head="sha256:0"),
        lambda fields: fields.update(more="x"),
    ],
)
def test_a_change_with_wrong_fields_is_refused(spoil: Callable[[Any], None]) -> None:
    change = made(FIRST, "sha256:" + "0" * 64, timestamp(START))
    assert read_signed_change(change.payload()) == change
    fields: Any = {
        "change": str(change.change),
        "head": change.head,
        "time": change.time,
        "binding": FIRST.fields(),
    }
    assert canonical(fields) == change.payload()
    spoil(fields)
    with pytest.raises(JsonError):
        read_signed_change(canonical(fields))
