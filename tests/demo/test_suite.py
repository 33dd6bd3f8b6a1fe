"""The bundled suite: valid, pinned to the committed connectors, and usable on another port."""

import hashlib
import shutil
import stat
from pathlib import Path

import pytest
import tomli

from aileron_tui.core.action import Action
from aileron_tui.demo.errors import DemoError
from aileron_tui.demo.sample_bundle import materialise, pin
from aileron_tui.demo.sample_service import DEFAULT_PORT, HOST
from aileron_tui.files.manifest_files import load_bundle
from aileron_tui.files.paths import bundled

SUITE = bundled("manifests")
ACTIONS = {
    "list-drafts",
    "get-draft",
    "draft-mail",
    "update-draft",
    "send-draft",
    "delete-draft",
    "send-mail",
    "list-files",
    "get-file",
    "move-file",
    "rename-file",
    "delete-file",
}
READING = {"list-drafts", "get-draft", "list-files", "get-file"}


@pytest.fixture(scope="module")
def actions() -> dict[str, Action]:
    return dict(load_bundle(SUITE).actions)


def canonical_hash(folder: Path) -> str:
    data = (folder / "connector.wasm").read_bytes() + (folder / "manifest.toml").read_bytes()
    return "sha256:" + hashlib.sha256(data).hexdigest()


def test_the_suite_has_no_findings() -> None:
    bundle = load_bundle(SUITE)
    assert bundle.findings == ()
    assert set(bundle.actions) == ACTIONS
    assert set(bundle.connectors) == {"local://aileron/mail", "local://aileron/files"}


def test_the_suite_lists_every_action() -> None:
    listed = tomli.loads((SUITE / "suite.toml").read_text("utf-8"))["actions"]
    assert sorted(listed) == sorted(f"actions/{file.stem}" for file in SUITE.glob("actions/*.md"))


def test_every_pin_is_the_hash_of_the_committed_connector(actions: dict[str, Action]) -> None:
    hashes = {f"local://aileron/{name}": canonical_hash(SUITE / "connectors" / name) for name in ("mail", "files")}
    for action in actions.values():
        for requirement in action.requires:
            assert requirement.hash == hashes[requirement.name], action.name


def test_exactly_the_actions_that_change_something_are_gated(actions: dict[str, Action]) -> None:
    assert {name for name, action in actions.items() if not action.gated} == READING
    for name, action in actions.items():
        assert [step.idempotent for step in action.execute] == [name in READING]


def test_every_action_may_use_its_op_and_only_that(actions: dict[str, Action]) -> None:
    for action in actions.values():
        (requirement,), (step,) = action.requires, action.execute
        assert requirement.capabilities == (step.op,)
        assert action.body.strip().startswith("# ")


def test_the_grant_is_only_the_sample_service() -> None:
    for connector in load_bundle(SUITE).connectors.values():
        assert connector.hosts == frozenset({f"{HOST}:{DEFAULT_PORT}"})
        assert connector.credential is not None


def test_the_previews_show_the_three_kinds(actions: dict[str, Action]) -> None:
    multiline = {
        name: action.approval.preview.multiline
        for name, action in actions.items()
        if action.approval.preview is not None
    }
    assert set(multiline) == {
        "update-draft",
        "send-draft",
        "delete-draft",
        "move-file",
        "rename-file",
        "delete-file",
    }
    assert multiline["move-file"] == frozenset()
    assert multiline["delete-file"] == {"Description", "Shared with"}
    assert multiline["update-draft"] == {"Other parts", "Current body"}
    assert any(input_.multiline for input_ in actions["update-draft"].inputs)


def test_send_draft_shows_what_the_worked_example_shows(actions: dict[str, Action]) -> None:
    action = actions["send-draft"]
    assert [input_.title for input_ in action.inputs] == ["Draft id"]
    preview = action.approval.preview
    assert preview is not None
    labels = [label for label, _ in preview.render]
    assert (labels[:2], labels[-1]) == (["To", "Subject"], "Body")
    assert {"Cc", "Bcc", "Reply-To", "From", "Attachments", "Other parts"} <= {*labels}
    assert preview.multiline == {"Other parts", "Body"}


@pytest.mark.parametrize("name", ["update-draft", "delete-draft"])
def test_what_changes_a_draft_shows_as_much_of_it_as_what_sends_it(actions: dict[str, Action], name: str) -> None:
    send, preview = actions["send-draft"].approval.preview, actions[name].approval.preview
    assert send is not None
    assert preview is not None
    assert {path for _, path in preview.render} == {path for _, path in send.render}


def test_optional_inputs_are_not_used_in_templates(actions: dict[str, Action]) -> None:
    for action in actions.values():
        optional = {input_.name for input_ in action.inputs if not input_.required}
        preview = action.approval.preview
        templates = [*(step.inputs for step in action.execute), preview.args if preview else {}]
        for template in templates:
            assert not [name for name in optional if f"${{args.{name}}}" in str(template)], action.name


def test_a_copy_for_another_port_is_valid(tmp_path: Path) -> None:
    copy = materialise(tmp_path / "suite", 40123)
    bundle = load_bundle(copy)
    assert bundle.findings == ()
    assert set(bundle.actions) == ACTIONS
    assert {connector.hosts for connector in bundle.connectors.values()} == {frozenset({"127.0.0.1:40123"})}
    assert not [file for file in copy.rglob("*") if file.is_file() and b"127.0.0.1:8725" in file.read_bytes()]
    for action in bundle.actions.values():
        (requirement,) = action.requires
        assert requirement.hash == canonical_hash(copy / "connectors" / requirement.name.rpartition("/")[2])
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700


def test_a_copy_for_the_same_port_is_the_same(tmp_path: Path) -> None:
    copy = materialise(tmp_path / "suite", DEFAULT_PORT)
    files = [file for file in copy.rglob("*") if file.is_file()]
    assert len(files) == len(ACTIONS) + 5
    for file in files:
        assert file.read_bytes() == (SUITE / file.relative_to(copy)).read_bytes()


def test_a_copy_never_overwrites_files(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="cannot copy"):
        materialise(tmp_path, 40123)
    assert not list(tmp_path.iterdir())


def test_a_wrong_pin_in_the_original_stays_wrong_in_the_copy(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(SUITE, source)
    action = source / "actions" / "send-draft.md"
    right = pin(
        (source / "connectors/mail/connector.wasm").read_bytes(),
        (source / "connectors/mail/manifest.toml").read_bytes(),
    )
    action.write_text(action.read_text("utf-8").replace(right, "sha256:" + "0" * 64), "utf-8")
    copy = materialise(tmp_path / "copy", 40123, source)
    assert "sha256:" + "0" * 64 in (copy / "actions" / "send-draft.md").read_text("utf-8")
