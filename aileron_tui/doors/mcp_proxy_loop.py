"""The loop of the MCP proxy: waits for the client, the server, the gate and the clock, never for one of them alone."""

import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Final, Protocol

from aileron_tui.core.mcp_messages import PARSE_ERROR, error_line
from aileron_tui.core.visible_text import inline
from aileron_tui.doors.mcp_child import STEP_SECONDS, ServerProcess
from aileron_tui.doors.mcp_streams import READ_SIZE, LineReader, output_writer

_INPUT: Final = 0
_OUTPUT: Final = 1
_NEVER: Final = float("inf")
_MOST_NOTES: Final = 20
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_TOO_LONG: Final = "aileron-tui did not pass this message on: it is too long"
_GONE: Final = select.POLLERR | select.POLLNVAL


class Messages(Protocol):
    """What the loop passes lines to."""

    def from_client(self, line: bytes, end: bytes = b"\n") -> None:
        """Takes a line of the client."""

    def from_server(self, line: bytes, end: bytes = b"\n") -> None:
        """Takes a line of the server."""

    def tick(self, now: float) -> None:
        """Does what is due."""

    def next_time(self, now: float) -> float:
        """When `tick` has something to do."""

    @property
    def is_timed(self) -> bool:
        """Whether `tick` will ever have something to do, as things are now."""

    def client_left(self) -> None:
        """The client is gone."""

    def server_left(self, reason: str) -> None:
        """The server is gone."""


class RemoteServer(Protocol):
    """A server that is not a process of ours."""

    def send(self, line: bytes) -> None:
        """Sends a line."""

    def close(self) -> None:
        """Ends the connection."""


