"""Tells systemd how the gate is doing: that it is ready, that it stops, and that it is alive.

The messages are those of `sd_notify`: datagrams to the socket that NOTIFY_SOCKET names. Without it, nothing is sent.
"""

import asyncio
import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Final

READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"
_ALIVE: Final = "WATCHDOG=1"


class ServiceManager:
    """The service manager that started this process, if there is one."""

    def __init__(self, address: str = "", watchdog_seconds: float = 0.0) -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._watchdog_seconds = watchdog_seconds

    def tell(self, *messages: str) -> None:
        """Sends messages. If that fails, the service manager notices by itself."""
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.settimeout(1.0)
            sender.sendto("\n".join(messages).encode(), self._address)

    async def report_alive(self) -> None:
        """Says again and again that the event loop works, if the service manager asks for that; never returns then."""
        while self._watchdog_seconds:
            self.tell(_ALIVE)
            await asyncio.sleep(self._watchdog_seconds / 2)


def service_manager(environment: MutableMapping[str, str]) -> ServiceManager:
    """The service manager that the environment names. Its variables are removed, so that no child gets them."""
    address = environment.pop("NOTIFY_SOCKET", "")
    seconds, pid = environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", "")
    is_asked = seconds.isascii() and seconds.isdigit() and pid in ("", str(os.getpid()))
    if not address.startswith(("/", "@")) or address == "@":
        return ServiceManager()
    return ServiceManager(address, int(seconds) / 1_000_000 if is_asked else 0.0)
