"""What is on this machine without having been approved: folders of the configuration and an Aileron home."""

import json
from pathlib import Path

import pytest

from aileron_tui.files.manifest_files import load_bundle, read_folder
from aileron_tui.packages.found_sources import found_sources, known_connectors, unknown_names
from aileron_tui.packages.installed import InstalledPackages
from aileron_tui.packages.offer import read_offer
from aileron_tui.sandbox.connector_package import read_packages
from tests.packages.made_packages import ACTIONS, AUTHORITY, FIRST, SECOND, made_release
from tests.packages.package_home import PackageHome

NOTHING = InstalledPackages()


@pytest.fixture
def aileron(tmp_path: Path) -> Path:
    """An Aileron home whose actions use the second version; the first is still in its store."""
    made_release(FIRST).write_home(tmp_path / "aileron")
    return made_release(SECOND).write_home(tmp_path / "aileron")


def disable(aileron: Path, content: str) -> None:
    (aileron / "action-state.json").write_text(content)


def test_a_home_is_found_until_everything_in_it_was_approved(aileron: Path, tmp_path: Path) -> None:
    (found,) = found_sources((), aileron, NOTHING)
    assert found.new[0] == AUTHORITY
    assert set(ACTIONS) < set(found.new)
    assert found.words.startswith(
        f"the Aileron home {aileron} contains what nobody has approved, so it is not used: {AUTHORITY}"
    )
    assert found.words.endswith("and 1 more")
    assert found.fix == f"Look at it and approve it with `aileron-tui add {aileron}`."
    home = PackageHome(tmp_path / "data")
    home.add(aileron)
    (found,) = found_sources((), aileron, home.installed())
    assert (found.new, found.problem, found.fix) == ((), "", "")
    changed = aileron / "actions" / "draft-mail.md"
    changed.write_bytes(changed.read_bytes() + b"\n")
    (found,) = found_sources((), aileron, home.installed())
    assert found.new == ("draft-mail",)


def test_folders_of_the_configuration_are_found(tmp_path: Path) -> None:
    folder = made_release().write_repository(tmp_path / "repo")
    found, missing = found_sources((folder, tmp_path / "missing"), tmp_path / "no-home", NOTHING)
    assert set(found.new) == {AUTHORITY, *ACTIONS}
    assert missing.words == f"the folder {tmp_path / 'missing'} cannot be read: there is no such folder"
    assert missing.fix


def test_nothing_is_downloaded_to_find_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made_release().write_repository(tmp_path / "repo")
    suite = folder / "suite.toml"
    suite.write_text('name = "n"\ndescription = "d"\nactions = ["github://example/repo/actions/x@1.0.0"]\n')
    asked: list[str] = []
    monkeypatch.setattr("aileron_tui.packages.offer.download", lambda address, *_: asked.append(address))
    found, file = found_sources((folder, suite), tmp_path / "no-home", NOTHING)
    assert AUTHORITY in found.new
    assert file.problem == "there is no such folder"
    assert not asked


def test_only_the_version_that_is_pinned_is_read_from_the_store(aileron: Path) -> None:
    second = made_release(SECOND)
    bundle = load_bundle(aileron)
    assert not bundle.findings
    assert bundle.connectors[AUTHORITY].version == SECOND
    assert read_packages(aileron) == {AUTHORITY: second.package}
    assert [each.hash for each in read_offer(str(aileron)).connectors] == [second.hash]


def test_a_connector_that_was_changed_in_the_store_is_refused(aileron: Path) -> None:
    stored = aileron / "store" / "connectors" / "sha256" / made_release(SECOND).hash.removeprefix("sha256:")
    (stored / "connector.wasm").write_bytes(b"\0asm\x01\0\0\0")
    bundle = load_bundle(aileron)
    assert not bundle.actions
    assert {finding.rule for finding in bundle.findings} >= {"store-changed", "pin"}
    (found,) = found_sources((), aileron, NOTHING)
    assert set(found.new) <= {AUTHORITY}


