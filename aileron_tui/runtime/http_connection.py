"""HTTP to a gate or a daemon: one connection, bounded answers, and failures in words for people."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Final
from weakref import WeakSet

import httpx

from aileron_tui import __version__
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, canonical, read_listed, read_object
from aileron_tui.runtime.errors import NoGate, RuntimeFault, Unanswered, Untrustworthy, rejected
from aileron_tui.runtime.port_owner import stranger, within
from aileron_tui.runtime.token_redaction import TokenRedactor

_ANSWER: Final = JsonLimits(size=256 * 1024 * 1024, depth=80, count=20_000_000)
_USUAL: Final = 30.0
_CONNECT: Final = 3.0
_WHOLE: Final = 4
"""How many times longer than for its next part one may wait for the whole of an answer that comes in drops."""

_OPENED: Final = frozenset({"connection.connect_tcp.complete", "connection.start_tls.complete"})

Query = Mapping[str, str | int | list[str]]


class HttpConnection:
    """One connection. `called` is what the other side is called in words; `transport` lets tests stand in for it.

    `silence` is how long a stream may say nothing before it counts as dead. `ours` says that nobody but we and the
    system may listen there, if it is on this machine. With `outcomes`, the failure of an action that ran is an answer
    and not a refusal. `untold` takes out of words what must not be repeated, even if the other side does.
    """

    def __init__(  # noqa: PLR0913  # everything about the other side is told here once
        self,
        url: str,
        *,
        called: str = "gate",
        hint: str = "",
        silence: float = 50.0,
        secret: str = "",
        ours: bool = False,
        outcomes: bool = True,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url
        self._called = called
        self._hint = hint
        self._silence = silence
        self.untold = TokenRedactor(secret)
        self._ours = ours
        self._outcomes = outcomes
        self._closed = False
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._http = httpx.Client(
            base_url=url,
            headers={
                "User-Agent": f"aileron-tui/{__version__}",
                "Accept": "application/json",
                "Accept-Encoding": "identity",
            },
            timeout=httpx.Timeout(_USUAL, connect=_CONNECT),
            transport=transport,
            trust_env=False,
            follow_redirects=False,
            # Reading every certificate of the system takes longer than the call, and plain HTTP needs none.
            verify=url.startswith("https:"),
        )

    def close(self) -> None:
        """Hangs up; whatever another thread waits for ends."""
        self._closed = True
        for connection in tuple(self._sockets):
            _hang_up(connection)
        self._http.close()

    def ask(  # noqa: PLR0913  # the parts of an HTTP request
        self,
        method: str,
        path: str,
        body: JsonObject | bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        query: Query | None = None,
        seconds: float = _USUAL,
        listed: bool = False,
    ) -> JsonObject:
        """One question and its answer, for each part of which it may take `seconds`; a refusal is raised.

        With `listed`, an item of the answer that cannot be read is None and does not take the others with it.
        """
        with self._discreet():
            with self._exchange(method, path, body, headers or {}, query, seconds) as response:
                content = self._bounded(response, seconds)
            return self._read(response, content, listed=listed)

    def tell(
        self, method: str, path: str, body: JsonObject, *, headers: Mapping[str, str], seconds: float = _USUAL
    ) -> None:
        """Says something. Whatever is answered with a status of success is success; anything else is raised."""
        with self._discreet():
            with self._exchange(method, path, body, headers, None, seconds) as response:
                if response.is_success:
                    return  # what comes with it, or fails to come, changes nothing
                content = self._bounded(response, seconds)
            raise rejected(response.status_code, self._read(response, content), called=self._called)

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str], query: Query | None = None) -> Iterator[Iterator[bytes]]:
        """The bytes of an answer that goes on."""
        wanted = {**headers, "Accept": "text/event-stream"}
        with self._discreet(), self._exchange("GET", path, None, wanted, query, self._silence) as response:
            if response.status_code != 200:
                self._read(response, self._bounded(response, _USUAL))
            if _type(response) != "text/event-stream":
                raise Untrustworthy(f"the {self._called} answered something else than events")
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
        content = canonical(body) if isinstance(body, dict) else body
        kind = {"Content-Type": "application/json"} if content is not None else {}
        with (
            self._explained(),
            self._http.stream(
                method,
                path,
                content=content,
                headers=_encoded({**kind, **headers}),
                params=dict(query) if query else None,
                timeout=httpx.Timeout(seconds, connect=_CONNECT),
                extensions={"trace": self._note},
            ) as response,
        ):
            yield response

    def _note(self, name: str, info: Mapping[str, Any]) -> None:
        """Keeps every connection as it is made, so that it can be ended while another thread waits on it."""
        if name in _OPENED:
            connection = info["return_value"].get_extra_info("socket")
            if self._ours and (user := stranger(connection)) is not None:
                connection.close()
                words = f"user {user} listens there, and neither you nor the system"
                raise NoGate(f"nothing is told to whoever answers at {self.url}", words, self._hint)
            if self._http.base_url.host == "localhost" and not within(connection):
                connection.close()
                words = "on this machine the name localhost leads to another one"
                raise NoGate(f"nothing is told to whoever answers at {self.url}", words, "Write 127.0.0.1 instead.")
            self._sockets.add(connection)
            if self._closed:
                _hang_up(connection)

    def _bounded(self, response: httpx.Response, seconds: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        end = monotonic() + _WHOLE * seconds
        for part in response.iter_bytes():
            size += len(part)
            if monotonic() > end:
                raise httpx.ReadTimeout("it comes in drops")
            if size > _ANSWER.size:
                raise Untrustworthy(f"the {self._called}'s answer is too large", f"more than {_ANSWER.size:,} bytes")
            parts.append(part)
        return b"".join(parts)

    def _read(self, response: httpx.Response, content: bytes, *, listed: bool = False) -> JsonObject:
        status, kind = response.status_code, _type(response)
        if status == 204 and not content:
            return {}
        if kind != "application/json":
            if response.is_success:
                detail = f"HTTP {status}, {kind}"
                raise Untrustworthy(f"the {self._called} answered something else than JSON", detail)
            raise rejected(status, {}, called=self._called)
        try:
            body = (read_listed if listed and response.is_success else read_object)(content, _ANSWER)
        except JsonError as error:
            raise Untrustworthy(f"the {self._called}'s answer cannot be read", str(error)) from None
        failure = body.get("error")
        # Only a refusal has a code; the failure of an action that ran has a class.
        ran = self._outcomes and isinstance(failure, dict) and "class" in failure
        if not response.is_success and not ran:
            body = self._without(body)
            raise rejected(status, body, response.headers.get("retry-after", ""), called=self._called)
        return body

    def _without(self, refusal: JsonObject) -> JsonObject:
        """A refusal whose words hold no secret; a request that comes with it is no word of it."""
        words = {name: refusal[name] for name in ("error", "state") if name in refusal}
        return refusal | {name: self._spoken(value) for name, value in words.items()}

    def _spoken(self, value: Json) -> Json:
        match value:
            case str():
                return self.untold(value)
            case list():
                return [self._spoken(part) for part in value]
            case dict():
                return {name: self._spoken(part) for name, part in value.items()}
        return value

    @contextmanager
    def _discreet(self) -> Iterator[None]:
        try:
            yield
        except RuntimeFault as fault:
            fault.title, fault.detail = self.untold(fault.title), self.untold(fault.detail)
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NoGate(f"nobody answers at {self.url}", str(error), self._hint) from None
        except httpx.TimeoutException:
            hint = "Look whether it is still well."
            raise Unanswered(f"the {self._called} at {self.url} did not answer in time", hint=hint) from None
        except httpx.LocalProtocolError:  # its words would quote our headers
            raise Unanswered(f"the {self._called} at {self.url} could not be asked", hint="Try again.") from None
        except httpx.DecodingError as error:
            raise Untrustworthy(f"the {self._called}'s answer cannot be unpacked", str(error)) from None
        except (httpx.RequestError, httpx.InvalidURL) as error:
            raise Unanswered(f"the connection to {self.url} broke", str(error), "Try again.") from None
        except RuntimeError:
            if not self._closed:
                raise
            raise Unanswered("the connection was closed") from None


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _type(response: httpx.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as UTF-8; of themselves they would have to be ASCII."""
    return [(name.encode(), value.encode()) for name, value in headers.items()]
