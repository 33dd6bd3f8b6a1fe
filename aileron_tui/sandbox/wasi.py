"""The part of WASI preview 1 for connectors: three in-memory streams, and a sleep limited by the call's deadline.

Output is written by a host function on the thread of the call. wasmtime's own streams call back into Python from its
worker threads, even after the call has ended; if the interpreter is exiting then, such a thread panics.
"""

import ctypes
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
_MAX_BUFFERS: Final = 1024
_BUFFER_SIZE: Final = 8
_ERRNO_BAD_FILE: Final = 8
ERRNO_FAULT: Final = 21
_ERRNO_INVALID: Final = 28
_ERRNO_NO_SPACE: Final = 51


class GuestStream:
    """Captures what a guest writes, up to a limit.

    At the limit the stream drops its oldest bytes if `keep_tail` is set, else it refuses further writes.
    """

    def __init__(self, limit: int, *, keep_tail: bool) -> None:
        self._limit = limit
        self._keep_tail = keep_tail
        self._parts = bytearray()
        self.overflowed = False

    def accepts(self, size: int) -> bool:
        """Whether a write of this size is allowed; remembers that one was refused."""
        if len(self._parts) + size > self._limit:
            self.overflowed = True
        return self._keep_tail or not self.overflowed

    def write(self, data: bytes | bytearray) -> None:
        """Adds bytes that were accepted."""
        self._parts += data
        if self._keep_tail:
            del self._parts[: max(len(self._parts) - self._limit, 0)]

    @property
    def data(self) -> bytes:
        """The captured bytes."""
        return bytes(self._parts)


def configure(store: wasmtime.Store, stdin: bytes) -> None:
    """Gives a store its input, but no arguments, environment variables or folders."""
    config = wasmtime.WasiConfig()
    # The Python wrapper only takes a file for stdin; the C API takes bytes, which never touch the disk.
    stdin_bytes = _ffi.bytes_to_capi(stdin)
    _ffi.wasi_config_set_stdin_bytes(config.ptr(), ctypes.byref(stdin_bytes))
    store.set_wasi(config)


def write(
    memory: wasmtime.Memory, caller: wasmtime.Caller, args: tuple[int, int, int], stream: GuestStream | None
) -> int:
    """An `fd_write` to a stream, which is None for any other file. Like wasmtime's, it writes one buffer per call."""
    source, count, written = (value & 0xFFFFFFFF for value in args)
    if stream is None:
        return _ERRNO_BAD_FILE
    if count > _MAX_BUFFERS:
        return _ERRNO_INVALID
    memory_size = memory.data_len(caller)
    if source + count * _BUFFER_SIZE > memory_size or written + 4 > memory_size:
        return ERRNO_FAULT
    buffers = memory.read(caller, source, source + count * _BUFFER_SIZE)
    size = 0
    for at in range(0, len(buffers), _BUFFER_SIZE):
        start = int.from_bytes(buffers[at : at + 4], "little")
        size = int.from_bytes(buffers[at + 4 : at + 8], "little")
        if start + size > memory_size:
            return ERRNO_FAULT
        if size:
            if not stream.accepts(size):
                return _ERRNO_NO_SPACE
            stream.write(memory.read(caller, start, start + size))
            break
    memory.write(caller, size.to_bytes(4, "little"), written)
    return 0


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
