"""An MCP server that is started for a moment and spoken to over its standard input and output.

Nothing here waits without a limit: not for a server that reads nothing, writes nothing, or never ends.
"""

import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject, compact
from aileron_tui.core.mcp_messages import ServerMessage, read_server_line, written

LONGEST_ANSWER: Final = 16 * 1024 * 1024
_CHUNK: Final = 64 * 1024
_LONGEST_STDERR: Final = 2000
_LONGEST_SAMPLE: Final = 80
_LONGEST_ERROR: Final = 500
_SECONDS_TO_END: Final = 1.0


class SessionFault(AileronError):
    """A server that cannot be started or reached, that ends, is silent, or sends what cannot be understood."""


class ServerError(SessionFault):
    """The server answered a request with an error."""


def error_text(error: Json) -> str:
    """The text of an error that a server sent, which is foreign."""
    message = error.get("message") if isinstance(error, dict) else None
    text = message if isinstance(message, str) else compact(error)
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"


class SessionProcess:
    """A server as a child process. It gets a session of its own, so that its children end with it."""

    def __init__(self, command: Sequence[str], folder: str = "", env: Mapping[str, str] | None = None) -> None:
        """Starts the server, with these environment variables beside ours. Raises SessionFault if it cannot."""
        self.version = ""
        self._program = command[0] if command else ""
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the user's own command; no shell is involved
                list(command),
                cwd=folder or None,
                env={**os.environ, **(env or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError, IndexError) as error:
            reason = error.strerror or str(error) if isinstance(error, OSError) else "the command is not valid"
            hint = "Check the command and that its program is installed."
            raise SessionFault(f"cannot start {self._program or 'the server'}", reason, hint) from None
        self._streams = selectors.DefaultSelector()
        self._unsent = bytearray()
        self._received = bytearray()
        self._messages: deque[ServerMessage] = deque()
        self._stderr = b""
        self._garbage = ""
        self._has_ended = False
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None  # noqa: S101  # all three are pipes
            os.set_blocking(stream.fileno(), False)
        for stream in (self._process.stdout, self._process.stderr):
            self._streams.register(stream or -1, selectors.EVENT_READ)

    def send(self, message: JsonObject) -> None:
        """Queues a message; it is written while answers are awaited."""
        self._unsent += written(message)

    def messages(self, deadline: float) -> Iterator[ServerMessage]:
        """Yields what the server sends, until the deadline on the monotonic clock. Raises SessionFault if it ends."""
        while True:
            while self._messages:
                yield self._messages.popleft()
            left = deadline - time.monotonic()
            if left <= 0:
                return
            if self._has_ended:
                raise self._ended()
            self._transfer(left)

    def problem(self) -> str:
        """What may explain why the server did not answer, "" if nothing is known."""
        said = self._stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        odd = f"it printed lines that are not messages of MCP, such as: {self._garbage}" if self._garbage else ""
        return f"it says: {said}" if said else odd

    def close(self) -> None:
        """Ends the server: its input is closed, and after a second each, it is asked to end and then killed."""
        self._streams.close()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream:
                stream.close()
        try:
            if not self._ends():
                self._signal(signal.SIGTERM)
                self._ends()
        finally:
            self._signal(signal.SIGKILL)  # also for children that it left behind
            self._process.wait()

    def _ends(self) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_SECONDS_TO_END)
        return self._process.returncode is not None

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _transfer(self, seconds: float) -> None:
        """Waits until something can be read or written, and does it."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101  # it is a pipe
        if self._unsent and stdin not in {key.fileobj for key in self._streams.get_map().values()}:
            self._streams.register(stdin, selectors.EVENT_WRITE)
        for key, _ in self._streams.select(seconds):
            if key.fileobj is stdin:
                self._write(key.fd)
            elif key.fileobj is self._process.stdout:
                self._read(key.fd)
            else:
                self._read_stderr(key.fd)

    def _write(self, descriptor: int) -> None:
        try:
            count = os.write(descriptor, self._unsent[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:  # it has closed its input; whether it has ended shows at its output
            count = len(self._unsent)
        del self._unsent[:count]
        if not self._unsent:
            self._streams.unregister(descriptor)

    def _read(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        if not data:
            self._streams.unregister(descriptor)
            self._has_ended = True
            return
        start = max(len(self._received) - 1, 0)
        self._received += data
        if self._received.find(b"\n", start) < 0:
            if len(self._received) > LONGEST_ANSWER:
                raise SessionFault("the server sent a line that is too long", f"more than {LONGEST_ANSWER:,} bytes")
            return
        *lines, rest = bytes(self._received).split(b"\n")
        self._received = bytearray(rest)
        for line in lines:
            self._add(line)

    def _add(self, line: bytes) -> None:
        if not line.strip():
            return
        for message in read_server_line(line):
            if message.body is not None:
                self._messages.append(message)
            elif not self._garbage:
                self._garbage = line[:_LONGEST_SAMPLE].decode("utf-8", "replace")

    def _read_stderr(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        if not data:
            self._streams.unregister(descriptor)
        self._stderr = (self._stderr + data)[-_LONGEST_STDERR:]

    def _ended(self) -> SessionFault:
        try:
            code = self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            return SessionFault(f"{self._program} closed its output", self.problem())
        if self._process.stderr and self._process.stderr in self._streams.get_map():
            with suppress(BlockingIOError):  # a child of it may keep the pipe open
                self._read_stderr(self._process.stderr.fileno())
        how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
        return SessionFault(f"{self._program} {how}", self.problem())
