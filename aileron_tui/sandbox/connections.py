"""Connections for connectors: only to checked addresses, and one deadline over all reads and writes of a request.

A peer cannot keep a request open by sending a byte now and then. With a proxy, the proxy resolves the host name, so the
address is not checked here; the certificate still proves which host answers.
"""

import contextlib
import ipaddress
import queue
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import httpcore

from aileron_tui.core.proxy_settings import BadProxy, Proxy, ProxySettings
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind
from aileron_tui.sandbox.network_grant import LOCALHOST, LOOPBACK, Address, check_addresses, ip_literal
from aileron_tui.sandbox.proxy_tunnel import TunnelRefused, open_tunnel

Resolver: TypeAlias = Callable[[str, int], Sequence[str]]

_MAX_WAIT_SECONDS: Final = 3600.0
_WRITE_CHUNK: Final = 64 * 1024


class Deadline(threading.local):
    """The deadline of the request on this thread; not stored on connections, because pooled ones outlive a request.

    `on_write` is called once, before the first byte of the request is written.
    """

    at: float = float("inf")
    on_write: Callable[[], None] | None = None

    def remaining(self) -> float:
        return self.at - time.monotonic()


request_deadline: Final = Deadline()


class DeadlineStream(httpcore.NetworkStream):
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
                if request_deadline.on_write:
                    request_deadline.on_write()
                    request_deadline.on_write = None
                unsent = unsent[self._socket.send(unsent[:_WRITE_CHUNK]) :]

    def close(self) -> None:
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        try:
            with _translate_errors(httpcore.ConnectTimeout, httpcore.ConnectError):
                self._wait(timeout)
                return DeadlineStream(ssl_context.wrap_socket(self._socket, server_hostname=server_hostname))
        except BaseException:
            self.close()
            raise

    def get_extra_info(self, info: str) -> Any:
        """Tells httpcore whether an idle connection is readable, which means that the peer closed it."""
        if info == "is_readable":
            return self._socket.fileno() < 0 or bool(_is_readable(self._socket))
        return None

    def _wait(self, timeout: float | None) -> None:
        remaining = min(request_deadline.remaining(), timeout or _MAX_WAIT_SECONDS)
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


class CheckedBackend(httpcore.NetworkBackend):
    """Resolves a name once, checks every address, and connects to one of them.

    With `proxies`, a name is reached through the proxy that is set for it. Addresses and this machine never are.
    """

    def __init__(self, resolver: Resolver, private_hosts: frozenset[str], proxies: ProxySettings | None = None) -> None:
        self._resolver = resolver
        self._private_hosts = private_hosts
        self._proxies = proxies or ProxySettings()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        options = (*(socket_options or ()), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1))
        source = (local_address, 0) if local_address else None
        proxy = proxy_for(self._proxies, host, port)
        if proxy is None:
            return DeadlineStream(_connected(self._addresses(host, port), port, timeout, source, options))
        addresses = self._resolved(proxy.host, proxy.port)
        sock = _connected(addresses, proxy.port, timeout, source, options)
        try:
            with _translate_errors(httpcore.ConnectTimeout, httpcore.ConnectError):
                open_tunnel(sock, proxy, f"{host}:{port}", request_deadline.remaining)
        except TunnelRefused as refused:
            sock.close()
            raise CallRefused(_no_tunnel(proxy, f"{host}:{port}", str(refused))) from None
        except BaseException:
            sock.close()
            raise
        return DeadlineStream(sock)

    def _addresses(self, host: str, port: int) -> Sequence[Address]:
        addresses = self._resolved(host, port)
        host_port = f"{host}:{port}"
        if not is_local(host) and host_port not in self._private_hosts:
            check_addresses(host_port, addresses)
        return addresses

    def _resolved(self, host: str, port: int) -> Sequence[Address]:
        address = ip_literal(host)
        if address is not None:
            return (address,)
        if host == LOCALHOST:
            return LOOPBACK
        return [ipaddress.ip_address(found) for found in self._resolve(host, port)]

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
            found = results.get(timeout=max(request_deadline.remaining(), 0))
        except queue.Empty:
            raise httpcore.ConnectTimeout from None
        if isinstance(found, OSError) or not found:
            raise httpcore.ConnectError("cannot resolve the host name")
        return found


def _connected(
    addresses: Sequence[Address],
    port: int,
    timeout: float | None,
    source: tuple[str, int] | None,
    options: Iterable[Any],
) -> socket.socket:
    """Connects to the first of the addresses that accepts; each gets its share of the time."""
    last_error: Exception = httpcore.ConnectError("no address")
    for index, address in enumerate(addresses):
        remaining = request_deadline.remaining() / (len(addresses) - index)
        if remaining <= 0:
            raise httpcore.ConnectTimeout
        try:
            with _translate_errors(httpcore.ConnectTimeout, httpcore.ConnectError):
                sock = socket.create_connection((str(address), port), min(remaining, timeout or remaining), source)
                for option in options:
                    sock.setsockopt(*option)
                return sock
        except (httpcore.ConnectTimeout, httpcore.ConnectError) as error:
            last_error = error
    raise last_error


def is_local(host: str) -> bool:
    """Whether a host is an address, or this machine: it is granted as it is, and reached directly."""
    return host == LOCALHOST or ip_literal(host) is not None


def proxy_for(proxies: ProxySettings, host: str, port: int) -> Proxy | None:
    """The proxy through which a host is reached with https, or None; raises CallRefused if it cannot be used."""
    if is_local(host):
        return None
    try:
        return proxies.proxy_for(host, port)
    except BadProxy as error:
        text = str(error)
        raise CallRefused(Failure(FailureKind.NETWORK_ERROR, text, text, Boundary.RUNTIME, retriable=True)) from None


def _no_tunnel(proxy: Proxy, host_port: str, why: str) -> Failure:
    text = f"cannot reach {host_port} through the proxy {proxy.name}: {why}"
    return Failure(FailureKind.NETWORK_ERROR, text, text, Boundary.EXTERNAL, retriable=True)


def resolve(host: str, port: int) -> Sequence[str]:
    """Returns the addresses of a host name from the system resolver."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
