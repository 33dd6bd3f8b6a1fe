"""What is installed: only bytes that somebody approved are loaded, and they may do no more than was approved."""

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.errors import AileronError
from aileron_tui.core.package_change import PackageRef
from aileron_tui.core.package_grant import PackageGrant, content_hash
from aileron_tui.ledger.errors import LedgerUnusable
from aileron_tui.packages import store as store_module
from aileron_tui.packages.installed import InstalledPackages
from aileron_tui.packages.offer import read_offer
from aileron_tui.packages.proposal import Proposal, ProposalRefused, propose
from aileron_tui.packages.store import StoreError
from aileron_tui.sandbox.connector_package import PackageError
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.errors import PackageFault
from aileron_tui.signing.key_store import for_this_run
from aileron_tui.surface import package_changes
from tests.packages.made_packages import (
    ACTIONS,
    AUTHORITY,
    FIRST,
    NEW_ACTION,
    SECOND,
    STRANGER,
    MadeFrom,
    archive,
    keyring,
    made_release,
)
from tests.packages.package_home import PackageHome


@pytest.fixture
def home(tmp_path: Path) -> PackageHome:
    return PackageHome(tmp_path / "data")


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return made_release(FIRST).write_bundle(tmp_path / "first")


@pytest.fixture
def second(tmp_path: Path) -> Path:
    return made_release(SECOND).write_bundle(tmp_path / "second")


def only(installed: InstalledPackages) -> tuple[PackageGrant, str]:
    (package,) = installed.packages
    return package.known.grant, package.problem


def test_what_was_approved_is_loaded_and_removed_again(home: PackageHome, first: Path, second: Path) -> None:
    home.add(first)
    content = home.content()
    assert set(content.bundle.actions) == set(ACTIONS)
    assert set(content.connectors) == {AUTHORITY}
    assert not content.bundle.findings
    grant, problem = only(home.installed())
    assert (grant.name, grant.version, problem) == ("mail", FIRST, "")
    assert grant.connectors[0].publisher == f"signed by {AUTHORITY}"

    home.add(second, name="mail")
    assert NEW_ACTION in home.content().bundle.actions
    assert home.stored() == {only(home.installed())[0].hash}, "the old version is removed"
    home.remove("mail")
    assert not home.content().bundle.actions
    assert home.stored() == set()


def test_archives_of_a_connector_and_its_actions_are_installed_together(home: PackageHome, tmp_path: Path) -> None:
    folder = made_release(FIRST).write_archives(tmp_path / "archives")
    archives = sorted(folder.iterdir())
    home.add(*archives)
    assert set(home.packages()) == {AUTHORITY, *ACTIONS}
    assert set(home.content().bundle.actions) == set(ACTIONS)
    assert not home.content().bundle.findings


def edit(home: PackageHome, pattern: str, change: Callable[[bytes], bytes]) -> None:
    (path,) = home.store.root.glob(f"sha256/*/{pattern}")
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (
            lambda home: edit(home, "actions/send-draft.md", lambda data: data.replace(b"= true", b"= false")),
            "the action send-draft was changed after it was approved",
        ),
        (
            lambda home: edit(home, "connectors/*/manifest.toml", lambda data: data + b"\n"),
            f"the connector {AUTHORITY} was changed after it was approved",
        ),
        (
            lambda home: edit(home, "connectors/*/connector.wasm", lambda data: data[:-1] + b"\0"),
            f"the connector {AUTHORITY} was changed after it was approved",
        ),
        (lambda home: next(home.store.root.glob("sha256/*/actions/send-draft.md")).unlink(), "cannot be read"),
        (lambda home: next(home.store.root.glob("sha256/*/connectors/*/signature.sig")).unlink(), "was signed"),
        (lambda home: next(home.store.root.glob("sha256/*")).rename(home.data / "away"), "its files are missing"),
    ],
)
def test_changed_bytes_are_refused_and_can_be_restored(
    home: PackageHome, first: Path, spoil: Callable[[PackageHome], None], why: str
) -> None:
    proposals = home.add(first)
    assert home.installed().usable_connectors == {made_release(FIRST).hash}
    spoil(home)
    assert why in only(home.installed())[1]
    assert not home.installed().usable_connectors, "a suite would not download it again"
    content = home.content()
    assert not content.bundle.actions
    assert not content.connectors
    assert [finding.rule for finding in content.bundle.findings] == ["package"]
    package_changes.restore(home.ledger, proposals)
    assert set(home.content().bundle.actions) == set(ACTIONS)


def test_an_added_file_in_the_store_is_not_loaded(home: PackageHome, first: Path) -> None:
    home.add(first)
    (folder,) = home.store.root.glob("sha256/*")
    (folder / "actions" / "extra.md").write_bytes(made_release(SECOND).actions[NEW_ACTION])
    assert set(home.content().bundle.actions) == set(ACTIONS)


