"""Paths that tools name: made absolute and compared by their text. Nothing here looks at the disk.

Some programs replace `~`, cut blanks at both ends and compose characters before they open a file, others do not. Where
such a path leads is not known. `$HOME` stays as it is, because tools do not replace it.
"""

import posixpath
import unicodedata


def absolute(path: str, folder: str) -> str:
    """The path without `.` and `..`, joined to the folder if it is relative. "" if that is not known.

    A path with `..` may lead somewhere else if a folder in it is a symbolic link; the resolved path tells.
    """
    if not path or "\0" in path or _is_ambiguous(path):
        return ""
    if not path.startswith("/"):
        if not folder.startswith("/"):
            return ""
        path = f"{folder}/{path}"
    found = posixpath.normpath(path)
    return found[1:] if found.startswith("//") else found


def _is_ambiguous(path: str) -> bool:
    """Whether programs open different files for a path."""
    is_trimmed = path == path.strip() and "\ufeff" not in (path[0], path[-1])
    return path.startswith("~") or not is_trimmed or not unicodedata.is_normalized("NFC", path)


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is a folder or something in it. Both must be absolute."""
    if not path.startswith("/") or not folder.startswith("/"):
        return False
    folder = absolute(folder, "")
    return folder in (path, "/") or path.startswith(f"{folder}/")
