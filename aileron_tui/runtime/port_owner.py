"""Who listens at an address of this machine, where the system tells (Linux): a port is anybody's once it is free."""

import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENS: Final = "0A"
_ROOT: Final = 0


def within(connection: socket.socket) -> bool:
    """Whether a connection stays on this machine."""
    try:
        host = str(connection.getpeername()[0])
    except (OSError, IndexError):
        return False
    return host == "::1" or host.startswith("127.")


def stranger(connection: socket.socket) -> int | None:
    """Who, neither we nor root, listens where a connection within this machine goes; None if nobody, or not known."""
    user = listener(connection)
    return None if user is None or user in trusted() else user


def listener(connection: socket.socket) -> int | None:
    """Who listens where a connection within this machine goes; None if it leaves the machine, or that is not known."""
    try:
        if not within(connection):
            return None
        host, port = connection.getpeername()[:2]
        packed = socket.inet_pton(connection.family, host)
        users = dict(_listeners(port))
    except (OSError, ValueError, IndexError):
        return None
    exact = "".join(f"{word:08X}" for word in struct.unpack(f"={len(packed) // 4}I", packed))
    return next((users[place] for place in (exact, "0" * len(exact), "0" * 32) if place in users), None)


def trusted() -> frozenset[int]:
    """The users who may listen for us: we ourselves, and the system."""
    return frozenset({_ROOT, os.geteuid()})


def _listeners(port: int) -> Iterator[tuple[str, int]]:
    for table in _TABLES:
        if not Path(table).exists():  # a system without IPv6
            continue
        for line in Path(table).read_text("ascii").splitlines()[1:]:
            row = line.split()
            place, _, number = row[1].partition(":")
            if row[3] == _LISTENS and int(number, 16) == port:
                yield place, int(row[7])