def narrowed(proposal: Proposal, **changes: Any) -> Proposal:
    """A proposal whose grant does not name all that its content asks for."""
    connector = replace(proposal.grant.connectors[0], **changes)
    return replace(proposal, grant=replace(proposal.grant, connectors=(connector,)))


def ungated(proposal: Proposal) -> Proposal:
    """A proposal whose grant says that every action is gated."""
    actions = tuple(replace(action, gated=True) for action in proposal.grant.actions)
    return replace(proposal, grant=replace(proposal.grant, actions=actions))


def other_ops(proposal: Proposal) -> Proposal:
    actions = tuple(replace(action, ops=(f"{AUTHORITY} list_drafts",)) for action in proposal.grant.actions)
    return replace(proposal, grant=replace(proposal.grant, actions=actions))


def without_an_action(proposal: Proposal) -> Proposal:
    """A proposal that does not name the last action, which its folder has."""
    grant = replace(proposal.grant, actions=proposal.grant.actions[:-1])
    content = replace(proposal.content, actions=proposal.content.actions[:-1])
    return replace(proposal, grant=rehashed(grant), content=content)


def rehashed(grant: PackageGrant) -> PackageGrant:
    return replace(grant, hash=content_hash(grant.connectors, grant.actions))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda made: narrowed(made, hosts=()), "it asks for 127.0.0.1:8725, which nobody approved"),
        (lambda made: narrowed(made, credential=None), "another credential than was approved"),
        (
            lambda made: narrowed(made, version="9.9.9"),
            "but github://example/aileron-connector-mail 9.9.9 was approved",
        ),
        (ungated, "it no longer needs approval, which nobody agreed to"),
        (other_ops, "it runs other ops than were approved"),
    ],
)
def test_what_the_grant_does_not_name_is_refused(
    home: PackageHome, first: Path, change: Callable[[Proposal], Proposal], why: str
) -> None:
    (made,) = home.proposals(first)
    home.install([change(made)])
    assert why in only(home.installed())[1]
    assert not home.content().bundle.actions


def test_an_action_that_was_not_named_is_not_loaded(home: PackageHome, first: Path) -> None:
    (made,) = home.proposals(first)
    home.install([without_an_action(made)])
    gone = made.grant.actions[-1].name
    assert set(home.content().bundle.actions) == set(ACTIONS) - {gone}


def test_a_key_that_may_not_approve_installs_nothing(home: PackageHome, first: Path) -> None:
    proposals = home.proposals(first)
    with pytest.raises(PackageFault, match="may not approve here"):
        package_changes.install(home.ledger, proposals, for_this_run("stranger"))
    assert not home.packages()
    assert home.stored() == set()


def test_a_second_answer_to_the_same_question_changes_nothing(home: PackageHome, first: Path, second: Path) -> None:
    home.add(first)
    stale = home.proposals(second, name="mail")
    again = home.proposals(second, name="mail")
    home.install(stale)
    with pytest.raises(PackageFault, match="have changed meanwhile"):
        home.install(again)
    assert home.packages()["mail"].grant.version == SECOND
    assert set(home.content().bundle.actions) == {*ACTIONS, NEW_ACTION}


def test_two_with_one_action_that_are_added_at_once_do_not_both_succeed(
    home: PackageHome, first: Path, tmp_path: Path
) -> None:
    release = made_release(FIRST)
    other = release.write_bundle(tmp_path / "another")
    (other / "suite.toml").write_bytes(release.suite.replace(b'name = "mail"', b'name = "another"'))
    ungated = release.actions["send-draft"].replace(b"required = true", b"required = false")
    (other / "actions" / "send-draft.md").write_bytes(ungated)
    shown, shown_too = home.proposals(first), home.proposals(other)  # neither knows of the other
    home.install(shown)
    with pytest.raises(ProposalRefused, match="there is already an action"):
        home.install(shown_too)
    assert set(home.packages()) == {"mail"}
    assert home.content().bundle.actions["send-draft"].gated
    assert home.stored() == {only(home.installed())[0].hash}


def test_an_update_that_breaks_more_than_was_said_is_refused(
    home: PackageHome, first: Path, second: Path, tmp_path: Path
) -> None:
    (first / "actions" / "list-drafts.md").unlink()
    (second / "actions" / "list-drafts.md").unlink()
    for folder in (first, second):
        (folder / "suite.toml").unlink()
    home.add(first)
    shown = home.proposals(second)
    archives = made_release(FIRST).write_archives(tmp_path / "archives")
    home.add(archives / "aileron-list-drafts.tar.gz")
    with pytest.raises(PackageFault, match="list-drafts would stop working"):
        home.install(shown)


