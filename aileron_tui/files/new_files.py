"""Creates files in a folder: all of them or none, and never over a file that exists."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from aileron_tui.core.errors import AileronError


class FilesExist(AileronError):
    """Files that would have to be overwritten."""


class CannotCreate(AileronError):
    """Files that cannot be created."""


def create_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Creates files, by their path in a folder, which is created too if its parent exists.

    They are written to a temporary folder and renamed. What was renamed is removed again if anything fails or if the
    process is interrupted; a process that is killed leaves at most a folder that begins with `.new-`.
    """
    _check_place(folder, files)
    beside = folder if folder.is_dir() else folder.parent
    made: list[Path] = []
    try:
        with tempfile.TemporaryDirectory(prefix=".new-", dir=beside) as temporary:
            draft = Path(temporary) / "files"
            draft.mkdir()
            for name, data in files.items():
                _write(draft / name, data)
            try:
                for unit in _units(folder, files):
                    _move(draft / unit, folder / unit, made)
            except BaseException:
                _remove(made)
                raise
    except OSError as error:
        hint = "Check that you have permission to write there and that the disk is not full."
        raise CannotCreate(f"cannot create files in {folder}", (error.strerror or str(error)).lower(), hint) from None


def _check_place(folder: Path, files: Iterable[str]) -> None:
    if os.path.lexists(folder) and not folder.is_dir():
        raise FilesExist(f"{folder} exists and is not a folder", hint="Choose another name.")
    if not folder.parent.is_dir():
        raise CannotCreate(f"there is no folder {folder.parent}", hint="Create it first, or choose another place.")
    there = [name for name in files if _is_taken(folder, name)]
    if there:
        hint = "Nothing was changed. Move them away, or choose another place."
        raise FilesExist(f"files exist already in {folder}", ", ".join(sorted(there)), hint)


def _is_taken(folder: Path, name: str) -> bool:
    """Whether there is something where a file would be created, or a file where a folder would be."""
    parents = [folder / parent for parent in PurePosixPath(name).parents]
    return os.path.lexists(folder / name) or any(os.path.lexists(parent) and not parent.is_dir() for parent in parents)


def _units(folder: Path, files: Iterable[str]) -> list[str]:
    """What to rename: each file, or the topmost folder above it that does not exist; "" is the folder itself."""
    units = {}
    for name in files:
        above = [*reversed(PurePosixPath(name).parents), PurePosixPath(name)]
        unit = next(path for path in above if not os.path.lexists(folder / path))
        units["" if unit == PurePosixPath() else str(unit)] = True
    return list(units)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _move(draft: Path, target: Path, made: list[Path]) -> None:
    """Renames a file or folder. A file that appeared meanwhile is an error, and so is a folder that is not empty."""
    made.append(target)
    try:
        if draft.is_dir():
            draft.rename(target)
        else:
            target.hardlink_to(draft)
    except OSError:
        made.pop()
        raise


def _remove(made: Iterable[Path]) -> None:
    for path in made:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
