"""The MCP proxy as a real process in front of a real server."""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from aileron_tui.doors.known_servers import KnownServer, write_server

SERVER = Path(__file__).with_name("mcp_script_server.py")
_SECONDS = 20.0


def server_command(mode: str, log: Path) -> list[str]:
    """The command of a server for tests."""
    return [sys.executable, "-S", "-E", str(SERVER), mode, str(log)]


class Conversation:
    """A process that is talked to in lines, with a limit for every wait."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.stdin, self.stdout, self.stderr = self.process.stdin, self.process.stdout, self.process.stderr
        self.received = b""
        self._unread = b""

    def __enter__(self) -> "Conversation":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.stdin, self.stdout, self.stderr):
            stream.close()

    def write(self, data: bytes) -> None:
        """Sends bytes."""
        self.stdin.write(data)

    def send(self, message: object) -> None:
        """Sends a message."""
        self.write(json.dumps(message).encode() + b"\n")

    def request(self, id_: object, method: str, **params: Any) -> None:
        """Sends a request."""
        self.send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})

    def call(self, id_: object, name: str = "write", **arguments: Any) -> None:
        """Calls a tool."""
        self.request(id_, "tools/call", name=name, arguments=arguments)

    def line(self, seconds: float = _SECONDS) -> bytes:
        """The next line, or what is left at the end of the output."""
        end = time.monotonic() + seconds
        while b"\n" not in self._unread:
            if not select.select([self.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(f"no line within {seconds} s")
            data = os.read(self.stdout.fileno(), 1 << 20)
            self.received += data
            if not data:
                rest, self._unread = self._unread, b""
                return rest
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line + b"\n"

    def message(self, seconds: float = _SECONDS) -> Any:
        """The next message."""
        return json.loads(self.line(seconds))

    def text(self, seconds: float = _SECONDS) -> str:
        """The text of the next message, which must be the result of a tool."""
        return str(self.message(seconds)["result"]["content"][0]["text"])

    def finish(self, seconds: float = _SECONDS) -> tuple[int, bytes]:
        """Ends the input; returns the exit code and the rest of the output."""
        self.stdin.close()
        rest = self._unread
        while line := self.line(seconds):
            rest += line
        return self.process.wait(seconds), rest


def proxied(home: Path, mode: str, *options: str, command: list[str] | None = None) -> Conversation:
    """A proxy of this home in front of a server for tests, or of another command."""
    data = home / "data"
    if not (data / "mcp" / "files.json").exists():
        write_server(data, KnownServer("files", "mcp-files"))
    started = [sys.executable, "-m", "aileron_tui", "mcp-proxy", "--name", "files", "--data", str(data), *options]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    server = server_command(mode, home / "server.log") if command is None else command
    return Conversation([*started, "--", *server] if server else started, environment)
