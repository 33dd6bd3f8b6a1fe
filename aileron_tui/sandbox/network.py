"""The host's side of the network: connections made only to checked addresses, and answers bounded in size and time.

httpcore keeps the connections and speaks HTTP; this module decides what a name resolves to, and enforces one deadline
over all reads and writes of a request, so that a peer that sends a byte now and then gains nothing. Proxy variables
of the environment are not honoured.
"""

import contextlib
import ipaddress
import logging
import queue
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import certifi
import httpcore

from aileron_tui.core.values import dataclass
from aileron_tui.sandbox.failure import TIMEOUT, Boundary, CallRefused, Failure, FailureKind, megabytes
from aileron_tui.sandbox.network_grant import LOCALHOST, LOOPBACK, Address, Url, check_addresses, literal

Resolver: TypeAlias = Callable[[str, int], Sequence[str]]
Headers: TypeAlias = Sequence[tuple[str, str]]

SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_MOST_CONNECTIONS: Final = 256
_KEPT_CONNECTIONS: Final = 128
_IDLE_SECONDS: Final = 5.0
_LONGEST_WAIT: Final = 3600.0
_WRITE_CHUNK: Final = 64 * 1024


class _Budget(threading.local):
    """The deadline of the request this thread is making; pooled connections outlive requests, so it is not theirs."""

    until: float = float("inf")

    def left(self) -> float:
        return self.until - time.monotonic()


_budget = _Budget()


@dataclass(frozen=True, slots=True)
class UpstreamRequest:
    """What is put on the wire, to a URL that was checked."""

    method: str
    url: Url
    headers: Headers = ()
    body: bytes = b""

    @property
    def changing(self) -> bool:
        """Whether upstream may do something because of it."""
        return self.method not in SAFE_METHODS


@dataclass(frozen=True, slots=True)
class UpstreamResponse:
    """A whole answer from upstream."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Stream(httpcore.NetworkStream):
    """A socket on which every operation ends by the deadline of the current request."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _translated(httpcore.ReadTimeout, httpcore.ReadError):
            self._wait(timeout)
            return self._socket.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        rest = memoryview(buffer)
        with _translated(httpcore.WriteTimeout, httpcore.WriteError):
            while rest:
                self._wait(timeout)
                rest = rest[self._socket.send(rest[:_WRITE_CHUNK]) :]

    def close(self) -> None:
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        try:
            with _translated(httpcore.ConnectTimeout, httpcore.ConnectError):
                self._wait(timeout)
                return _Stream(ssl_context.wrap_socket(self._socket, server_hostname=server_hostname))
        except BaseException:
            self.close()
            raise

    def get_extra_info(self, info: str) -> Any:
        """httpcore asks whether an idle connection has become readable, which means that the peer closed it."""
        if info == "is_readable":
            return self._socket.fileno() < 0 or bool(_readable(self._socket))
        return None

    def _wait(self, timeout: float | None) -> None:
        left = min(_budget.left(), timeout or _LONGEST_WAIT)
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)


def _readable(sock: socket.socket) -> bool:
    if not hasattr(select, "poll"):
        return bool(select.select([sock], [], [], 0)[0])
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    return bool(poller.poll(0))


@contextlib.contextmanager
def _translated(timeout: type[Exception], failed: type[Exception]) -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise timeout from None
    except OSError as error:
        raise failed(_words(error)) from None


