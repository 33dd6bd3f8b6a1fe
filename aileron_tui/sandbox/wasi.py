"""The little of WASI preview 1 that a connector gets: three streams in memory and a bounded sleep."""

import ctypes
import errno
import time
from typing import Final

import wasmtime
from wasmtime import _ffi

from aileron_tui.core.values import dataclass

_SUBSCRIPTION: Final = 48
_EVENT: Final = 32
_MOST_SUBSCRIPTIONS: Final = 4096
_CLOCK: Final = 0
_MONOTONIC: Final = 1
_ABSOLUTE: Final = 1
FAULT: Final = 21
_INVALID: Final = 28


class GuestStream:
    """What a guest writes, kept up to a limit.

    Past the limit a stream either refuses further writes (`tail` false) or forgets the oldest bytes.
    """

    def __init__(self, limit: int, *, tail: bool) -> None:
        self._limit = limit
        self._tail = tail
        self._parts = bytearray()
        self.overflowed = False

    def write(self, data: bytes) -> int | None:
        """The callback of wasmtime: None for written, a negative errno for refused. Never raises."""
        if len(self._parts) + len(data) <= self._limit:
            self._parts += data
            return None
        self.overflowed = True
        if not self._tail:
            return -errno.ENOSPC
        self._parts += data
        del self._parts[: len(self._parts) - self._limit]
        return None

    @property
    def data(self) -> bytes:
        """The bytes that were kept."""
        return bytes(self._parts)


def configure(store: wasmtime.Store, stdin: bytes, stdout: GuestStream, stderr: GuestStream) -> None:
    """Gives a store its three streams; no arguments, no environment, no folders."""
    config = wasmtime.WasiConfig()
    # The Python wrapper offers only files for stdin; the C API below it takes bytes, which never touch a disk.
    given = _ffi.bytes_to_capi(stdin)
    _ffi.wasi_config_set_stdin_bytes(config.ptr(), ctypes.byref(given))
    config.stdout_custom = stdout.write
    config.stderr_custom = stderr.write
    store.set_wasi(config)


@dataclass(frozen=True, slots=True)
class CallTime:
    """The time a call has, on the monotonic clock; a guest's own monotonic clock starts with it."""

    began: float
    deadline: float


def poll(memory: wasmtime.Memory, caller: wasmtime.Caller, args: tuple[int, int, int, int], span: CallTime) -> int:
    """`poll_oneoff` that never outlives the call.

    wasmtime's own sleeps in the host, where an epoch deadline does not reach. Streams here are memory and always ready.
    """
    source, target, count, written = (value & 0xFFFFFFFF for value in args)
    size = memory.data_len(caller)
    if count == 0 or count > _MOST_SUBSCRIPTIONS:
        return _INVALID
    if source + count * _SUBSCRIPTION > size or target + count * _EVENT > size or written + 4 > size:
        return FAULT
    now = {0: time.time_ns(), _MONOTONIC: int((time.monotonic() - span.began) * 1e9)}
    entries = memory.read(caller, source, source + count * _SUBSCRIPTION)
    waits: list[tuple[int, bytes]] = []
    for start in range(0, len(entries), _SUBSCRIPTION):
        entry = entries[start : start + _SUBSCRIPTION]
        kind = entry[8]
        event = bytes(entry[:8]) + bytes((0, 0, kind)) + bytes(_EVENT - 11)
        if kind != _CLOCK:
            waits.append((0, event))
            continue
        clock = int.from_bytes(entry[16:20], "little")
        timeout = int.from_bytes(entry[24:32], "little")
        flags = int.from_bytes(entry[40:42], "little")
        waits.append((timeout - now.get(clock, 0) if flags & _ABSOLUTE else timeout, event))
    shortest = min(wait for wait, _ in waits)
    if shortest > 0:
        time.sleep(max(min(shortest / 1e9, span.deadline - time.monotonic()), 0))
    due = b"".join(event for wait, event in waits if wait <= max(shortest, 0))
    memory.write(caller, due, target)
    memory.write(caller, (len(due) // _EVENT).to_bytes(4, "little"), written)
    return 0