def test_disabled_actions_are_left_out_but_still_gate(aileron: Path) -> None:
    disable(aileron, json.dumps({"send-draft": {"enabled": False}, "get-draft": {"enabled": True}, "gone": 1}))
    bundle = load_bundle(aileron)
    assert "send-draft" not in bundle.actions
    assert "get-draft" in bundle.actions
    assert [finding.message for finding in bundle.findings] == ['action "send-draft" is disabled']
    offered = {each.action.name for each in read_offer(str(aileron)).actions}
    assert offered == set(bundle.actions)


@pytest.mark.parametrize("content", ["{", "[]", "\xff"])
def test_if_it_is_not_known_what_is_disabled_nothing_is_used(aileron: Path, content: str) -> None:
    disable(aileron, content)
    bundle = load_bundle(aileron)
    assert not bundle.actions
    assert [finding.rule for finding in bundle.findings] == ["action-state"]


def test_two_bundles_with_the_same_action_name_both_places(tmp_path: Path) -> None:
    one = made_release().write_bundle(tmp_path / "one")
    two = made_release().write_repository(tmp_path / "two")
    bundle = load_bundle(one, two)
    assert set(bundle.actions) == set(ACTIONS)
    twice = [finding for finding in bundle.findings if finding.rule == "action-twice"]
    assert len(twice) == len(ACTIONS)
    place = next(finding for finding in twice if "send-draft" in finding.message)
    assert place.file == f"{two}/actions/send-draft/action.md"
    assert place.message == f'action "send-draft" is also declared in {one}/actions/send-draft.md'


def test_previews_may_use_an_op_of_another_bundle(tmp_path: Path) -> None:
    one = made_release().write_bundle(tmp_path / "one")
    two = tmp_path / "two"
    two.mkdir()
    (one / "actions" / "get-draft.md").rename(two / "get-draft.md")
    (one / "suite.toml").unlink()
    assert "send-draft" not in load_bundle(one).actions
    assert {"send-draft", "get-draft"} <= set(load_bundle(one, two).actions)


@pytest.mark.parametrize("place", ["connector", "dist", "connector/dist", "."])
def test_the_module_of_a_repository_is_found_where_it_is_built(tmp_path: Path, place: str) -> None:
    release = made_release()
    folder = release.write_repository(tmp_path / "repo", built=False)
    assert not read_packages(folder)
    (folder / place).mkdir(exist_ok=True, parents=True)
    (folder / place / "connector.wasm").write_bytes(release.package.wasm)
    assert read_packages(folder)[AUTHORITY].wasm == release.package.wasm
    manifests = read_folder(folder)
    assert {package.hash for package in manifests.packages} == {release.hash}
    assert not manifests.bundle().findings


def test_a_built_release_in_dist_is_used_instead_of_the_source(tmp_path: Path) -> None:
    release = made_release()
    folder = made_release(SECOND).write_repository(tmp_path / "repo")
    (folder / "dist").mkdir()
    (folder / "dist" / "connector.wasm").write_bytes(release.package.wasm)
    (folder / "dist" / "manifest.toml").write_bytes(release.package.manifest)
    assert read_packages(folder)[AUTHORITY].manifest == release.package.manifest


def test_unknown_names_of_connectors_name_the_nearest(tmp_path: Path) -> None:
    folder = made_release().write_repository(tmp_path / "repo", built=False)
    known = known_connectors(NOTHING, (folder,))
    assert {AUTHORITY, "local://aileron/mail"} <= known
    wrong = AUTHORITY.replace("mail", "mial")
    close, far = unknown_names([AUTHORITY, wrong, "hub://x/y"], known)
    assert close == f'[connectors."{wrong}"] is not a connector that is installed. Did you mean "{AUTHORITY}"?'
    assert far.endswith("Install it, or remove its settings.")
