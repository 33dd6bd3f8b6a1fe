"""An MCP server that is reached over HTTP, one exchange for each message."""

import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

import httpx

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.mcp_messages import ServerMessage, read_server_line, written
from aileron_tui.doors.mcp_session_process import LONGEST_ANSWER, ServerError, SessionFault, error_text

_SESSION: Final = "mcp-session-id"
_CONNECT_SECONDS: Final = 5.0


class SessionHttp:
    """A connection to a server with the streamable HTTP transport. Redirects are not followed."""

    def __init__(self, url: str) -> None:
        self.version = ""
        self._url = url
        self._client = httpx.Client(follow_redirects=False, trust_env=False)
        self._session = ""
        self._unsent: list[JsonObject] = []
        self._problem = ""
        self._socket: socket.socket | None = None

    def send(self, message: JsonObject) -> None:
        """Queues a message; it is sent when answers are awaited."""
        self._unsent.append(message)

    def messages(self, deadline: float) -> Iterator[ServerMessage]:
        """Sends what is queued, and yields what the server answers until the deadline. Raises SessionFault."""
        while self._unsent and (left := deadline - time.monotonic()) > 0:
            message = self._unsent.pop(0)
            try:
                yield from self._exchange(message, left, deadline)
            except httpx.TimeoutException:
                return
            except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
                if time.monotonic() >= deadline:
                    return
                hint = "Check the address and that the server is running."
                raise SessionFault(f"cannot reach {self._url}", str(error) or type(error).__name__, hint) from None

    def problem(self) -> str:
        """What may explain why the server did not answer."""
        return self._problem

    def close(self) -> None:
        """Ends the session at the server, if it keeps one, and the connection."""
        try:
            if self._session:
                self._client.delete(self._url, headers=self._headers({}), timeout=1.0)
        except httpx.HTTPError:
            return  # the server ends sessions by itself
        finally:
            self._client.close()

    def _headers(self, message: JsonObject) -> dict[str, str]:
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if self.version:
            headers["mcp-protocol-version"] = self.version
            headers["mcp-method"] = str(message.get("method", ""))
            params = message.get("params")
            if isinstance(params, dict) and isinstance(params.get("name"), str):
                headers["mcp-name"] = str(params["name"])
        if self._session:
            headers[_SESSION] = self._session
        return {name: value for name, value in headers.items() if value.isascii() and value.isprintable()}

    def _exchange(self, message: JsonObject, seconds: float, deadline: float) -> Iterator[ServerMessage]:
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        body = written(message).rstrip(b"\n")
        headers, watched = self._headers(message), {"trace": self._connected}
        with (
            self._ended_after(seconds),
            self._client.stream(
                "POST", self._url, content=body, headers=headers, timeout=timeout, extensions=watched
            ) as reply,
        ):
            self._session = reply.headers.get(_SESSION, self._session)
            kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
            if not reply.is_success and kind != "application/json":
                fault = ServerError if reply.is_client_error else SessionFault
                raise fault(f"{self._url} answered with HTTP status {reply.status_code}")
            if kind == "text/event-stream":
                yield from _events(reply, deadline)
                return
            data = b"".join(_bounded(reply.iter_bytes(), deadline))
            if data.strip():
                found = read_server_line(data)
                if reply.is_error:
                    raise ServerError(f"{self._url} answered with HTTP status {reply.status_code}", _reason(found))
                if any(each.body is None for each in found):
                    raise SessionFault(f"{self._url} answered with something that is not a message of MCP")
                yield from found

    def _connected(self, event: str, info: Mapping[str, Any]) -> None:
        """Keeps the socket of a new connection, in plain text or with TLS."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._socket = info["return_value"].get_extra_info("socket")

    @contextmanager
    def _ended_after(self, seconds: float) -> Iterator[None]:
        """Ends the connection after some time: a timeout of httpx begins again with every byte that arrives."""
        timer = threading.Timer(seconds, self._hang_up)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _hang_up(self) -> None:
        with suppress(OSError):
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)


def _reason(messages: Iterable[ServerMessage]) -> str:
    errors = (each.body["error"] for each in messages if each.body and "error" in each.body)
    return next(map(error_text, errors), "")


def _events(reply: httpx.Response, deadline: float) -> Iterator[ServerMessage]:
    """The messages in a stream of events."""
    data: list[bytes] = []
    rest = b""
    for chunk in _bounded(reply.iter_bytes(), deadline):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in (line.removesuffix(b"\r") for line in lines):
            if line.startswith(b"data:"):
                data.append(line.removeprefix(b"data:").removeprefix(b" "))
            elif not line and data:
                yield from (each for each in read_server_line(b"\n".join(data)) if each.body is not None)
                data = []


def _bounded(chunks: Iterator[bytes], deadline: float) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > LONGEST_ANSWER:
            raise SessionFault("the server sent an answer that is too long", f"more than {LONGEST_ANSWER:,} bytes")
        if time.monotonic() > deadline:
            return
        yield chunk
