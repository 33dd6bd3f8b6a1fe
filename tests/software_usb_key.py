"""The authenticator in software behind USB packets, as the library reads them from a real key."""

import queue
import struct
import threading
from collections.abc import Iterator
from typing import Any, Final

from fido2.ctap import STATUS
from fido2.hid import CTAPHID, TYPE_INIT, CtapHidDevice
from fido2.hid.base import CtapHidConnection, HidDescriptor

from tests.software_authenticator import SoftwareAuthenticator

_SIZE: Final = 64
_CHANNEL: Final = 0x0A11E701


class UsbConnection(CtapHidConnection):
    """The packets of one key: it says every 20 ms that it is alive, can be cancelled, and fails if it is unplugged."""

    def __init__(self, authenticator: SoftwareAuthenticator) -> None:
        self._authenticator = authenticator
        self._message = b""
        self._expected = (0, 0, 0)
        self._packets: queue.Queue[bytes | OSError] = queue.Queue()
        self._cancelled = threading.Event()
        self._status = STATUS.PROCESSING
        self.cancels = 0

    def write_packet(self, data: bytes) -> None:
        if not self._authenticator.plugged_in:
            raise OSError(19, "No such device")
        channel, first = struct.unpack_from(">IB", data)
        if first == TYPE_INIT | CTAPHID.CANCEL:
            self.cancels += 1
            self._cancelled.set()
            return
        if first & TYPE_INIT:
            self._expected = (channel, first & ~TYPE_INIT, struct.unpack_from(">H", data, 5)[0])
            self._message = data[7:]
        else:
            self._message += data[5:]
        channel, command, size = self._expected
        if len(self._message) >= size:
            self._received(channel, command, self._message[:size])

    def read_packet(self) -> bytes:
        try:
            packet = self._packets.get(timeout=0.02)
        except queue.Empty:
            return self._frames(_CHANNEL, CTAPHID.KEEPALIVE, bytes([self._status]))[0]
        if isinstance(packet, OSError):
            raise packet
        return packet

    def close(self) -> None:
        self._authenticator.close()

    def _received(self, channel: int, command: int, message: bytes) -> None:
        if command == CTAPHID.INIT:
            about = struct.pack(">IBBBBB", _CHANNEL, 2, 1, 0, 0, self._authenticator.capabilities)
            self._reply(channel, command, message + about)
        else:
            self._cancelled.clear()
            self._status = STATUS.PROCESSING
            threading.Thread(target=self._run, args=(channel, command, message), daemon=True).start()

    def _run(self, channel: int, command: int, message: bytes) -> None:
        def blinks(status: STATUS) -> None:
            self._status = status

        try:
            self._reply(channel, command, self._authenticator.call(command, message, self._cancelled, blinks))
        except OSError as error:
            self._packets.put(error)

    def _reply(self, channel: int, command: int, message: bytes) -> None:
        for frame in self._frames(channel, command, message):
            self._packets.put(frame)

    @staticmethod
    def _frames(channel: int, command: int, message: bytes) -> list[bytes]:
        frames = [struct.pack(">IBH", channel, TYPE_INIT | command, len(message)) + message[: _SIZE - 7]]
        rest = message[_SIZE - 7 :]
        for number, start in enumerate(range(0, len(rest), _SIZE - 5)):
            frames.append(struct.pack(">IB", channel, number) + rest[start : start + _SIZE - 5])
        return [frame.ljust(_SIZE, b"\0") for frame in frames]


def plugged_in(*authenticators: SoftwareAuthenticator) -> Iterator[Any]:
    """Opens these authenticators as USB keys."""
    for authenticator in authenticators:
        descriptor = HidDescriptor("/dev/hidraw9", 0x1050, 0x0407, _SIZE, _SIZE, "Software Key", None)
        yield CtapHidDevice(descriptor, UsbConnection(authenticator))
