"""Starts an MCP server once, and asks it for its tools. Whatever it does, this ends within the time it is given."""

import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from typing import IO, Final

from aileron_tui import __version__
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, read_object
from aileron_tui.core.mcp_tools import PinnedTool, pinned
from aileron_tui.core.values import dataclass
from aileron_tui.doors.mcp_entries import ServerStart
from aileron_tui.doors.trial_call import end_process

SECONDS: Final = 30.0
"""How long a server may take to start and to list its tools."""

_PROTOCOL: Final = "2025-11-25"
_LONGEST_LINE: Final = 16 * 1024 * 1024
_LIMITS: Final = JsonLimits(size=_LONGEST_LINE, depth=80, count=500_000)
_MOST_BYTES: Final = 4 * _LONGEST_LINE
_END_SECONDS: Final = 0.5
_MOST_PAGES: Final = 100
_MOST_TOOLS: Final = 2000
_SAID: Final = 2000
_NOT_FOUND: Final = -32601


class ListingFault(AileronError):
    """A server that does not list its tools."""


@dataclass(frozen=True, slots=True)
class ListedTools:
    """The tools of a server as they are now, and what it calls itself, which is foreign text."""

    tools: tuple[PinnedTool, ...]
    title: str


def listed_tools(start: ServerStart, seconds: float = SECONDS) -> ListedTools:
    """The tools of a server. Raises ListingFault, which may contain foreign text."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(  # noqa: S603  # the server that the user named
                start.command,
                cwd=start.folder or None,
                env={**os.environ, **(start.env or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            hint = "Check the command. It is started without a shell."
            raise ListingFault(f"{start.command[0]} cannot be started", str(error), hint) from None
        try:
            return _Conversation(process, time.monotonic() + seconds).tools()
        except ListingFault as error:
            end_process(process)
            raise ListingFault(error.title, error.detail or _last_line(errors), error.hint) from None
        finally:
            _end(process)


class _Conversation:
    """What is said to a server and what it answers."""

    def __init__(self, process: "subprocess.Popen[bytes]", deadline: float) -> None:
        self._process = process
        self._deadline = deadline
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._id = 0
        self._garbage = b""
        assert process.stdout is not None  # noqa: S101  # it was opened with a pipe
        threading.Thread(target=_read_lines, args=(process.stdout, self._lines), daemon=True).start()

    def tools(self) -> ListedTools:
        client: JsonObject = {"name": "aileron-tui", "version": __version__}
        hello = self._ask("initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        found: list[PinnedTool] = []
        params: JsonObject = {}
        for _ in range(_MOST_PAGES):
            page = self._ask("tools/list", params)
            listed = page.get("tools")
            if not isinstance(listed, list):
                raise ListingFault("the server sent a list of tools that cannot be read")
            found += map(_tool, listed)
            cursor = page.get("nextCursor")
            if len(found) > _MOST_TOOLS:
                break
            if not isinstance(cursor, str):
                return _checked(found, hello)
            params = {"cursor": cursor}
        raise ListingFault("the server lists too many tools", f"more than {_MOST_TOOLS:,}, or its list does not end")

    def _ask(self, method: str, params: JsonObject) -> JsonObject:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        while True:
            message = self._message(method)
            if "method" in message:
                if "id" in message:
                    self._answer(message)
            elif message.get("id") == self._id:
                match message:
                    case {"result": dict(result)}:
                        return result
                    case {"error": {"message": str(words)}}:
                        raise ListingFault(f"the server refused {method}", words[:_SAID])
                raise ListingFault(f"the server answered {method} with something that is not MCP")

    def _answer(self, message: JsonObject) -> None:
        """Answers what the server asks: it is alive here, and nothing else is offered."""
        reply: JsonObject = {"jsonrpc": "2.0", "id": message["id"]}
        refused: JsonObject = {"code": _NOT_FOUND, "message": "not offered"}
        self._send(reply | ({"result": {}} if message["method"] == "ping" else {"error": refused}))

    def _message(self, method: str) -> JsonObject:
        """The next message. Lines that are none are skipped, as clients do."""
        while True:
            try:
                line = self._lines.get(timeout=max(self._deadline - time.monotonic(), 0.0))
            except queue.Empty:
                raise ListingFault(f"the server did not answer {method} in time", self._odd()) from None
            if line is None:
                raise ListingFault(f"the server ended before it answered {method}", self._odd())
            try:
                return read_object(line, _LIMITS)
            except JsonError:
                self._garbage = self._garbage or line.strip()

    def _odd(self) -> str:
        """What it wrote that is not a message, "" if nothing."""
        text = self._garbage[:_SAID].decode("utf-8", "replace")
        return f"it wrote a line that is not a message: {text}" if text else ""

    def _send(self, message: JsonObject) -> None:
        assert self._process.stdin is not None  # noqa: S101  # it was opened with a pipe
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise ListingFault("the server ended before it listed its tools", self._odd()) from None


def _tool(value: Json) -> PinnedTool:
    try:
        if isinstance(value, dict):
            return pinned(value)
    except (ValueError, JsonError) as error:
        raise ListingFault("the server lists a tool that cannot be pinned", str(error)) from None
    raise ListingFault("the server lists a tool that is not an object")


def _checked(tools: list[PinnedTool], hello: JsonObject) -> ListedTools:
    names = [tool.name for tool in tools]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise ListingFault("the server lists two tools with the same name", twice)
    match hello.get("serverInfo"):
        case {"name": str(name), "version": str(version)}:
            title = f"{name} {version}"
        case _:
            title = ""
    return ListedTools(tuple(sorted(tools, key=lambda tool: tool.name)), title)


def _read_lines(stream: IO[bytes], lines: "queue.SimpleQueue[bytes | None]") -> None:
    """Hands over every line, and None at the end or once there is too much."""
    left = _MOST_BYTES
    with suppress(OSError, ValueError), stream:
        while left > 0 and (line := stream.readline(left)):
            left -= len(line)
            lines.put(line)
    lines.put(None)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends the server: its input first, as it would be at the end of a session, then its processes."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)
    end_process(process)


def _last_line(errors: IO[bytes]) -> str:
    """The last line that the server wrote to standard error, as foreign text."""
    errors.seek(0, os.SEEK_END)
    errors.seek(max(errors.tell() - _SAID, 0))
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return f"it said: {lines[-1]}" if lines else ""