def test_two_that_add_at_once_both_succeed(home: PackageHome, tmp_path: Path) -> None:
    folder = made_release(FIRST).write_archives(tmp_path / "archives")
    home.add(folder / "aileron.tar.gz")
    names = ("list-drafts", "get-draft")
    errors: list[AileronError] = []

    def add(name: str) -> None:
        try:
            home.add(folder / f"aileron-{name}.tar.gz")
        except AileronError as error:
            errors.append(error)

    threads = [threading.Thread(target=add, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert set(home.content().bundle.actions) == set(names)


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch, after: int) -> Iterator[None]:
    """The disk is full after this many files."""
    real, left = store_module._write_file, [after]

    def write(path: Path, data: bytes) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(store_module, "_write_file", write)
        yield


@pytest.mark.parametrize("after", [0, 1, 3, 6])
def test_a_full_disk_leaves_the_old_version(
    home: PackageHome, first: Path, second: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    home.add(first)
    with full_disk(monkeypatch, after), pytest.raises(StoreError, match="no space left on device") as caught:
        home.add(second, name="mail")
    assert "Nothing was installed" in caught.value.hint
    assert home.packages()["mail"].grant.version == FIRST
    assert home.stored() == {home.packages()["mail"].grant.hash}
    assert set(home.content().bundle.actions) == set(ACTIONS)


def test_a_ledger_that_cannot_be_written_leaves_the_old_version(
    home: PackageHome, first: Path, second: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.add(first)
    proposals = home.proposals(second, name="mail")

    def fail(*_: object, **__: object) -> None:
        raise LedgerUnusable("the ledger cannot be written", "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(package_changes, "_record", fail)
        with pytest.raises(LedgerUnusable):
            home.install(proposals)
    assert home.packages()["mail"].grant.version == FIRST
    assert home.stored() == {home.packages()["mail"].grant.hash}


def test_leftovers_are_removed_by_the_next_command(home: PackageHome, first: Path) -> None:
    home.add(first)
    (home.store.root / ".new-0123").mkdir()
    (home.store.root / "sha256" / ("0" * 64)).mkdir()
    package_changes.remove(home.ledger, [PackageRef("mail", FIRST, home.packages()["mail"].grant.hash)], home.key)
    assert home.stored() == set()


# proposals


def test_an_action_needs_its_connector(home: PackageHome, tmp_path: Path) -> None:
    folder = made_release(FIRST).write_archives(tmp_path / "archives")
    with pytest.raises(ProposalRefused, match="the connector of get-draft is not installed") as caught:
        home.add(folder / "aileron-get-draft.tar.gz")
    assert f"aileron-tui add {AUTHORITY}@{FIRST}" in caught.value.hint


def test_an_action_must_pin_the_connector_that_is_installed(home: PackageHome, tmp_path: Path) -> None:
    home.add(made_release(FIRST).write_archives(tmp_path / "one") / "aileron.tar.gz")
    other = made_release(SECOND).write_archives(tmp_path / "two")
    with pytest.raises(ProposalRefused, match="get-draft does not fit the connector"):
        home.add(other / "aileron-get-draft.tar.gz")


def test_an_update_of_a_connector_names_the_actions_that_stop_working(home: PackageHome, tmp_path: Path) -> None:
    home.add(*sorted(made_release(FIRST).write_archives(tmp_path / "one").iterdir()))
    other = made_release(SECOND).write_archives(tmp_path / "two")
    (proposal,) = home.proposals(other / "aileron.tar.gz")
    assert proposal.before
    assert set(proposal.broken) == set(ACTIONS)


def test_two_packages_cannot_have_the_same_action(home: PackageHome, first: Path, tmp_path: Path) -> None:
    home.add(first)
    archives = made_release(FIRST).write_archives(tmp_path / "archives")
    with pytest.raises(ProposalRefused, match="there is already an action get-draft"):
        home.add(archives / "aileron-get-draft.tar.gz")


def test_two_packages_cannot_have_other_versions_of_a_connector(home: PackageHome, first: Path, tmp_path: Path) -> None:
    home.add(first)
    archives = made_release(SECOND).write_archives(tmp_path / "archives")
    with pytest.raises(ProposalRefused, match=f"another version of {AUTHORITY} is installed"):
        home.add(archives / "aileron.tar.gz")


def test_the_same_package_from_two_sources_at_once_is_refused(home: PackageHome, first: Path, second: Path) -> None:
    with pytest.raises(ProposalRefused, match="two sources offer the same package"):
        home.proposals(first, second)


def test_a_wrong_signature_is_refused(home: PackageHome, tmp_path: Path) -> None:
    forged = made_release(FIRST, MadeFrom(key=STRANGER)).write_bundle(tmp_path / "forged")
    with pytest.raises(PackageError, match=r"signature of .* is wrong"):
        home.proposals(forged)


def test_an_unknown_publisher_is_said(tmp_path: Path, first: Path) -> None:
    home = PackageHome(tmp_path / "data", keyring(authority="github://somebody/else"))
    (proposal,) = home.proposals(first)
    assert proposal.grant.connectors[0].publisher == "unknown publisher"


def test_an_action_that_does_unasked_what_another_one_asks_about_is_named(home: PackageHome, tmp_path: Path) -> None:
    release = made_release(FIRST)
    home.add(release.write_bundle(tmp_path / "first"))
    action = release.actions["send-draft"].replace(b"required = true", b"required = false")
    (tmp_path / "a.tar.gz").write_bytes(archive({"action.md": action.replace(b'"send-draft"', b'"quick-send"')}))
    (proposal,) = home.proposals(tmp_path / "a.tar.gz")
    assert proposal.unasked == (
        f"quick-send runs {AUTHORITY} send_draft WITHOUT asking you, but send-draft asks you first",
    )
    assert not home.proposals(tmp_path / "first")[0].unasked


def test_what_is_too_much_for_one_consent_is_refused(home: PackageHome, first: Path) -> None:
    (proposal,) = home.proposals(first)
    package_changes.check_size([proposal])
    large = narrowed(proposal, hosts=tuple(f"host{number}.example.com:443" for number in range(50_000)))
    for refuse in (package_changes.check_size, home.install):
        with pytest.raises(PackageFault, match="too much for one consent"):
            refuse([large])


def test_a_command_in_a_hint_is_safe_to_copy(home: PackageHome, tmp_path: Path) -> None:
    source = made_release(FIRST).write_bundle(tmp_path / "mail;touch $HOME")
    home.add(source)
    next(home.store.root.glob("sha256/*/actions/send-draft.md")).unlink()
    assert f"`aileron-tui add '{source}'`" in home.installed().packages[0].fix
    name = b"github://example/x;touch${IFS}pwned"
    action = made_release(FIRST).actions["list-drafts"].replace(AUTHORITY.encode() + b'"', name + b'"')
    (tmp_path / "a.tar.gz").write_bytes(archive({"action.md": action.replace(b'"list-drafts"', b'"hostile"')}))
    with pytest.raises(ProposalRefused) as refused:
        home.proposals(tmp_path / "a.tar.gz")
    assert f"`aileron-tui add '{name.decode()}@{FIRST}'`" in refused.value.hint


def test_a_file_with_errors_is_left_out_and_named(home: PackageHome, first: Path) -> None:
    (first / "actions" / "broken.md").write_text("+++\nname = 1\n+++\n")
    (proposal,) = home.proposals(first)
    assert {action.name for action in proposal.grant.actions} == set(ACTIONS)
    assert any("broken.md" in finding.file for finding in proposal.skipped)


def test_a_connector_that_is_not_downloaded_again_stays_in_its_package(home: PackageHome, first: Path) -> None:
    home.add(first)
    whole = read_offer(str(first))
    newer = tuple(each for each in whole.actions if each.action.name != "list-drafts")
    offer = replace(whole, connectors=(), actions=newer)  # as a suite at an address, whose connector is present
    (proposal,) = propose([("mail", offer)], home.installed(), home.keyring)
    assert proposal.grant.connectors == only(home.installed())[0].connectors
    home.install([proposal])
    assert set(home.content().bundle.actions) == set(ACTIONS) - {"list-drafts"}


def test_what_is_the_same_needs_no_consent(home: PackageHome, first: Path, tmp_path: Path) -> None:
    home.add(first)
    (same,) = home.proposals(first)
    assert not same.is_new
    (moved,) = home.proposals(made_release(FIRST).write_bundle(tmp_path / "moved"))
    assert moved.is_new, "another source may send something else with the next update"


def test_what_another_key_signed_counts_once(home: PackageHome, first: Path) -> None:
    proposals = home.proposals(first)
    change = package_changes.statement(home.ledger, package_changes.adding(proposals))
    with pytest.raises(PackageFault, match="no approver signed"):
        package_changes.install(home.ledger, proposals, (change, sign(change, for_this_run("stranger"))))
    assert home.stored() == set()
    package_changes.install(home.ledger, proposals, (change, sign(change, home.key)))
    assert set(home.content().bundle.actions) == set(ACTIONS)
    home.remove("mail")
    with pytest.raises(PackageFault, match="was already made"):
        package_changes.install(home.ledger, proposals, (change, sign(change, home.key)))
    assert not home.packages()
    assert home.stored() == set()
