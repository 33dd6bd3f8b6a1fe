"""Network access for connectors: sends requests over checked connections, and limits the size of responses.

httpcore speaks HTTP; `connections` makes the connections and enforces the deadline, and `connection_pool` keeps them.
"""

import logging
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import httpcore

from aileron_tui.core.proxy_settings import ProxySettings
from aileron_tui.core.values import dataclass
from aileron_tui.files.certificate_trust import BadAuthorities, CertificateTrust
from aileron_tui.sandbox.connection_pool import ConnectionPool
from aileron_tui.sandbox.connections import CheckedBackend, Resolver, is_local, proxy_for, request_deadline, resolve
from aileron_tui.sandbox.failure import TIMEOUT, Boundary, CallRefused, Failure, FailureKind, mebibytes
from aileron_tui.sandbox.network_grant import Url
from aileron_tui.sandbox.response_body import BodyDamaged, BodyTooLarge, UnknownEncoding, read_body

Headers: TypeAlias = Sequence[tuple[str, str]]

SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_LOGGERS: Final = ("httpcore.http11", "httpcore.connection")


@dataclass(frozen=True, slots=True)
class UpstreamRequest:
    """A request to be sent to a checked URL. `test_server` is the local server that is asked in its place, if any."""

    method: str
    url: Url
    headers: Headers = ()
    body: bytes = b""
    test_server: Url | None = None

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


class UpstreamClient:
    """Sends one request at a time per thread, over pooled connections shared by all calls.

    A request that must not be sent twice always gets a new connection: the peer may have closed a pooled one in the
    meantime, and then it would be unknown whether the request arrived.
    """

    def __init__(
        self,
        resolver: Resolver = resolve,
        private_hosts: frozenset[str] = frozenset(),
        trust: CertificateTrust | None = None,
        proxies: ProxySettings | None = None,
    ) -> None:
        # At debug level httpcore logs all headers, and an upstream may echo a credential in its headers.
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.INFO)
        self._proxies = proxies or ProxySettings()
        self._backends = {
            "http": CheckedBackend(resolver, private_hosts),
            "https": CheckedBackend(resolver, private_hosts, self._proxies),
        }
        self._trust = trust or CertificateTrust()
        self._lock = threading.Lock()
        self._tls: ssl.SSLContext | None = None
        self._pools: dict[tuple[str, bool], ConnectionPool] = {}

    def send(
        self,
        request: UpstreamRequest,
        *,
        deadline: float,
        limit: int,
        once: bool = False,
        on_write: Callable[[], None] | None = None,
    ) -> UpstreamResponse:
        """Sends a request and returns the complete response; raises CallRefused.

        With `once`, not even a request that only reads is sent a second time.
        `on_write` is called before the first byte is written; if it was not called, nothing was sent.
        """
        request_deadline.at, request_deadline.on_write = deadline, on_write
        once = once or request.may_modify
        try:
            return self._send(request, once, limit)
        except httpcore.RemoteProtocolError as error:
            if not once and "disconnected without" in str(error):
                return self._retry(request, limit)
            raise CallRefused(self._network_failure(request, error)) from None
        except _NETWORK_ERRORS as error:
            raise CallRefused(self._network_failure(request, error)) from None
        finally:
            request_deadline.at, request_deadline.on_write = float("inf"), None

    def _retry(self, request: UpstreamRequest, limit: int) -> UpstreamResponse:
        """Retries a read-only request on a new connection after the peer closed the pooled one."""
        try:
            return self._send(request, True, limit)
        except _NETWORK_ERRORS as error:
            raise CallRefused(self._network_failure(request, error)) from None

    def _send(self, request: UpstreamRequest, fresh: bool, limit: int) -> UpstreamResponse:
        url = request.url
        server = request.test_server or url
        self._check_plain(server)
        http_request = httpcore.Request(
            request.method,
            httpcore.URL(scheme=server.scheme, host=server.host, port=server.port, target=url.target),
            headers=list(request.headers),
            content=request.body,
        )
        with self._pool(server.scheme, fresh).response(http_request, request_deadline.remaining()) as response:
            headers = {name.decode("ascii").lower(): value.decode("latin-1") for name, value in response.headers}
            return UpstreamResponse(response.status, headers, _checked_body(response, request, headers, limit))

    def _check_plain(self, url: Url) -> None:
        """Refuses http to a name through a proxy: nothing would show which host the proxy asked."""
        if url.scheme != "http" or is_local(url.host) or not self._proxies.plain_variable:
            return
        if not self._proxies.excepts(url.host, url.port):
            why = f"only https is sent through the proxy in {self._proxies.plain_variable}"
            raise CallRefused(
                Failure(
                    FailureKind.CAPABILITY_DENIED,
                    f"http to {url.host_port} is not allowed: {why}; use https, or list the host in NO_PROXY",
                    f"the connector may not use http for {url.host_port}: {why}",
                    Boundary.SANDBOX,
                    details={"requested": f"network:{url.host_port}"},
                )
            )

    def _pool(self, scheme: str, fresh: bool) -> ConnectionPool:
        with self._lock:
            pool = self._pools.get((scheme, fresh))
            if pool is None:
                tls = self._tls_context() if scheme == "https" else None
                pool = self._pools[scheme, fresh] = ConnectionPool(self._backends[scheme], tls, keep=not fresh)
            return pool

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            try:
                self._tls = self._trust.context()
            except BadAuthorities as error:
                text = f"no https connection can be checked: {error}"
                raise CallRefused(Failure(FailureKind.NETWORK_ERROR, text, text, Boundary.RUNTIME)) from None
        return self._tls

    def close(self) -> None:
        """Closes all pooled connections."""
        with self._lock:
            pools = list(self._pools.values())
            self._pools.clear()
        for pool in pools:
            pool.close()

    def _network_failure(self, request: UpstreamRequest, error: Exception) -> Failure:
        not_sent = isinstance(error, _NOT_SENT_ERRORS)
        retriable = not_sent or not request.may_modify
        where = self._place(request)
        if isinstance(error, httpcore.TimeoutException) and request_deadline.remaining() <= 0.001:
            return Failure(
                FailureKind.RESOURCE_LIMIT_EXCEEDED, f"{where} did not respond in time", TIMEOUT, retriable=retriable
            )
        text = str(error) or type(error).__name__
        reason = f"cannot reach {where}" if not_sent else f"{where} did not send a complete response"
        if text.startswith("certificate"):
            reason = f"cannot reach {where}: its certificate is not valid"
        return Failure(FailureKind.NETWORK_ERROR, f"{where}: {text}", reason, Boundary.EXTERNAL, retriable=retriable)

    def _place(self, request: UpstreamRequest) -> str:
        """The host of a request, and what is between it and us."""
        url = request.url
        if request.test_server:
            return f"{url.host_port} (the test server {request.test_server.host_port})"
        proxy = proxy_for(self._proxies, url.host, url.port) if url.scheme == "https" else None
        return f"{url.host_port} through the proxy {proxy.name}" if proxy else url.host_port


