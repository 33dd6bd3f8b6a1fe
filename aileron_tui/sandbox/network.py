"""Network access for connectors: connects only to checked addresses, and limits the size and time of responses.

httpcore manages the connections and speaks HTTP. This module resolves host names and enforces one deadline over all
reads and writes of a request, so that a peer cannot keep it open by sending a byte now and then. Proxy environment
variables are ignored.
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
from aileron_tui.sandbox.failure import TIMEOUT, Boundary, CallRefused, Failure, FailureKind, mebibytes
from aileron_tui.sandbox.network_grant import LOCALHOST, LOOPBACK, Address, Url, check_addresses, ip_literal

Resolver: TypeAlias = Callable[[str, int], Sequence[str]]
Headers: TypeAlias = Sequence[tuple[str, str]]

SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_MAX_CONNECTIONS: Final = 256
_MAX_IDLE_CONNECTIONS: Final = 128
_IDLE_SECONDS: Final = 5.0
_MAX_WAIT_SECONDS: Final = 3600.0
_WRITE_CHUNK: Final = 64 * 1024


class _Deadline(threading.local):
    """The deadline of the request on this thread; not stored on connections, because pooled ones outlive a request.

    `on_write` is called once, before the first byte of the request is written.
    """

    at: float = float("inf")
    on_write: Callable[[], None] | None = None

    def remaining(self) -> float:
        return self.at - time.monotonic()


_deadline = _Deadline()


@dataclass(frozen=True, slots=True)
class UpstreamRequest:
    """A request to be sent to a checked URL."""

    method: str
    url: Url
    headers: Headers = ()
    body: bytes = b""

    @property
    def may_modify(self) -> bool:
        """Whether the request may change something upstream."""
        return self.method not in SAFE_METHODS


@dataclass(frozen=True, slots=True)
class UpstreamResponse:
    """A complete response from upstream."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _DeadlineStream(httpcore.NetworkStream):
    """A socket on which every operation respects the deadline of the current request."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _translate_errors(httpcore.ReadTimeout, httpcore.ReadError):
            self._wait(timeout)
            return self._socket.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        unsent = memoryview(buffer)
        with _translate_errors(httpcore.WriteTimeout, httpcore.WriteError):
            while unsent:
                self._wait(timeout)
                if _deadline.on_write:
                    _deadline.on_write()
                    _deadline.on_write = None
                unsent = unsent[self._socket.send(unsent[:_WRITE_CHUNK]) :]

    def close(self) -> None:
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        try:
            with _translate_errors(httpcore.ConnectTimeout, httpcore.ConnectError):
                self._wait(timeout)
                return _DeadlineStream(ssl_context.wrap_socket(self._socket, server_hostname=server_hostname))
        except BaseException:
            self.close()
            raise

    def get_extra_info(self, info: str) -> Any:
        """Tells httpcore whether an idle connection is readable, which means that the peer closed it."""
        if info == "is_readable":
            return self._socket.fileno() < 0 or bool(_is_readable(self._socket))
        return None

    def _wait(self, timeout: float | None) -> None:
        remaining = min(_deadline.remaining(), timeout or _MAX_WAIT_SECONDS)
        if remaining <= 0:
            raise TimeoutError
        self._socket.settimeout(remaining)


def _is_readable(sock: socket.socket) -> bool:
    if not hasattr(select, "poll"):
        return bool(select.select([sock], [], [], 0)[0])
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    return bool(poller.poll(0))


@contextlib.contextmanager
def _translate_errors(timeout: type[Exception], failed: type[Exception]) -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise timeout from None
    except OSError as error:
        raise failed(_error_text(error)) from None


def _error_text(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate: {error.verify_message}"
    return error.strerror or type(error).__name__


class _CheckedBackend(httpcore.NetworkBackend):
    """Resolves a name once, checks every address, and connects to one of them."""

    def __init__(self, resolver: Resolver, private_hosts: frozenset[str]) -> None:
        self._resolver = resolver
        self._private_hosts = private_hosts

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
        last_error: Exception = httpcore.ConnectError("no address")
        for index, address in enumerate(addresses):
            remaining = _deadline.remaining() / (len(addresses) - index)
            if remaining <= 0:
                raise httpcore.ConnectTimeout
            try:
                with _translate_errors(httpcore.ConnectTimeout, httpcore.ConnectError):
                    sock = socket.create_connection((str(address), port), min(remaining, timeout or remaining), source)
                    for option in (*(socket_options or ()), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)):
                        sock.setsockopt(*option)
                    return _DeadlineStream(sock)
            except (httpcore.ConnectTimeout, httpcore.ConnectError) as error:
                last_error = error
        raise last_error

    def _addresses(self, host: str, port: int) -> Sequence[Address]:
        address = ip_literal(host)
        if address is not None:
            return (address,)
        if host == LOCALHOST:
            return LOOPBACK
        addresses = [ipaddress.ip_address(found) for found in self._resolve(host, port)]
        host_port = f"{host}:{port}"
        if host_port not in self._private_hosts:
            check_addresses(host_port, addresses)
        return addresses

    def _resolve(self, host: str, port: int) -> Sequence[str]:
        """Runs the system resolver on its own thread, because it cannot be interrupted; gives up at the deadline."""
        results: queue.SimpleQueue[Sequence[str] | OSError] = queue.SimpleQueue()

        def run_resolver() -> None:
            try:
                results.put(self._resolver(host, port))
            except (OSError, UnicodeError) as error:
                results.put(error if isinstance(error, OSError) else OSError(str(error)))

        threading.Thread(target=run_resolver, name="sandbox-resolver", daemon=True).start()
        try:
            found = results.get(timeout=max(_deadline.remaining(), 0))
        except queue.Empty:
            raise httpcore.ConnectTimeout from None
        if isinstance(found, OSError) or not found:
            raise httpcore.ConnectError("cannot resolve the host name")
        return found


def resolve(host: str, port: int) -> Sequence[str]:
    """Returns the addresses of a host name from the system resolver."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class UpstreamClient:
    """Sends one request at a time per thread, over pooled connections shared by all calls.

    A request that may change something always gets a new connection: the peer may have closed a pooled one in the
    meantime, and then it would be unknown whether the request arrived.
    """

    def __init__(
        self,
        resolver: Resolver = resolve,
        private_hosts: frozenset[str] = frozenset(),
        ca_file: str | None = None,
    ) -> None:
        # At debug level httpcore logs all headers, and an upstream may echo a credential in its headers.
        for name in ("httpcore.http11", "httpcore.connection"):
            logging.getLogger(name).setLevel(logging.INFO)
        self._backend = _CheckedBackend(resolver, private_hosts)
        self._ca_file = ca_file
        self._lock = threading.Lock()
        self._tls: ssl.SSLContext | None = None
        self._pools: dict[tuple[str, bool], httpcore.ConnectionPool] = {}

    def send(
        self, request: UpstreamRequest, *, deadline: float, limit: int, on_write: Callable[[], None] | None = None
    ) -> UpstreamResponse:
        """Sends a request and returns the complete response; raises CallRefused.

        `on_write` is called before the first byte is written; if it was not called, nothing was sent.
        """
        _deadline.at, _deadline.on_write = deadline, on_write
        try:
            return self._send(request, request.may_modify, limit)
        except httpcore.RemoteProtocolError as error:
            if not request.may_modify and "disconnected without" in str(error):
                return self._retry(request, limit)
            raise CallRefused(_network_failure(request, error)) from None
        except _NETWORK_ERRORS as error:
            raise CallRefused(_network_failure(request, error)) from None
        finally:
            _deadline.at, _deadline.on_write = float("inf"), None

    def _retry(self, request: UpstreamRequest, limit: int) -> UpstreamResponse:
        """Retries a read-only request on a new connection after the peer closed the pooled one."""
        try:
            return self._send(request, True, limit)
        except _NETWORK_ERRORS as error:
            raise CallRefused(_network_failure(request, error)) from None

    def _send(self, request: UpstreamRequest, fresh: bool, limit: int) -> UpstreamResponse:
        url = request.url
        http_request = httpcore.Request(
            request.method,
            httpcore.URL(scheme=url.scheme, host=url.host, port=url.port, target=url.target),
            headers=list(request.headers),
            content=request.body,
            extensions={"timeout": {"pool": max(_deadline.remaining(), 0)}},
        )
        response = self._pool(url.scheme, fresh).handle_request(http_request)
        try:
            headers = {name.decode("ascii").lower(): value.decode("latin-1") for name, value in response.headers}
            _check_encoding(url, headers)
            return UpstreamResponse(response.status, headers, _read_body(response, request, headers, limit))
        finally:
            response.close()

    def _pool(self, scheme: str, fresh: bool) -> httpcore.ConnectionPool:
        with self._lock:
            pool = self._pools.get((scheme, fresh))
            if pool is None:
                pool = self._pools[scheme, fresh] = httpcore.ConnectionPool(
                    ssl_context=self._tls_context() if scheme == "https" else None,
                    max_connections=_MAX_CONNECTIONS,
                    max_keepalive_connections=0 if fresh else _MAX_IDLE_CONNECTIONS,
                    keepalive_expiry=_IDLE_SECONDS,
                    network_backend=self._backend,
                )
            return pool

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context(cafile=self._ca_file or certifi.where())
        return self._tls

    def close(self) -> None:
        """Closes all pooled connections."""
        with self._lock:
            pools = list(self._pools.values())
            self._pools.clear()
        for pool in pools:
            pool.close()


