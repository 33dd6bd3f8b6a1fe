"""An HTTP connection to a gate or a daemon, with limits on the size of replies and readable errors."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final
from weakref import WeakSet

import httpx

from aileron_tui import __version__
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, canonical, read_object
from aileron_tui.core.listed_items import read_listed
from aileron_tui.runtime.errors import InvalidReply, NoGate, NoReply, RuntimeFault, rejected
from aileron_tui.runtime.port_owner import check_peer, foreign_listener, is_local
from aileron_tui.runtime.token_redaction import TokenRedactor

_REPLY_LIMITS: Final = JsonLimits(size=256 * 1024 * 1024, depth=80, count=20_000_000)
_DEFAULT_SECONDS: Final = 30.0
_CONNECT_SECONDS: Final = 3.0
_WHOLE_FACTOR: Final = 4
"""The time allowed for a whole reply, as a multiple of the time allowed for each part."""

_SOCKET_EVENTS: Final = frozenset(
    {"connection.connect_tcp.complete", "connection.connect_unix_socket.complete", "connection.start_tls.complete"}
)

Query = Mapping[str, str | int | list[str]]


class HttpConnection:
    """One connection. `peer` is what messages call the other side; `transport` lets tests replace the network.

    `silence` is how long a stream may be silent before it counts as broken. `own_user_only` refuses a listener on this
    machine that belongs to neither this user nor root. With `failures_are_results`, a failed action is returned as a
    result instead of raised as a refusal. `redact` removes secrets from text that the other side sent. With
    `unix_socket`, the connection is made through that socket instead of the port in the URL.
    """

    def __init__(  # noqa: PLR0913  # everything that describes the other side
        self,
        url: str,
        *,
        peer: str = "gate",
        hint: str = "",
        silence: float = 50.0,
        secret: str = "",
        own_user_only: bool = False,
        failures_are_results: bool = True,
        unix_socket: Path | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url
        self._unix_socket = unix_socket
        self._peer = peer
        self._hint = hint
        self._silence = silence
        self.redact = TokenRedactor(secret)
        self._own_user_only = own_user_only
        self._failures_are_results = failures_are_results
        self._closed = False
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._http = httpx.Client(
            base_url=url,
            headers={
                "User-Agent": f"aileron-tui/{__version__}",
                "Accept": "application/json",
                "Accept-Encoding": "identity",
            },
            timeout=httpx.Timeout(_DEFAULT_SECONDS, connect=_CONNECT_SECONDS),
            transport=transport or (httpx.HTTPTransport(uds=str(unix_socket), verify=False) if unix_socket else None),
            trust_env=False,
            follow_redirects=False,
            # Reading every certificate of the system takes longer than the call, and plain HTTP needs none.
            verify=url.startswith("https:"),
        )

    def close(self) -> None:
        """Closes the connection. Nothing is sent after this, and exchanges in other threads end with an error."""
        self._closed = True
        for connection in tuple(self._sockets):
            _shut_down(connection)
        self._http.close()

    def ask(  # noqa: PLR0913  # the parts of an HTTP request
        self,
        method: str,
        path: str,
        body: JsonObject | bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        query: Query | None = None,
        seconds: float = _DEFAULT_SECONDS,
        lenient_items: bool = False,
        is_list: bool = False,
    ) -> JsonObject:
        """Sends a request and returns the reply; raises Rejected if refused. `seconds` is the timeout for each part.

        With `lenient_items`, an item of the reply that cannot be parsed becomes None instead of failing the reply. With
        `is_list`, the reply is an array, which is returned as `items`.
        """
        with self._redacted_errors():
            with self._exchange(method, path, body, headers or {}, query, seconds) as response:
                content = self._read_body(response, seconds)
            if is_list and response.is_success:
                content = b'{"items":%b}' % content
            return self._read(response, content, lenient_items=lenient_items)

    def send(
        self, method: str, path: str, body: JsonObject, *, headers: Mapping[str, str], seconds: float = _DEFAULT_SECONDS
    ) -> None:
        """Sends a request whose reply does not matter; raises unless its status is a success."""
        with self._redacted_errors():
            with self._exchange(method, path, body, headers, None, seconds) as response:
                if response.is_success:
                    return  # the body does not matter, even if it never comes
                content = self._read_body(response, seconds)
            raise rejected(response.status_code, self._read(response, content), peer=self._peer)

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str], query: Query | None = None) -> Iterator[Iterator[bytes]]:
        """The bytes of an event stream as they arrive."""
        wanted = {**headers, "Accept": "text/event-stream"}
        with self._redacted_errors(), self._exchange("GET", path, None, wanted, query, self._silence) as response:
            if response.status_code != 200:
                self._read(response, self._read_body(response, _DEFAULT_SECONDS))
            if _type(response) != "text/event-stream":
                raise InvalidReply(f"the {self._peer} sent a reply that is not an event stream")
            yield response.iter_bytes()

    @contextmanager
    def _exchange(  # noqa: PLR0913, PLR0917  # the parts of an HTTP request
        self,
        method: str,
        path: str,
        body: JsonObject | bytes | None,
        headers: Mapping[str, str],
        query: Query | None,
        seconds: float,
    ) -> Iterator[httpx.Response]:
        if self._closed:
            raise NoReply("the connection was closed")
        content = canonical(body) if isinstance(body, dict) else body
        kind = {"Content-Type": "application/json"} if content is not None else {}
        with (
            self._translated_errors(),
            self._http.stream(
                method,
                path,
                content=content,
                headers=_encoded({**kind, **headers}),
                params=dict(query) if query else None,
                timeout=httpx.Timeout(seconds, connect=_CONNECT_SECONDS),
                extensions={"trace": self._on_trace},
            ) as response,
        ):
            yield response

    def _on_trace(self, name: str, info: Mapping[str, Any]) -> None:
        """Checks and remembers each new socket, so that `close` can end it while another thread waits on it."""
        if name in _SOCKET_EVENTS:
            connection = info["return_value"].get_extra_info("socket")
            if self._unix_socket is not None:
                check_peer(connection, self._unix_socket)
            elif self._own_user_only and (user := foreign_listener(connection)) is not None:
                connection.close()
                detail = f"it belongs to user {user}, not to you or root"
                raise NoGate(f"refused to connect to the program at {self.url}", detail, self._hint)
            elif self._http.base_url.host == "localhost" and not is_local(connection):
                connection.close()
                detail = "the name localhost points to another machine"
                raise NoGate(f"refused to connect to the program at {self.url}", detail, "Use 127.0.0.1 instead.")
            self._sockets.add(connection)
            if self._closed:
                _shut_down(connection)

    def _read_body(self, response: httpx.Response, seconds: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        end = monotonic() + _WHOLE_FACTOR * seconds
        for part in response.iter_bytes():
            size += len(part)
            if monotonic() > end:
                raise httpx.ReadTimeout("the reply is arriving too slowly")
            if size > _REPLY_LIMITS.size:
                raise InvalidReply(f"the {self._peer}'s reply is too large", f"more than {_REPLY_LIMITS.size:,} bytes")
            parts.append(part)
        return b"".join(parts)

    def _read(self, response: httpx.Response, content: bytes, *, lenient_items: bool = False) -> JsonObject:
        status, kind = response.status_code, _type(response)
        if status == 204 and not content:
            return {}
        if kind != "application/json":
            if response.is_success:
                detail = f"HTTP {status}, {kind}"
                raise InvalidReply(f"the {self._peer} sent a reply that is not JSON", detail)
            raise rejected(status, {}, peer=self._peer)
        try:
            body = (read_listed if lenient_items and response.is_success else read_object)(content, _REPLY_LIMITS)
        except JsonError as error:
            raise InvalidReply(f"the {self._peer}'s reply cannot be read", str(error)) from None
        failure = body.get("error")
        # A refusal has a code; the failure of an action that ran has a class.
        is_result = self._failures_are_results and isinstance(failure, dict) and "class" in failure
        if not response.is_success and not is_result:
            body = self._redact_refusal(body)
            raise rejected(status, body, response.headers.get("retry-after", ""), peer=self._peer)
        return body

    def _redact_refusal(self, refusal: JsonObject) -> JsonObject:
        """Redacts the texts of a refusal. A request that is part of it stays unchanged."""
        texts = {name: refusal[name] for name in ("error", "state") if name in refusal}
        return refusal | {name: self._redact_value(value) for name, value in texts.items()}

    def _redact_value(self, value: Json) -> Json:
        match value:
            case str():
                return self.redact(value)
            case list():
                return [self._redact_value(part) for part in value]
            case dict():
                return {name: self._redact_value(part) for name, part in value.items()}
        return value

    @contextmanager
    def _redacted_errors(self) -> Iterator[None]:
        try:
            yield
        except RuntimeFault as fault:
            fault.title, fault.detail = self.redact(fault.title), self.redact(fault.detail)
            raise

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NoGate(f"cannot connect to {self._unix_socket or self.url}", str(error), self._hint) from None
        except httpx.TimeoutException:
            hint = "Check that it is running."
            raise NoReply(f"the {self._peer} at {self.url} did not reply in time", hint=hint) from None
        except httpx.LocalProtocolError:  # its message would quote our headers
            raise NoReply(f"the {self._peer} at {self.url} could not be called", hint="Try again.") from None
        except httpx.DecodingError as error:
            raise InvalidReply(f"the {self._peer}'s reply cannot be decompressed", str(error)) from None
        except (httpx.RequestError, httpx.InvalidURL) as error:
            raise NoReply(f"the connection to {self.url} was lost", str(error), "Try again.") from None
        except RuntimeError:
            if not self._closed:
                raise
            raise NoReply("the connection was closed") from None


def _shut_down(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _type(response: httpx.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as UTF-8; httpx alone would require ASCII."""
    return [(name.encode(), value.encode()) for name, value in headers.items()]
