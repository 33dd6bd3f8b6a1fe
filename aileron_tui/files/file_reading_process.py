"""Looks at the files that tool calls name, in a process of its own that can be killed when a file system hangs.

The gate starts it as `python -I file_reading_process.py FOLDER…`, where the folders are those that are never read. Each
line of its input asks about one path, `{"path": …, "needs_text": …}`, and each line of its output answers one, with the
fields of `FileFacts` in `core/tool_call.py` and, if the file is not read, when it was modified. It imports only the
standard library, so that it starts quickly.
"""

import json
import os
import stat
import sys
from collections.abc import Sequence

LARGEST_FILE = 1024 * 1024

_SYSTEM = ("/proc", "/sys", "/dev")
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder"}


def look(path: str, refused: Sequence[str], *, needs_text: bool) -> dict[str, str | float | None]:
    """What is at an absolute path. Opens nothing but a regular file, and never waits for a device or a pipe."""
    if not path.startswith("/") or "\0" in path:
        return _facts("unknown", problem="its path is not absolute")
    written = os.path.normpath(path)
    if why := _refusal(written, refused):
        return _facts("other", written, problem=why)
    try:
        resolved = os.path.realpath(path)
    except (OSError, ValueError) as error:
        return _facts("unknown", problem=f"its path cannot be resolved: {_why(error)}")
    if why := _refusal(resolved, refused):
        return _facts("other", resolved, problem=why)
    try:
        found = os.lstat(resolved)
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "other")
    except (FileNotFoundError, NotADirectoryError):
        return _facts("missing", resolved)
    except (OSError, ValueError) as error:
        return _facts("unknown", resolved, problem=_why(error))
    if kind != "file":
        return _facts(kind, resolved, problem="it is not a regular file" if needs_text else "")
    return _read(resolved) if needs_text else _facts(kind, resolved) | {"modified": found.st_mtime}


def _refusal(path: str, refused: Sequence[str]) -> str:
    """Why nothing at this path is read, or ""."""
    if any(_is_in(path, folder) for folder in _SYSTEM):
        return "the gate does not read files of the system"
    return "the gate does not read its own files" if any(_is_in(path, folder) for folder in refused) else ""


def _read(resolved: str) -> dict[str, str | float | None]:
    try:
        descriptor = os.open(resolved, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        return _facts("file", resolved, problem=_why(error))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or _moved(descriptor, resolved):
            return _facts("unknown", problem="it was replaced while it was read")
        if found.st_size > LARGEST_FILE:
            return _facts("file", resolved, problem=f"it has {found.st_size:,} bytes, more than {LARGEST_FILE:,}")
        try:
            content = file.read(LARGEST_FILE + 1)
        except OSError as error:
            return _facts("file", resolved, problem=_why(error))
    if len(content) > LARGEST_FILE:
        return _facts("file", resolved, problem="it grew while it was read")
    try:
        return _facts("file", resolved, content.decode())
    except UnicodeDecodeError:
        return _facts("file", resolved, problem="it is not text in UTF-8")


def _moved(descriptor: int, resolved: str) -> bool:
    """Whether a folder on the way became a link to another place. Only Linux can tell."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}") != resolved  # noqa: PTH115  # pathlib starts slowly
    except OSError:
        return False


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _facts(kind: str, resolved: str = "", text: str | None = None, problem: str = "") -> dict[str, str | float | None]:
    return {"kind": kind, "resolved": resolved, "text": text, "problem": problem}


def _why(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or type(error).__name__


def main(refused: Sequence[str]) -> None:
    """Answers until the input ends."""
    output = sys.stdout.buffer
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        facts = look(asked["path"], refused, needs_text=asked["needs_text"])
        output.write(json.dumps(facts).encode() + b"\n")
        output.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
