"""The Unix socket for approvers on this machine, which agents on TCP cannot keep busy.

Its folder and the socket itself are private, and the kernel says which user connects.
"""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError

SOCKET_FILE: Final = "gate.sock"
BACKLOG: Final = 1024

_MAX_PATH_BYTES: Final = 103
"""The longest path that every system accepts: macOS has room for 104 bytes with the final zero, Linux for 108."""

_MOVE: Final = "Stop it or move the file away, then start the gate again."


class SocketRefused(AileronError):
    """The path of the socket is in use."""


class NoSocket(AileronError):
    """This gate cannot have a Unix socket; approvers use its port."""


@contextmanager
def bound(folder: Path) -> Iterator[socket.socket]:
    """Listens on the socket of a gate during the block, and removes it afterwards.

    Must only be called while the ledger of this folder is locked, so that no other gate uses the same path.
    """
    path = folder / SOCKET_FILE
    if len(os.fsencode(path)) > _MAX_PATH_BYTES:
        raise NoSocket(
            "approvers on this machine use the port instead of a Unix socket",
            f"the path {path} is longer than {_MAX_PATH_BYTES} bytes",
            "Choose a folder with a shorter path.",
        )
    _remove_left_over(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        try:
            listener.bind(str(path))
            path.chmod(0o600)
            listener.listen(BACKLOG)
        except OSError as error:
            detail = f"cannot listen on {path}: {error.strerror or error}"
            raise NoSocket("approvers on this machine use the port instead of a Unix socket", detail) from None
        listener.setblocking(False)
        status = path.lstat()
        try:
            yield listener
        finally:
            with suppress(OSError):
                if os.path.samestat(status, path.lstat()):
                    path.unlink()
    finally:
        listener.close()


def _remove_left_over(path: Path) -> None:
    """Removes the socket of a gate that crashed; refuses if it is something else or if a program listens on it."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise SocketRefused(f"{path} is not a socket", hint=_MOVE)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError:
            pass
    raise SocketRefused(f"another program is listening on {path}", hint=_MOVE)
