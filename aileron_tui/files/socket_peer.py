"""The user at the other end of a Unix socket, as the kernel reports it."""

import os
import socket
import struct
from typing import Final

_ROOT: Final = 0
_CREDENTIALS: Final = struct.Struct("3i")  # process, user, group


def peer_user(connection: socket.socket) -> int | None:
    """The user of the process at the other end; None if this system does not report it."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    try:
        _, user, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    except OSError:
        return None
    return int(user)


def foreign_peer(connection: socket.socket) -> int | None:
    """The user at the other end of a Unix socket, unless it is this user, root, or unknown."""
    user = peer_user(connection)
    return None if user is None or user in {_ROOT, os.geteuid()} else user