_NETWORK_ERRORS: Final = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError)
_NOT_SENT_ERRORS: Final = (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout)


def _checked_body(
    response: httpcore.Response, request: UpstreamRequest, headers: Mapping[str, str], limit: int
) -> bytes:
    url = request.url
    declared = "" if request.method == "HEAD" else headers.get("content-length", "")
    if declared.isdecimal() and len(declared) < 20 and int(declared) > limit:
        raise CallRefused(_too_large(url, limit))
    try:
        return read_body(response.iter_stream(), headers.get("content-encoding", ""), limit)
    except BodyTooLarge:
        raise CallRefused(_too_large(url, limit)) from None
    except BodyDamaged:
        text = f"{url.host_port} sent a compressed response that is damaged"
        raise CallRefused(Failure(FailureKind.NETWORK_ERROR, text, text, Boundary.EXTERNAL)) from None
    except UnknownEncoding as unknown:
        raise CallRefused(
            Failure(
                FailureKind.NETWORK_ERROR,
                f"{url.host_port} used the content encoding {str(unknown)[:40]}, which was not requested",
                f"{url.host_port} used a content encoding that was not requested",
                Boundary.EXTERNAL,
            )
        ) from None


def _too_large(url: Url, limit: int) -> Failure:
    return Failure(
        FailureKind.RESOURCE_LIMIT_EXCEEDED,
        f"response body from {url.host_port} is larger than {mebibytes(limit)}",
        f"the response from {url.host_port} is larger than {mebibytes(limit)}",
        Boundary.SANDBOX,
        details={"limit": "response_body", "configured": mebibytes(limit)},
    )
