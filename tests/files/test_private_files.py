"""Files that only their owner can access."""

import os
import stat
from pathlib import Path

import pytest

from aileron_tui.files.private_files import PrivateFileError, private_folder, read_private, write_private

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return private_folder(tmp_path / "home")


def test_a_folder_is_created_for_the_owner_only(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "deep" / "er" / "keys")
    assert mode(folder) == 0o700
    assert private_folder(folder) == folder, "an existing folder is only checked"


def test_a_wide_umask_does_not_matter(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = private_folder(tmp_path / "keys")
        write_private(folder / "key", b"x")
    finally:
        os.umask(before)
    assert mode(folder) == 0o700
    assert mode(folder / "key") == 0o600


@pytest.mark.parametrize("mode_bits", [0o750, 0o705, 0o777, 0o710])
def test_an_open_folder_is_refused_with_a_fix(tmp_path: Path, mode_bits: int) -> None:
    folder = tmp_path / "keys"
    folder.mkdir()
    folder.chmod(mode_bits)
    with pytest.raises(PrivateFileError) as caught:
        private_folder(folder)
    assert caught.value.title == f"{folder} is open to others"
    assert caught.value.detail == f"its mode is {mode_bits:03o}"
    assert caught.value.hint == f"chmod 700 {folder}"


def test_a_file_or_link_instead_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(PrivateFileError, match="is not a folder"):
        private_folder(tmp_path / "file")
    with pytest.raises(PrivateFileError, match="is a symbolic link"):
        private_folder(tmp_path / "link")
    with pytest.raises(PrivateFileError, match="is a symbolic link"):
        private_folder(tmp_path / "dangling")
    with pytest.raises(PrivateFileError, match="cannot use the folder"):
        private_folder(tmp_path / "file" / "below")
    assert not (tmp_path / "nowhere").exists()


def test_what_is_written_is_read(home: Path) -> None:
    write_private(home / "key", b"secret")
    assert read_private(home / "key") == b"secret"
    assert mode(home / "key") == 0o600
    assert names(home) == ["key"], "no temporary file is left"


def test_nothing_is_overwritten_unless_asked(home: Path) -> None:
    write_private(home / "key", b"old")
    with pytest.raises(PrivateFileError, match="already exists"):
        write_private(home / "key", b"new")
    assert read_private(home / "key") == b"old"
    write_private(home / "key", b"new", replace=True)
    assert read_private(home / "key") == b"new"
    assert names(home) == ["key"]


@pytest.mark.parametrize("replace", [False, True])
def test_a_link_is_never_written_through(home: Path, tmp_path: Path, replace: bool) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (home / "key").symlink_to(victim)
    with pytest.raises(PrivateFileError):
        write_private(home / "key", b"theirs", replace=replace)
    assert victim.read_bytes() == b"mine"
    assert names(home) == ["key"]


def test_a_failed_write_leaves_what_was_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_private(home / "key", b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(PrivateFileError) as caught:
        write_private(home / "key", b"new", replace=True)
    assert caught.value.detail == "no space left on device"
    assert read_private(home / "key") == b"old"
    assert names(home) == ["key"]


def test_an_open_file_is_refused(home: Path) -> None:
    write_private(home / "key", b"x")
    (home / "key").chmod(0o640)
    with pytest.raises(PrivateFileError, match="open to others") as caught:
        read_private(home / "key")
    assert caught.value.hint == f"chmod 600 {home / 'key'}"


def test_a_link_is_not_read(home: Path) -> None:
    write_private(home / "real", b"x")
    (home / "key").symlink_to(home / "real")
    with pytest.raises(PrivateFileError) as caught:
        read_private(home / "key")
    assert caught.value.detail == "it is a symbolic link"


def test_special_files_are_refused_and_do_not_block(home: Path) -> None:
    os.mkfifo(home / "pipe", 0o600)
    (home / "folder").mkdir()
    with pytest.raises(PrivateFileError, match="not a regular file"):
        read_private(home / "pipe")
    with pytest.raises(PrivateFileError, match="not a regular file"):
        read_private(home / "folder")
    with pytest.raises(PrivateFileError, match="cannot read"):
        read_private(home / "absent")


def test_the_size_is_limited(home: Path) -> None:
    write_private(home / "key", b"x" * 11)
    assert len(read_private(home / "key", 11)) == 11
    with pytest.raises(PrivateFileError, match="too large"):
        read_private(home / "key", 10)


@needs_root
def test_the_files_of_others_are_refused(home: Path, tmp_path: Path) -> None:
    write_private(home / "key", b"x")
    os.chown(home / "key", 12345, -1)
    with pytest.raises(PrivateFileError, match="belongs to another user"):
        read_private(home / "key")
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o700)
    os.chown(foreign, 12345, -1)
    with pytest.raises(PrivateFileError, match="belongs to another user"):
        private_folder(foreign)