def _words(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate: {error.verify_message}"
    return error.strerror or type(error).__name__


class _CheckedBackend(httpcore.NetworkBackend):
    """Resolves a name once, checks every address it got, and connects to one of those."""

    def __init__(self, resolver: Resolver, private: frozenset[str]) -> None:
        self._resolver = resolver
        self._private = private

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        addresses = self._addresses(host, port)
        source = (local_address, 0) if local_address else None
        problem: Exception = httpcore.ConnectError("no address")
        for index, address in enumerate(addresses):
            left = _budget.left() / (len(addresses) - index)
            if left <= 0:
                raise httpcore.ConnectTimeout
            try:
                with _translated(httpcore.ConnectTimeout, httpcore.ConnectError):
                    sock = socket.create_connection((str(address), port), min(left, timeout or left), source)
                    for option in (*(socket_options or ()), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)):
                        sock.setsockopt(*option)
                    return _Stream(sock)
            except (httpcore.ConnectTimeout, httpcore.ConnectError) as error:
                problem = error
        raise problem

    def _addresses(self, host: str, port: int) -> Sequence[Address]:
        address = literal(host)
        if address is not None:
            return (address,)
        if host == LOCALHOST:
            return LOOPBACK
        addresses = [ipaddress.ip_address(found) for found in self._resolve(host, port)]
        place = f"{host}:{port}"
        if place not in self._private:
            check_addresses(place, addresses)
        return addresses

    def _resolve(self, host: str, port: int) -> Sequence[str]:
        """The system's resolver cannot be interrupted, so it runs aside and is left behind at the deadline."""
        answer: queue.SimpleQueue[Sequence[str] | OSError] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answer.put(self._resolver(host, port))
            except (OSError, UnicodeError) as error:
                answer.put(error if isinstance(error, OSError) else OSError(str(error)))

        threading.Thread(target=ask, name="sandbox-resolver", daemon=True).start()
        try:
            found = answer.get(timeout=max(_budget.left(), 0))
        except queue.Empty:
            raise httpcore.ConnectTimeout from None
        if isinstance(found, OSError) or not found:
            raise httpcore.ConnectError("the name does not resolve")
        return found


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a name by the system's resolver."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class UpstreamClient:
    """Sends one request at a time per thread, over pooled connections shared by all calls.

    A request that may change something always gets a fresh connection: on a pooled one the peer may have hung up
    meanwhile, and then nobody could say whether the request had arrived.
    """

    def __init__(
        self,
        resolver: Resolver = resolve,
        private_hosts: frozenset[str] = frozenset(),
        ca_file: str | None = None,
    ) -> None:
        # At debug level httpcore writes out whole header lists, and an upstream may echo a credential in its headers.
        for name in ("httpcore.http11", "httpcore.connection"):
            logging.getLogger(name).setLevel(logging.INFO)
        self._backend = _CheckedBackend(resolver, private_hosts)
        self._ca_file = ca_file
        self._lock = threading.Lock()
        self._tls: ssl.SSLContext | None = None
        self._pools: dict[tuple[str, bool], httpcore.ConnectionPool] = {}

    def send(self, request: UpstreamRequest, *, deadline: float, limit: int) -> UpstreamResponse:
        """The answer, read whole; raises Refused."""
        _budget.until = deadline
        try:
            return self._send(request, request.changing, limit)
        except httpcore.RemoteProtocolError as error:
            if not request.changing and "disconnected without" in str(error):
                return self._again(request, limit)
            raise CallRefused(_network_failure(request, error)) from None
        except _TROUBLE as error:
            raise CallRefused(_network_failure(request, error)) from None
        finally:
            _budget.until = float("inf")

    def _again(self, request: UpstreamRequest, limit: int) -> UpstreamResponse:
        """A read on a kept connection that the peer had just closed is asked once more on a new one."""
        try:
            return self._send(request, True, limit)
        except _TROUBLE as error:
            raise CallRefused(_network_failure(request, error)) from None

    def _send(self, request: UpstreamRequest, fresh: bool, limit: int) -> UpstreamResponse:
        url = request.url
        sent = httpcore.Request(
            request.method,
            httpcore.URL(scheme=url.scheme, host=url.host, port=url.port, target=url.target),
            headers=list(request.headers),
            content=request.body,
            extensions={"timeout": {"pool": max(_budget.left(), 0)}},
        )
        response = self._pool(url.scheme, fresh).handle_request(sent)
        try:
            headers = {name.decode("ascii").lower(): value.decode("latin-1") for name, value in response.headers}
            _refuse_encoded(url, headers)
            return UpstreamResponse(response.status, headers, _whole(response, request, headers, limit))
        finally:
            response.close()

    def _pool(self, scheme: str, fresh: bool) -> httpcore.ConnectionPool:
        with self._lock:
            pool = self._pools.get((scheme, fresh))
            if pool is None:
                pool = self._pools[scheme, fresh] = httpcore.ConnectionPool(
                    ssl_context=self._context() if scheme == "https" else None,
                    max_connections=_MOST_CONNECTIONS,
                    max_keepalive_connections=0 if fresh else _KEPT_CONNECTIONS,
                    keepalive_expiry=_IDLE_SECONDS,
                    network_backend=self._backend,
                )
            return pool

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context(cafile=self._ca_file or certifi.where())
        return self._tls

    def close(self) -> None:
        """Closes the connections that are kept."""
        with self._lock:
            pools = list(self._pools.values())
            self._pools.clear()
        for pool in pools:
            pool.close()


_TROUBLE: Final = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError)
_BEFORE_SENDING: Final = (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout)


def _whole(response: httpcore.Response, request: UpstreamRequest, headers: Mapping[str, str], limit: int) -> bytes:
    declared = "" if request.method == "HEAD" else headers.get("content-length", "")
    if declared.isdecimal() and len(declared) < 20 and int(declared) > limit:
        raise CallRefused(_too_large(request.url, limit))
    body = bytearray()
    for part in response.iter_stream():
        body += part
        if len(body) > limit:
            raise CallRefused(_too_large(request.url, limit))
    return bytes(body)


def _refuse_encoded(url: Url, headers: Mapping[str, str]) -> None:
    """Compressed answers were not asked for; unpacking them could grow a small answer without bound."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise CallRefused(
            Failure(
                FailureKind.NETWORK_ERROR,
                f"{url.place} answered with content encoding {encoding[:40]}, which was not asked for",
                f"{url.place} sent a compressed answer that was not asked for",
                Boundary.EXTERNAL,
            )
        )


def _too_large(url: Url, limit: int) -> Failure:
    return Failure(
        FailureKind.RESOURCE_LIMIT_EXCEEDED,
        f"response body from {url.place} is larger than {megabytes(limit)}",
        f"the answer from {url.place} is larger than {megabytes(limit)}",
        Boundary.SANDBOX,
        details={"limit": "response_body", "configured": megabytes(limit)},
    )


def _network_failure(request: UpstreamRequest, error: Exception) -> Failure:
    place = request.url.place
    before = isinstance(error, _BEFORE_SENDING)
    retriable = before or not request.changing
    if isinstance(error, httpcore.TimeoutException) and _budget.left() <= 0.001:
        return Failure(
            FailureKind.RESOURCE_LIMIT_EXCEEDED, f"{place} did not answer in time", TIMEOUT, retriable=retriable
        )
    what = str(error) or type(error).__name__
    line = f"cannot reach {place}" if before else f"{place} broke off its answer"
    if what.startswith("certificate"):
        line = f"cannot reach {place}: its certificate is not valid"
    return Failure(FailureKind.NETWORK_ERROR, f"{place}: {what}", line, Boundary.EXTERNAL, retriable=retriable)