class ProxyLoop:
    """Standard input and output, the server's pipes if it has any, and work that other threads hand over."""

    def __init__(self) -> None:
        self._client_reader = LineReader()
        self._client = output_writer(_OUTPUT)
        self._child: ServerProcess | None = None
        self._remote: RemoteServer | None = None
        self._posted: deque[Callable[[], None]] = deque()
        self._wakes, self._wake = os.pipe()
        os.set_blocking(self._wakes, False)
        os.set_blocking(self._wake, False)
        self._signal = 0
        self._notes = 0
        self._is_reading = True
        self._has_output = False
        self._end = _NEVER
        self._is_ending = True
        self._usual: select.poll | None = None

    # what messages need

    def to_client(self, line: bytes) -> None:
        """Sends a line to the client."""
        self._client.add(line)

    def to_server(self, line: bytes) -> None:
        """Sends a line to the server."""
        if self._child is not None:
            self._child.writer.add(line)
        elif self._remote is not None:
            self._remote.send(line)

    def note(self, text: str) -> None:
        """Writes a remark to standard error, but not very often."""
        self._notes += 1
        if self._notes <= _MOST_NOTES:
            with suppress(OSError):
                os.write(2, f"aileron-tui mcp-proxy: {inline(text)}\n".encode())

    def post(self, work: Callable[[], None]) -> None:
        """Hands over work from any thread."""
        self._posted.append(work)
        with suppress(BlockingIOError):
            os.write(self._wake, b"\0")

    @property
    def is_full(self) -> bool:
        """Whether so much waits for the client that it should be sent no more."""
        return self._client.is_full

    # running

    def run(self, messages: Messages, server: ServerProcess | RemoteServer | None) -> int:
        """Runs until the client or the server is gone; returns the exit code."""
        if isinstance(server, ServerProcess):
            self._child = server
            self._has_output = True
        else:
            self._remote = server
        self._catch_signals()
        try:
            while not self._is_ending or self._go_on(messages):
                self._step(messages)
        finally:
            if self._remote is not None:
                self._remote.close()
            if self._child is not None:
                self._child.close()
        self._flush(STEP_SECONDS)
        if self._signal:
            return 128 + self._signal
        return self._child.exit_code if self._child is not None and not self._child.is_ended_by_us else 0

    def _go_on(self, messages: Messages) -> bool:
        """Looks whether the loop ends, once something has happened that may end it."""
        now = time.monotonic()
        if self._signal and self._is_reading:
            self._client_gone(messages)
        if self._child is None:
            if not (goes_on := self._is_reading or now < self._end):
                messages.server_left("the connection ended before the server answered")
            return goes_on
        if self._end == _NEVER and self._child.has_exited():
            self._end = now + STEP_SECONDS  # another process may still hold its output open
        self._is_ending = not self._is_reading or self._end != _NEVER
        if not self._has_output or now >= self._end or not self._child.tick(now):
            code = f" with code {self._child.exit_code}" if self._child.has_exited() else ""
            messages.server_left(f"the server ended{code} before it answered")
            return False
        return True

    def _step(self, messages: Messages) -> None:
        wait = None
        is_timed = messages.is_timed or self._is_ending
        if is_timed:
            now = time.monotonic()
            due = min(messages.next_time(now), self._end, self._child.next_step if self._child else _NEVER)
            wait = None if due == _NEVER else max(0.0, due - now) * 1000 + 1
        for descriptor, event in self._poll(wait):
            self._handle(descriptor, event, messages)
        while self._posted:
            self._posted.popleft()()
        if is_timed:
            messages.tick(time.monotonic())
            if self._child is not None and not self._is_reading and self._child.writer.is_empty:
                self._child.writer.close()

    def _poll(self, wait: float | None) -> list[tuple[int, int]]:
        """Waits for whatever can be read or written."""
        child, client = self._child, self._client
        is_usual = not (self._is_ending or client.size or (child is not None and child.writer.size))
        if is_usual and self._usual is not None:
            return self._usual.poll(wait)
        poll = select.poll()
        poll.register(self._wakes, select.POLLIN)
        if self._is_reading and not (child is not None and child.writer.is_full):
            poll.register(_INPUT, select.POLLIN)
        if not client.is_closed:
            poll.register(client.descriptor, select.POLLOUT if client.size else 0)
        if child is not None:
            if self._has_output and not client.is_full:
                poll.register(child.output, select.POLLIN)
            if child.writer.size:
                poll.register(child.writer.descriptor, select.POLLOUT)
        if is_usual:
            self._usual = poll
        return poll.poll(wait)

    def _handle(self, descriptor: int, event: int, messages: Messages) -> None:
        child = self._child
        if descriptor == self._wakes:
            with suppress(BlockingIOError):
                os.read(self._wakes, READ_SIZE)
        elif descriptor == _INPUT:
            self._read_client(messages)
        elif descriptor == self._client.descriptor:
            if event & _GONE:
                self._client.drop()
                self._client_gone(messages)
            else:
                self._client.write()
        elif child is not None and descriptor == child.output:
            self._read_server(child, messages)
        elif child is not None:
            child.writer.write()

    def _read_client(self, messages: Messages) -> None:
        data = _read(_INPUT)
        for line in self._client_reader.feed(data):
            if line is None:
                self.to_client(error_line(None, PARSE_ERROR, _TOO_LONG))
            else:
                messages.from_client(line)
        if not data:
            if rest := self._client_reader.rest():
                messages.from_client(rest, b"")
            self._client_gone(messages)

    def _read_server(self, child: ServerProcess, messages: Messages) -> None:
        data = _read(child.output)
        for line in child.reader.feed(data):
            if line is None:
                self.note("a line of the server was too long and was dropped")
            else:
                messages.from_server(line)
        if not data:
            if rest := child.reader.rest():
                messages.from_server(rest, b"")
            self._has_output = False
            self._is_ending = True

    def _client_gone(self, messages: Messages) -> None:
        """The client will send nothing more. What waits is withdrawn; the server may still finish."""
        if not self._is_reading:
            return
        self._is_reading = False
        self._is_ending = True
        messages.client_left()
        if self._child is not None:
            self._child.end()
        else:
            self._end = time.monotonic() + (STEP_SECONDS if self._remote is not None else 0.0)

    def _flush(self, seconds: float) -> None:
        """Writes what is left for the client, if it reads it."""
        end = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._client.descriptor, select.POLLOUT)
        while not self._client.is_empty and (left := end - time.monotonic()) > 0:
            if poll.poll(left * 1000):
                self._client.write()

    def _catch_signals(self) -> None:
        for number in _SIGNALS:
            signal.signal(number, self._caught)
        signal.signal(signal.SIGCHLD, self._child_changed)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    def _child_changed(self, _: int, __: FrameType | None) -> None:
        self._is_ending = True

    def _caught(self, number: int, _: FrameType | None) -> None:
        self._signal = number
        self._is_ending = True


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, READ_SIZE)
    except OSError:
        return b""
