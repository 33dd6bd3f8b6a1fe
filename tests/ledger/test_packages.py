"""Packages in the ledger: only signed changes count, once, by a key that may approve at that point."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.entry_chain import Damage
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonError, JsonObject, canonical
from aileron_tui.core.package_change import (
    PackageChange,
    PackageRef,
    added,
    declined_body,
    read_signed_change,
    removed,
)
from aileron_tui.core.package_grant import (
    ActionGrant,
    ConnectorGrant,
    CredentialGrant,
    PackageGrant,
    content_hash,
)
from aileron_tui.core.times import timestamp
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.sqlite.reader import SqliteReader, WatchingReader
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.errors import NoPackage
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.packages import Packages
from tests.ledger.scenes import START, Scene, age_index, check

CONNECTOR = ConnectorGrant(
    "github://acme/mail",
    "1.0.0",
    "sha256:" + "c0" * 32,
    "signed by github://acme",
    ("mail.example.com:443",),
    CredentialGrant("oauth2", ("mail.send",), ("https://accounts.example.com/auth",)),
)
ACTION = ActionGrant("send", "1.0.0", "sha256:" + "a1" * 32, "unsigned", gated=True, ops=("github://acme/mail send",))


def grant(name: str = "mail", version: str = "1.0.0", **changes: Any) -> PackageGrant:
    connector = replace(CONNECTOR, version=version, hash="sha256:" + version.replace(".", "a").ljust(64, "0"))
    connectors, actions = (connector,), (ACTION,)
    made = PackageGrant(name, version, "", "/src/mail", "the folder /src/mail", connectors, actions)
    made = replace(made, **changes)
    return replace(made, hash=content_hash(made.connectors, made.actions))


FIRST = grant()
SECOND = grant(version="1.1.0", replaces=FIRST.hash)


def change_of(scene: Scene, *grants: PackageGrant) -> PackageChange:
    return added(grants, scene.ledger.head.hash, timestamp(scene.clock.now))


def body_of(scene: Scene, change: PackageChange, key: UnlockedKey | None = None) -> JsonObject:
    return change.body(sign(change, key or scene.key).fields())


def record(scene: Scene, change: PackageChange, key: UnlockedKey | None = None) -> None:
    scene.ledger.append(change.change, body_of(scene, change, key))


def removal(scene: Scene, known: PackageGrant = FIRST) -> PackageChange:
    reference = PackageRef(known.name, known.version, known.hash)
    return removed((reference,), scene.ledger.head.hash, timestamp(scene.clock.now))


def packages_of(scene: Scene) -> Packages:
    with SqliteReader(scene.ledger.path) as reader:
        return Packages.of(reader)


def test_packages_are_added_updated_declined_and_removed(scene: Scene) -> None:
    record(scene, change_of(scene, FIRST, grant("other", actions=())))
    assert {name: known.grant.version for name, known in packages_of(scene).items()} == {
        "mail": "1.0.0",
        "other": "1.0.0",
    }
    scene.ledger.append(EntryKind.PACKAGE_DECLINED, declined_body((PackageRef("mail", "1.1.0", SECOND.hash),), "/src"))
    assert packages_of(scene)["mail"].grant == FIRST
    record(scene, change_of(scene, SECOND))
    known = packages_of(scene)["mail"]
    assert (known.grant, known.approved_by, known.signer) == (SECOND, "laptop", scene.key.public.fingerprint)
    record(scene, removal(scene, SECOND))
    assert set(packages_of(scene)) == {"other"}
    report = check(scene.ledger.path, noted=True)
    assert report.fault is None
    assert len(report.package_changes) == 4


def test_a_gate_that_watches_notices_each_change(scene: Scene) -> None:
    watching = WatchingReader(scene.ledger.path)
    assert watching.last_package_change() == 0
    record(scene, change_of(scene, FIRST))
    assert watching.last_package_change() == scene.ledger.head.seq
    watching.close()


def test_an_older_index_is_read_and_rebuilt(scene: Scene) -> None:
    record(scene, change_of(scene, FIRST))
    path = scene.close()
    age_index(path)
    scene.reopen()
    assert set(packages_of(scene)) == {"mail"}


def test_a_change_counts_only_for_what_is_installed(scene: Scene) -> None:
    with pytest.raises(EntryRefused, match="version of mail that it replaces or removes is not installed"):
        record(scene, change_of(scene, SECOND))
    record(scene, change_of(scene, FIRST))
    with pytest.raises(EntryRefused, match="version of mail that it replaces or removes is not installed"):
        record(scene, removal(scene, SECOND))
    again = grant(actions=())
    record(scene, change_of(scene, again))
    packages = packages_of(scene)
    assert packages["mail"].grant == FIRST
    assert "mail is already installed" in packages.invalid[0]
    assert check(scene.ledger.path, noted=True).fault
    assert packages.objection(change_of(scene, again), timestamp(scene.clock.now)) == "mail is already installed"


@pytest.mark.parametrize("forged", ["removal", "update", "nonsense"])
def test_a_forged_entry_keeps_nobody_from_removing_a_package(scene: Scene, forged: str) -> None:
    record(scene, change_of(scene, FIRST))
    if forged == "nonsense":
        scene.forge(EntryKind.PACKAGE_REMOVED, "", {"id": "x"})
    else:
        change = removal(scene) if forged == "removal" else change_of(scene, SECOND)
        scene.ledger.append(change.change, body_of(scene, change, for_this_run("stranger")))
    assert packages_of(scene)["mail"].grant == FIRST
    assert packages_of(scene).invalid
    record(scene, removal(scene))
    assert not packages_of(scene)


def test_a_copied_entry_is_refused(scene: Scene) -> None:
    first = change_of(scene, FIRST)
    body = body_of(scene, first)
    scene.ledger.append(EntryKind.PACKAGE_ADDED, body)
    record(scene, removal(scene))
    with pytest.raises(EntryRefused, match="was already made"):
        scene.ledger.append(EntryKind.PACKAGE_ADDED, body)
    scene.forge(EntryKind.PACKAGE_ADDED, "", body)
    packages = packages_of(scene)
    assert not packages
    assert "was already made" in packages.invalid[0]
    fault = check(scene.ledger.path, noted=True).fault
    assert fault
    assert fault.damage is Damage.PACKAGE


def test_an_entry_of_another_ledger_is_refused(scene: Scene, tmp_path: Path) -> None:
    other = Scene(tmp_path / "other" / "ledger.db")
    other.enrol(scene.key)
    body = body_of(scene, change_of(other, FIRST))
    other.close()
    with pytest.raises(EntryRefused, match="recent head"):
        scene.ledger.append(EntryKind.PACKAGE_ADDED, body)
    scene.forge(EntryKind.PACKAGE_ADDED, "", body)
    assert not packages_of(scene)
    assert check(scene.ledger.path, noted=True).fault


def test_what_was_signed_long_ago_is_refused(scene: Scene) -> None:
    change = change_of(scene, FIRST)
    scene.clock.now += timedelta(minutes=6)
    with pytest.raises(EntryRefused, match="too long ago"):
        record(scene, change)


def unsigned(scene: Scene) -> JsonObject:
    body = body_of(scene, change_of(scene, FIRST))
    del body["envelope"]
    return body


def by_a_stranger(scene: Scene) -> JsonObject:
    return body_of(scene, change_of(scene, FIRST), for_this_run("stranger"))


def by_a_revoked_key(scene: Scene) -> JsonObject:
    second = for_this_run("second")
    scene.enrol(second)
    scene.revoke(second)
    return body_of(scene, change_of(scene, FIRST), second)


def with_another_host(scene: Scene) -> JsonObject:
    body = body_of(scene, change_of(scene, FIRST))
    more = replace(CONNECTOR, hosts=("evil.example.com:443",), hash=FIRST.connectors[0].hash)
    return body | {"packages": [replace(FIRST, connectors=(more,)).fields()]}


def signed_as_a_removal(scene: Scene) -> JsonObject:
    return body_of(scene, removal(scene))


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (unsigned, "needs its signed envelope"),
        (by_a_stranger, "no approver signed"),
        (by_a_revoked_key, "no approver signed"),
        (with_another_host, "differs from the fields around it"),
        (signed_as_a_removal, "differs from the fields around it"),
    ],
)
def test_what_no_approver_signed_does_not_count(scene: Scene, forged: Callable[[Scene], JsonObject], why: str) -> None:
    scene.forge(EntryKind.PACKAGE_ADDED, "", forged(scene))
    packages = packages_of(scene)
    assert not packages
    assert why in packages.invalid[0]
    fault = check(scene.ledger.path, noted=True).fault
    assert fault
    assert fault.damage is Damage.PACKAGE


def test_what_a_key_approved_before_it_was_revoked_stays_and_says_so(scene: Scene) -> None:
    second = for_this_run("second")
    scene.enrol(second)
    record(scene, change_of(scene, FIRST), second)
    scene.revoke(second)
    known = packages_of(scene)["mail"]
    assert known.approved_by == "second"
    assert known.revoked
    assert check(scene.ledger.path, noted=True).fault is None


def test_packages_are_found_by_the_end_of_their_name(scene: Scene) -> None:
    full = grant("github://acme/mail")
    record(scene, change_of(scene, full))
    packages = packages_of(scene)
    assert packages.named("mail").grant == full
    with pytest.raises(NoPackage, match="no installed package named calendar"):
        packages.named("calendar")
    record(scene, change_of(scene, grant("github://other/mail", actions=())))
    with pytest.raises(NoPackage, match="several packages are named mail"):
        packages_of(scene).named("mail")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda fields: fields["packages"][0].update(name="a b"),
        lambda fields: fields["packages"][0].update(hash="sha256:" + "0" * 64),
        lambda fields: fields["packages"][0].update(more="x"),
        lambda fields: fields["packages"][0].update(replaces="nothing"),
        lambda fields: fields["packages"][0]["actions"][0].update(gated="no"),
        lambda fields: fields["packages"][0]["actions"][0].update(name="Send Draft"),
        lambda fields: fields["packages"][0]["connectors"][0].update(version="v1"),
        lambda fields: fields["packages"][0]["connectors"][0].update(hosts="mail.example.com:443"),
        lambda fields: fields["packages"][0]["connectors"][0]["credential"].update(kind="root"),
        lambda fields: fields["packages"].append(fields["packages"][0]),
        lambda fields: fields["packages"].clear(),
        lambda fields: fields.update(change="agent.added"),
        lambda fields: fields.update(id="pkg-1"),
        lambda fields: fields.update(head="sha256:0"),
    ],
)
def test_a_change_with_wrong_fields_is_refused(spoil: Callable[[Any], None]) -> None:
    change = added((FIRST,), "sha256:" + "0" * 64, timestamp(START))
    assert read_signed_change(change.payload()) == change
    fields: Any = {
        "change": str(change.change),
        "id": change.id,
        "head": change.head,
        "time": change.time,
        "packages": [FIRST.fields()],
    }
    spoil(fields)
    with pytest.raises(JsonError):
        read_signed_change(canonical(fields))
