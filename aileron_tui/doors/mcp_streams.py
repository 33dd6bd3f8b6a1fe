"""Lines from and to the pipes of the MCP proxy, without ever waiting for a reader or writer."""

import os
import select
import stat
from collections import deque
from contextlib import suppress
from typing import Final

from aileron_tui.core.mcp_messages import LONGEST_LINE

READ_SIZE: Final = 64 * 1024
"""What a pipe holds. Memory for larger reads would be fetched from the system each time."""
_ATOMIC: Final = 4096
"""Bytes that a pipe takes without blocking once it is writable."""

_FULL: Final = 1024 * 1024


class LineReader:
    """Splits what is read into lines. Only a newline ends a line."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._is_too_long = False

    def feed(self, data: bytes) -> list[bytes | None]:
        """The lines that are complete now, without their newline; None for one that was too long."""
        lines: list[bytes | None] = list(data.split(b"\n"))
        rest = lines.pop()
        if lines and self._size:
            lines[0] = self._finish(lines[0] or b"")
        if rest:
            self._add(rest)
        return lines

    def rest(self) -> bytes | None:
        """What is left at the end of the input: b"" if nothing is, None if it was too long."""
        return self._finish(b"")

    def _finish(self, last: bytes) -> bytes | None:
        if not self._size:
            return last
        self._add(last)
        line = None if self._is_too_long else b"".join(self._parts)
        self._parts, self._size, self._is_too_long = [], 0, False
        return line

    def _add(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > LONGEST_LINE:
            self._is_too_long = True
            self._parts.clear()
        else:
            self._parts.append(data)


class LineWriter:
    """What is still to be written to a pipe.

    `size` is how many bytes that are. A pipe of our own does not block. One that we were given may be shared, so its
    mode is not changed: it is asked first, and gets only as much as it can take.
    """

    def __init__(self, descriptor: int, *, is_own: bool) -> None:
        self.descriptor = descriptor
        self.is_closed = False
        self._is_own = is_own
        self.size = 0
        self._parts: deque[memoryview] = deque()
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        if is_own:
            os.set_blocking(descriptor, False)

    @property
    def is_empty(self) -> bool:
        """Whether everything was written."""
        return not self._parts

    @property
    def is_full(self) -> bool:
        """Whether so much is waiting that no more should be read for it."""
        return self.size > _FULL

    def add(self, data: bytes) -> None:
        """Writes data, now or when the reader has read what was written before."""
        if self.is_closed or not data:
            return
        count = 0
        if not self._parts:
            count = self._write(data)
            if count == len(data) or self.is_closed:
                return
        self._parts.append(memoryview(data)[count:])
        self.size += len(data) - count

    def write(self) -> None:
        """Writes as much as is possible without waiting. If nobody will ever read it, it is dropped."""
        while self._parts:
            data = self._parts[0]
            count = self._write(data)
            if not count:
                return
            self.size -= count
            if count == len(data):
                self._parts.popleft()
            else:
                self._parts[0] = data[count:]

    def _write(self, data: bytes | memoryview) -> int:
        """How many bytes could be written now."""
        try:
            if self._is_own:
                return os.write(self.descriptor, data)
            if self._poll.poll(0):
                return os.write(self.descriptor, data if len(data) <= _ATOMIC else data[:_ATOMIC])
        except BlockingIOError:
            return 0
        except OSError:
            self.drop()
        return 0

    def drop(self) -> None:
        """Gives up: nobody reads this pipe any more."""
        self.is_closed = True
        self._parts.clear()
        self.size = 0

    def close(self) -> None:
        """Closes the pipe."""
        if not self.is_closed or self._is_own:
            self.drop()
            if self.descriptor >= 0:
                os.close(self.descriptor)
                self.descriptor = -1


def output_writer(descriptor: int) -> LineWriter:
    """A writer for a pipe that we were given. On Linux it is opened again, so that its mode is ours alone."""
    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        with suppress(OSError):
            own = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            return LineWriter(own, is_own=True)
    return LineWriter(descriptor, is_own=False)
