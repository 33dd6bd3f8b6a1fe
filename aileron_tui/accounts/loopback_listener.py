"""Waits on a port of this machine for the browser that comes back from a provider.

Whoever is on this machine, and any page in the browser, can send something here. So only a GET of one path with the
right Host and state counts, once; everything else gets a plain answer and changes nothing. Connections are few, small
and short.
"""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from aileron_tui.accounts.provider_http import SignInCancelled, SignInError
from aileron_tui.accounts.sign_in_answer import CALLBACK_PATH, LONGEST_ANSWER, NotThisSignIn, SignInAttempt

_CONNECTION_SECONDS: Final = 5.0
_MOST_CONNECTIONS: Final = 8
_LARGEST_HEAD: Final = LONGEST_ANSWER + 24 * 1024  # browsers send all the cookies of 127.0.0.1, whatever the port
_TICK: Final = 0.1
_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>aileron-tui</title>
<body style="font-family: sans-serif; margin: 4em auto; max-width: 30em">
<p>{words}</p><p>You can close this window.</p>
"""
_HEADERS: Final = (
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Connection: close\r\n"
)


def open_loopback_port() -> socket.socket:
    """A socket on a free port of 127.0.0.1; nobody can connect before it listens."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        opened.bind(("127.0.0.1", 0))
    except OSError as error:
        opened.close()
        raise SignInError("no port of this machine is free", error.strerror or "", "Use --paste.") from None
    return opened


class LoopbackListener:
    """Waits for the answer to one sign-in on a socket, which it closes."""

    def __init__(self, attempt: SignInAttempt, opened: socket.socket, report: Callable[[str], None]) -> None:
        self._attempt = attempt
        self._socket = opened
        self._report = report
        self._host = f"127.0.0.1:{opened.getsockname()[1]}"
        self._open = 0
        self._reported: set[str] = set()
        self._answer: str | SignInError | None = None

    def wait(self, seconds: float, cancelled: Callable[[], bool], begin: Callable[[], None]) -> str:
        """Returns the code. `begin` is called once somebody listens. Raises SignInError if no code comes."""
        return asyncio.run(self._wait(seconds, cancelled, begin))

    async def _wait(self, seconds: float, cancelled: Callable[[], bool], begin: Callable[[], None]) -> str:
        server = await asyncio.start_server(self._serve, sock=self._socket, limit=_LARGEST_HEAD, backlog=16)
        try:
            begin()
            end = asyncio.get_running_loop().time() + seconds
            while self._answer is None:
                if cancelled():
                    raise SignInCancelled("the sign-in was cancelled")
                if asyncio.get_running_loop().time() > end:
                    why = f"the browser did not come back within {seconds / 60:.3g} minutes"
                    hint = "Try again; use --paste if the browser is on another machine."
                    raise SignInCancelled("nobody signed in", why, hint)
                await asyncio.sleep(_TICK)
        finally:
            server.close()
            await self._drain()
        if isinstance(self._answer, SignInError):
            raise self._answer
        return self._answer

    async def _drain(self) -> None:
        """Lets the page of the answer reach the browser."""
        end = asyncio.get_running_loop().time() + 1
        while self._open and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.01)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= _MOST_CONNECTIONS:
                async with asyncio.timeout(_CONNECTION_SECONDS):
                    writer.write(self._reply(await reader.readuntil(b"\r\n\r\n")))
                    await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # it sent nothing that could be an answer
        finally:
            self._open -= 1
            with suppress(OSError):
                writer.close()

    def _reply(self, head: bytes) -> bytes:
        query = self._query(head)
        if query is None or self._answer is not None:
            return _response("404 Not Found", "text/plain", "not found\n")
        try:
            self._answer = self._attempt.code(query)
        except NotThisSignIn as ignored:
            if str(ignored) not in self._reported:
                self._reported.add(str(ignored))
                self._report(str(ignored))
            return _response("400 Bad Request", "text/plain", "This does not belong to a sign-in that is waiting.\n")
        except SignInError as error:
            self._answer = error
            return _page("The sign-in did not work. The terminal says why.")
        return _page("Your answer has arrived. Go on in the terminal.")

    def _query(self, head: bytes) -> str | None:
        """The query of a request for the address that was given to the provider, or None."""
        lines = head.decode("latin-1").split("\r\n")
        request = lines[0].split(" ")
        hosts = [line.partition(":")[2].strip() for line in lines[1:] if line.partition(":")[0].lower() == "host"]
        if len(request) != 3 or request[0] != "GET" or hosts != [self._host]:
            return None
        path, mark, query = request[1].partition("?")
        return query if path == CALLBACK_PATH and mark and len(query) <= LONGEST_ANSWER else None


def _page(words: str) -> bytes:
    return _response("200 OK", "text/html; charset=utf-8", _PAGE.format(words=words))


def _response(status: str, kind: str, text: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{_HEADERS}\r\n"
    return head.encode() + body
