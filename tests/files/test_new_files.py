"""New files are created all or none, and never over others."""

import os
from pathlib import Path

import pytest

from aileron_tui.files.new_files import CannotCreate, FilesExist, create_files

FILES = {"README.md": b"readme", "a/b/one": b"1", "a/two": b"2", "c/three": b"3"}


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_new_folder_has_exactly_these_files(tmp_path: Path) -> None:
    create_files(tmp_path / "new", FILES)
    assert tree(tmp_path) == {f"new/{name}": data for name, data in FILES.items()}
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o777 & ~_umask()


def test_files_are_added_beside_others(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mine").write_bytes(b"mine")
    create_files(tmp_path, FILES)
    assert tree(tmp_path) == {**FILES, "a/mine": b"mine"}


def test_the_files_that_exist_are_named_and_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "two").write_bytes(b"mine")
    (tmp_path / "c").symlink_to("nowhere")
    with pytest.raises(FilesExist) as refused:
        create_files(tmp_path, FILES)
    assert refused.value.detail == "a/two, c/three"
    assert tree(tmp_path) == {"a/two": b"mine"}


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(FilesExist, match="is not a folder"):
        create_files(tmp_path / "file", FILES)
    with pytest.raises(CannotCreate, match="there is no folder"):
        create_files(tmp_path / "no" / "new", FILES)
    assert tree(tmp_path) == {"file": b"mine"}


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("moment", range(5))
def test_nothing_is_left_after_an_interrupt_or_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int, fault: BaseException
) -> None:
    """In a folder that exists, each file and new folder is renamed by itself: three renames after four writes."""
    (tmp_path / "mine").write_bytes(b"mine")
    calls = iter(range(100))
    real_link, real_rename = Path.hardlink_to, Path.rename

    def failing(real: object) -> object:
        def call(self: Path, target: Path) -> object:
            if next(calls) == moment:
                raise fault
            return real(self, target)  # type: ignore[operator]

        return call

    monkeypatch.setattr(Path, "hardlink_to", failing(real_link))
    monkeypatch.setattr(Path, "rename", failing(real_rename))
    if moment < 3:
        with pytest.raises(KeyboardInterrupt if isinstance(fault, KeyboardInterrupt) else CannotCreate):
            create_files(tmp_path, FILES)
        assert tree(tmp_path) == {"mine": b"mine"}
        assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    else:
        create_files(tmp_path, FILES)
        assert tree(tmp_path) == {**FILES, "mine": b"mine"}


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    real = Path.hardlink_to

    def beaten(self: Path, target: Path) -> None:
        self.write_bytes(b"theirs")
        real(self, target)

    monkeypatch.setattr(Path, "hardlink_to", beaten)
    with pytest.raises(CannotCreate, match="cannot create files"):
        create_files(tmp_path, {"a/one": b"1"})
    assert tree(tmp_path) == {"a/one": b"theirs"}


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
