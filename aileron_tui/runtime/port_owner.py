"""Finds out which user listens at the other end of a connection, because any user can take a free port.

The user of a port is known only on Linux. A Unix socket is also protected by its private folder.
"""

import os
import socket
import struct
from pathlib import Path
from typing import Final

from aileron_tui.files.socket_peer import foreign_peer
from aileron_tui.runtime.errors import NoGate

_TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTEN_STATE: Final = "0A"
_ROOT: Final = 0


def is_local(connection: socket.socket) -> bool:
    """Whether a connection goes to this machine."""
    try:
        host = str(connection.getpeername()[0])
    except (OSError, IndexError):
        return False
    return host == "::1" or host.startswith("127.")


def foreign_listener(connection: socket.socket) -> int | None:
    """The user listening at the other end of a local connection, unless it is this user, root, or unknown."""
    user = listening_user(connection)
    return None if user is None or user in trusted_users() else user


def check_peer(connection: socket.socket, path: Path) -> None:
    """Refuses a Unix socket on which a program of another user listens."""
    if (user := foreign_peer(connection)) is not None:
        connection.close()
        detail = f"it belongs to user {user}, not to you or root"
        raise NoGate(
            f"refused to connect to the program at {path}", detail, "Remove the socket and start the gate again."
        )


def listening_user(connection: socket.socket) -> int | None:
    """The user listening at the other end of a local connection; None if it is not local or the user is unknown."""
    try:
        if not is_local(connection):
            return None
        host, port = connection.getpeername()[:2]
        packed = socket.inet_pton(connection.family, host)
        exact = "".join(f"{word:08X}" for word in struct.unpack(f"={len(packed) // 4}I", packed))
        users: dict[str, int] = {}
        for table in _TABLES:
            users |= _listening_users(table, port)
            if exact in users:  # the kernel prefers the exact address
                break
    except (OSError, ValueError, IndexError):
        return None
    return next((users[host_hex] for host_hex in (exact, "0" * len(exact), "0" * 32) if host_hex in users), None)


def trusted_users() -> frozenset[int]:
    """The users whose programs we connect to: this user and root."""
    return frozenset({_ROOT, os.geteuid()})


def _listening_users(table: str, port: int) -> dict[str, int]:
    """The users that listen on a port, by address. A table can be long, but Linux puts those that listen first."""
    users: dict[str, int] = {}
    if not Path(table).exists():  # a system without IPv6
        return users
    with Path(table).open(encoding="ascii") as lines:
        next(lines, "")
        for line in lines:
            row = line.split()
            if row[3] != _LISTEN_STATE:
                break
            host_hex, _, number = row[1].partition(":")
            if int(number, 16) == port:
                users[host_hex] = int(row[7])
    return users
