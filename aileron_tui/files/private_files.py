"""Files that only their owner can access: folders 0700, files 0600, owned by the user, no symbolic links.

The checks are made on the open file, not on its name, so that it cannot be replaced in between.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError

_LARGEST: Final = 1024 * 1024


class PrivateFileError(AileronError):
    """A file or folder that is not private, or cannot be used."""


def private_folder(path: Path) -> Path:
    """Creates the folder if needed, with its parents, and checks that only the user can access it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        status = path.lstat()
    except OSError as error:
        raise PrivateFileError(
            f"cannot use the folder {path}", _reason(error), "Check that you have permission to write there."
        ) from None
    if not stat.S_ISDIR(status.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a folder"
        raise PrivateFileError(f"{path} is {what}", hint="Move it away. A private folder will be created instead.")
    _check_owner(path, status, "700")
    return path


def read_private(path: Path, limit: int = _LARGEST) -> bytes:
    """Returns the content of a private file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise PrivateFileError(f"cannot read {path}", _reason(error), "Check that it exists and is yours.") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise PrivateFileError(f"{path} is not a regular file")
        _check_owner(path, status, "600")
        if status.st_size > limit:
            raise PrivateFileError(
                f"{path} is too large", f"{status.st_size:,} bytes, but at most {limit:,} are allowed"
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise PrivateFileError(f"{path} is too large", f"it grew to more than {limit:,} bytes while it was read")
    return data


def write_private(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Writes the whole file or nothing. When this returns, the file is on disk."""
    private_folder(path.parent)
    if replace and path.is_symlink():
        raise PrivateFileError(f"{path} is a symbolic link", hint="Move it away and try again.")
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        if replace:
            temporary.replace(path)
        else:
            os.link(temporary, path, follow_symlinks=False)
        sync_folder(path.parent)
    except FileExistsError:
        raise PrivateFileError(f"{path} already exists", hint="Choose another name, or move it away.") from None
    except OSError as error:
        raise PrivateFileError(
            f"cannot write {path}", _reason(error), "Check the free disk space and your permission to write there."
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def _check_owner(path: Path, status: os.stat_result, mode: str) -> None:
    if status.st_uid != os.geteuid():
        raise PrivateFileError(f"{path} belongs to another user", f"user {status.st_uid}", "Use a file of your own.")
    open_bits = stat.S_IMODE(status.st_mode) & 0o077
    if open_bits:
        raise PrivateFileError(
            f"{path} is open to others",
            f"its mode is {stat.S_IMODE(status.st_mode):03o}",
            f"chmod {mode} {path}",
        )


def sync_folder(folder: Path) -> None:
    """Waits until the names of the files in a folder are on disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "it is a symbolic link"
    return (error.strerror or str(error)).lower()