_NETWORK_ERRORS: Final = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError)
_NOT_SENT_ERRORS: Final = (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout)


def _read_body(response: httpcore.Response, request: UpstreamRequest, headers: Mapping[str, str], limit: int) -> bytes:
    declared = "" if request.method == "HEAD" else headers.get("content-length", "")
    if declared.isdecimal() and len(declared) < 20 and int(declared) > limit:
        raise CallRefused(_too_large(request.url, limit))
    body = bytearray()
    for part in response.iter_stream():
        body += part
        if len(body) > limit:
            raise CallRefused(_too_large(request.url, limit))
    return bytes(body)


def _check_encoding(url: Url, headers: Mapping[str, str]) -> None:
    """Refuses compressed responses: they were not requested, and could decompress to any size."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise CallRefused(
            Failure(
                FailureKind.NETWORK_ERROR,
                f"{url.host_port} used the content encoding {encoding[:40]}, which was not requested",
                f"{url.host_port} sent a compressed response, which was not requested",
                Boundary.EXTERNAL,
            )
        )


def _too_large(url: Url, limit: int) -> Failure:
    return Failure(
        FailureKind.RESOURCE_LIMIT_EXCEEDED,
        f"response body from {url.host_port} is larger than {mebibytes(limit)}",
        f"the response from {url.host_port} is larger than {mebibytes(limit)}",
        Boundary.SANDBOX,
        details={"limit": "response_body", "configured": mebibytes(limit)},
    )


def _network_failure(request: UpstreamRequest, error: Exception) -> Failure:
    host_port = request.url.host_port
    not_sent = isinstance(error, _NOT_SENT_ERRORS)
    retriable = not_sent or not request.may_modify
    if isinstance(error, httpcore.TimeoutException) and _deadline.remaining() <= 0.001:
        return Failure(
            FailureKind.RESOURCE_LIMIT_EXCEEDED, f"{host_port} did not respond in time", TIMEOUT, retriable=retriable
        )
    text = str(error) or type(error).__name__
    reason = f"cannot reach {host_port}" if not_sent else f"{host_port} did not send a complete response"
    if text.startswith("certificate"):
        reason = f"cannot reach {host_port}: its certificate is not valid"
    return Failure(FailureKind.NETWORK_ERROR, f"{host_port}: {text}", reason, Boundary.EXTERNAL, retriable=retriable)
