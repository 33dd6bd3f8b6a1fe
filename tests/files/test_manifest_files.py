"""Manifests on disk: what is read, what is skipped, and what is reported."""

import hashlib
import os
import socket
from pathlib import Path

import pytest

from aileron_tui.core.findings import Finding
from aileron_tui.files.manifest_files import (
    LARGEST_MANIFEST,
    UnreadableFile,
    load_bundle,
    read_file,
    read_folder,
    read_manifest,
)
from tests.corpus.cases import base


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The good bundle of the corpus, on disk."""
    for name, text in base("bundle").items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def reported(findings: tuple[Finding, ...], folder: Path) -> list[tuple[str, str, int]]:
    return [(os.path.relpath(finding.file, folder), finding.rule, finding.line) for finding in findings]


def test_a_bundle_folder(folder: Path) -> None:
    manifests = read_folder(folder)
    assert manifests.count == 3
    bundle = manifests.bundle()
    assert bundle.findings == ()
    assert list(bundle.actions) == ["get-draft", "send-draft"]
    assert list(bundle.connectors) == ["github://acme/mail"]
    assert load_bundle(folder) == bundle


def test_a_folder_without_an_actions_folder(folder: Path) -> None:
    assert list(load_bundle(folder / "actions").actions) == ["get-draft", "send-draft"]


def test_the_folder_of_one_connector(folder: Path) -> None:
    assert list(load_bundle(folder / "connectors" / "mail").connectors) == ["github://acme/mail"]


def test_a_missing_folder_is_an_empty_bundle(tmp_path: Path) -> None:
    assert load_bundle(tmp_path / "nowhere").actions == {}
    assert load_bundle(tmp_path / "nowhere").findings == ()


def test_only_markdown_directly_in_the_folder_counts(folder: Path) -> None:
    (folder / "actions" / "notes.txt").write_text("not an action")
    (folder / "actions" / "more").mkdir()
    (folder / "actions" / "more" / "deep.md").write_text("not looked at")
    (folder / "actions" / "folder.md").mkdir()
    (folder / "README.md").write_text("# not an action, beside actions/")
    assert load_bundle(folder).findings == ()


def test_files_are_read_in_the_order_of_their_names(folder: Path) -> None:
    for name in ("b.md", "a.md", "C.md"):
        (folder / "actions" / name).write_text("x")
    files = [reading.source.file for reading in read_folder(folder).actions]
    assert [Path(file).name for file in files] == ["C.md", "a.md", "b.md", "get-draft.md", "send-draft.md"]


def test_a_bad_file_does_not_affect_good_ones(folder: Path) -> None:
    (folder / "actions" / "bad.md").write_bytes(b"\xff")
    (folder / "connectors" / "bad").mkdir()
    (folder / "connectors" / "bad" / "manifest.toml").write_text("=")
    bundle = load_bundle(folder)
    assert list(bundle.actions) == ["get-draft", "send-draft"]
    assert reported(bundle.findings, folder) == [
        ("actions/bad.md", "not-utf8", 1),
        ("connectors/bad/manifest.toml", "toml", 1),
    ]


def test_special_files_are_reported_and_do_not_block(folder: Path) -> None:
    actions = folder / "actions"
    (actions / "dangling.md").symlink_to("nowhere")
    (actions / "loop.md").symlink_to("loop.md")
    (actions / "one.md").symlink_to("two.md")
    (actions / "two.md").symlink_to("one.md")
    os.mkfifo(actions / "pipe.md")
    (actions / "device.md").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(actions / "s.md"))
        bundle = load_bundle(folder)
    assert list(bundle.actions) == ["get-draft", "send-draft"]
    assert {Path(finding.file).name: finding.message for finding in bundle.findings} == {
        "dangling.md": "cannot read the file: no such file or directory",
        "loop.md": "cannot read the file: its symbolic links form a loop",
        "one.md": "cannot read the file: its symbolic links form a loop",
        "two.md": "cannot read the file: its symbolic links form a loop",
        "pipe.md": "cannot read the file: it is not a regular file",
        "device.md": "cannot read the file: it is not a regular file",
        "s.md": "cannot read the file: no such device or address",
    }


def test_links_to_files_are_followed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "real"
    (folder / "actions" / "get-draft.md").rename(elsewhere)
    (folder / "actions" / "linked.md").symlink_to(elsewhere)
    assert list(load_bundle(folder).actions) == ["get-draft", "send-draft"]


def test_folders_that_are_link_loops(tmp_path: Path) -> None:
    (tmp_path / "actions").symlink_to("actions")
    (tmp_path / "connectors").symlink_to("connectors")
    assert load_bundle(tmp_path).findings == ()


def test_a_file_without_permission_is_reported(folder: Path) -> None:
    (folder / "actions" / "get-draft.md").chmod(0)
    if os.access(folder / "actions" / "get-draft.md", os.R_OK):
        pytest.skip("this user may read everything")
    (folder / "connectors" / "mail").chmod(0)
    try:
        assert [finding.rule for finding in load_bundle(folder).findings][:2] == ["unreadable", "unreadable"]
    finally:
        (folder / "connectors" / "mail").chmod(0o700)


def test_a_folder_without_permission_is_reported(folder: Path) -> None:
    (folder / "actions").chmod(0)
    if os.access(folder / "actions", os.R_OK):
        pytest.skip("this user may read everything")
    try:
        assert reported(load_bundle(folder).findings, folder) == [("actions", "unreadable", 0)]
    finally:
        (folder / "actions").chmod(0o700)


def test_an_unreadable_folder_does_not_affect_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("connectors"):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    bundle = load_bundle(folder)
    assert reported(bundle.findings, folder) == [("connectors", "unreadable", 0)]
    assert list(bundle.actions) == ["get-draft", "send-draft"]


# Suites.


def suite(folder: Path, *entries: str) -> None:
    listed = "".join(f"    {entry!r},\n" for entry in entries)
    (folder / "suite.toml").write_text(f'name = "x"\ndescription = "x"\nactions = [\n{listed}]\n')


def test_a_suite_with_existing_files(folder: Path) -> None:
    suite(folder, "actions/get-draft", "/actions/send-draft.md", "./actions//get-draft", "hub://acme/x@1.0.0")
    assert load_bundle(folder).findings == ()
    assert read_folder(folder).count == 4


def test_a_suite_in_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite(folder, "actions/get-draft", "actions/send-draft")
    monkeypatch.chdir(folder)
    assert load_bundle(Path()).findings == ()
    assert read_folder(Path()).count == 4


def test_a_suite_adds_actions_from_subfolders(folder: Path) -> None:
    more = folder / "more" / "copy"
    more.mkdir(parents=True)
    (more / "action.md").write_text(base("bundle")["actions/get-draft.md"].replace('"get-draft"', '"copy"'))
    suite(folder, "more/copy")
    assert list(load_bundle(folder).actions) == ["get-draft", "send-draft", "copy"]


def test_missing_entries_are_reported_at_their_line(folder: Path) -> None:
    suite(folder, "actions/get-draft", "actions/none", "x" * 5000, "actions", "/")
    assert reported(load_bundle(folder).findings, folder) == [
        ("suite.toml", "suite-missing", 5),
        ("suite.toml", "suite-missing", 6),
        ("suite.toml", "suite-missing", 7),
        ("suite.toml", "suite-missing", 8),
    ]


def test_an_entry_with_a_nul(folder: Path) -> None:
    (folder / "suite.toml").write_text('name = "x"\ndescription = "x"\nactions = ["a\\u0000b"]\n')
    assert reported(load_bundle(folder).findings, folder) == [("suite.toml", "suite-missing", 3)]


def test_a_suite_that_is_a_folder(folder: Path) -> None:
    (folder / "suite.toml").mkdir()
    bundle = load_bundle(folder)
    assert reported(bundle.findings, folder) == [("suite.toml", "unreadable", 0)]
    assert len(bundle.actions) == 2


def test_a_bad_suite_does_not_affect_actions(folder: Path) -> None:
    (folder / "suite.toml").write_text("name = 1\n")
    assert len(load_bundle(folder).actions) == 2


# Connectors.


def test_the_hash_is_over_module_and_manifest(folder: Path) -> None:
    home = folder / "connectors" / "mail"
    (home / "connector.wasm").write_bytes(b"\0asm")
    wanted = "sha256:" + hashlib.sha256(b"\0asm" + (home / "manifest.toml").read_bytes()).hexdigest()
    assert read_folder(folder).packages[0].hash == wanted
    rules = [finding.rule for finding in load_bundle(folder).findings]
    assert rules == ["pin", "pin"]
    for file in (folder / "actions").iterdir():
        file.write_text(file.read_text().replace("sha256:0f1e", wanted))
    assert load_bundle(folder).findings == ()


def test_without_a_module_there_is_no_hash(folder: Path) -> None:
    assert read_folder(folder).packages[0].hash == ""


def test_a_module_without_a_manifest_is_reported(folder: Path) -> None:
    (folder / "connectors" / "bare").mkdir()
    (folder / "connectors" / "bare" / "connector.wasm").write_bytes(b"\0asm")
    (folder / "connectors" / "empty").mkdir()
    assert reported(load_bundle(folder).findings, folder) == [("connectors/bare/manifest.toml", "unreadable", 0)]


# Single files.


def test_a_file_is_read_by_its_name(folder: Path) -> None:
    suite(folder, "actions/get-draft")
    assert read_manifest(str(folder / "actions" / "get-draft.md")).actions[0].value is not None
    assert read_manifest(str(folder / "connectors" / "mail" / "manifest.toml")).packages[0].reading.value is not None
    alone = read_manifest(str(folder / "suite.toml")).suite
    assert alone is not None
    assert alone.value is not None
    assert read_manifest(str(folder / "none.md")).bundle().findings[0].rule == "unreadable"


def test_reading_bytes(tmp_path: Path) -> None:
    file = tmp_path / "x"
    for size in (0, 1, 65536, 200_001):
        file.write_bytes(b"x" * size)
        assert read_file(str(file)) == b"x" * size
    with pytest.raises(UnreadableFile, match="it has 200,001 bytes, but at most 10 are allowed"):
        read_file(str(file), 10)
    with pytest.raises(UnreadableFile, match="it is a folder"):
        read_file(str(tmp_path))
    with pytest.raises(UnreadableFile, match="the file name is not valid"):
        read_file("a\0b")
    with pytest.raises(UnreadableFile, match="file name too long"):
        read_file("x" * 5000)


def test_a_manifest_that_is_too_large(tmp_path: Path) -> None:
    file = tmp_path / "x.md"
    with file.open("wb") as large:
        large.truncate(LARGEST_MANIFEST + 1)
    (finding,) = read_manifest(str(file)).bundle().findings
    assert finding.message == "cannot read the file: it has 8,388,609 bytes, but at most 8,388,608 are allowed"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs /proc")
def test_files_of_unknown_size() -> None:
    assert b"Python" in read_file("/proc/self/maps") or read_file("/proc/self/maps")
    with pytest.raises(UnreadableFile, match="it has more than 10 bytes"):
        read_file("/proc/self/maps", 10)
    with pytest.raises(UnreadableFile, match="input/output error"):
        read_file("/proc/self/mem")
