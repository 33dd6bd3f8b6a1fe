"""The part of WASI preview 1 for connectors: three in-memory streams, and a sleep limited by the call's deadline."""

import ctypes
import errno
import time
from typing import Final

import wasmtime
from wasmtime import _ffi

from aileron_tui.core.values import dataclass

_SUBSCRIPTION_SIZE: Final = 48
_EVENT_SIZE: Final = 32
_MAX_SUBSCRIPTIONS: Final = 4096
_CLOCK: Final = 0
_MONOTONIC: Final = 1
_ABSOLUTE: Final = 1
ERRNO_FAULT: Final = 21
_ERRNO_INVALID: Final = 28


class GuestStream:
    """Captures what a guest writes, up to a limit.

    At the limit the stream drops its oldest bytes if `keep_tail` is set, else it refuses further writes.
    """

    def __init__(self, limit: int, *, keep_tail: bool) -> None:
        self._limit = limit
        self._keep_tail = keep_tail
        self._parts = bytearray()
        self.overflowed = False

    def write(self, data: bytes) -> int | None:
        """The callback for wasmtime: returns None if written, a negative errno if refused. Never raises."""
        if len(self._parts) + len(data) <= self._limit:
            self._parts += data
            return None
        self.overflowed = True
        if not self._keep_tail:
            return -errno.ENOSPC
        self._parts += data
        del self._parts[: len(self._parts) - self._limit]
        return None

    @property
    def data(self) -> bytes:
        """The captured bytes."""
        return bytes(self._parts)


def configure(store: wasmtime.Store, stdin: bytes, stdout: GuestStream, stderr: GuestStream) -> None:
    """Gives a store its three streams, but no arguments, environment variables or folders."""
    config = wasmtime.WasiConfig()
    # The Python wrapper only takes a file for stdin; the C API takes bytes, which never touch the disk.
    stdin_bytes = _ffi.bytes_to_capi(stdin)
    _ffi.wasi_config_set_stdin_bytes(config.ptr(), ctypes.byref(stdin_bytes))
    config.stdout_custom = stdout.write
    config.stderr_custom = stderr.write
    store.set_wasi(config)


@dataclass(frozen=True, slots=True)
class CallTime:
    """Start and deadline of a call on the monotonic clock; the guest's monotonic clock starts at zero with the call."""

    started_at: float
    deadline: float


def poll(memory: wasmtime.Memory, caller: wasmtime.Caller, args: tuple[int, int, int, int], call_time: CallTime) -> int:
    """A `poll_oneoff` that never sleeps past the deadline of the call.

    The one in wasmtime sleeps in the host, where epoch deadlines have no effect. In-memory streams are always ready.
    """
    source, target, count, written = (value & 0xFFFFFFFF for value in args)
    size = memory.data_len(caller)
    if count == 0 or count > _MAX_SUBSCRIPTIONS:
        return _ERRNO_INVALID
    if source + count * _SUBSCRIPTION_SIZE > size or target + count * _EVENT_SIZE > size or written + 4 > size:
        return ERRNO_FAULT
    now = {0: time.time_ns(), _MONOTONIC: int((time.monotonic() - call_time.started_at) * 1e9)}
    entries = memory.read(caller, source, source + count * _SUBSCRIPTION_SIZE)
    waits: list[tuple[int, bytes]] = []
    for start in range(0, len(entries), _SUBSCRIPTION_SIZE):
        entry = entries[start : start + _SUBSCRIPTION_SIZE]
        kind = entry[8]
        event = bytes(entry[:8]) + bytes((0, 0, kind)) + bytes(_EVENT_SIZE - 11)
        if kind != _CLOCK:
            waits.append((0, event))
            continue
        clock = int.from_bytes(entry[16:20], "little")
        timeout = int.from_bytes(entry[24:32], "little")
        flags = int.from_bytes(entry[40:42], "little")
        waits.append((timeout - now.get(clock, 0) if flags & _ABSOLUTE else timeout, event))
    shortest = min(wait for wait, _ in waits)
    if shortest > 0:
        time.sleep(max(min(shortest / 1e9, call_time.deadline - time.monotonic()), 0))
    due = b"".join(event for wait, event in waits if wait <= max(shortest, 0))
    memory.write(caller, due, target)
    memory.write(caller, (len(due) // _EVENT_SIZE).to_bytes(4, "little"), written)
    return 0
