"""Paths that tools name: made absolute and compared by their text. Nothing here looks at the disk.

`~` and `$HOME` stay as they are, because tools do not expand them.
"""

import posixpath


def absolute(path: str, folder: str) -> str:
    """The path without `.` and `..`, joined to the folder if it is relative. "" if that is not known.

    A path with `..` may lead somewhere else if a folder in it is a symbolic link; the resolved path tells.
    """
    if not path or "\0" in path:
        return ""
    if not path.startswith("/"):
        if not folder.startswith("/"):
            return ""
        path = f"{folder}/{path}"
    found = posixpath.normpath(path)
    return found[1:] if found.startswith("//") else found


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is a folder or something in it. Both must be absolute."""
    if not path.startswith("/") or not folder.startswith("/"):
        return False
    folder = absolute(folder, "")
    return folder in (path, "/") or path.startswith(f"{folder}/")
