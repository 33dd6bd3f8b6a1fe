"""One `http_request` from a guest: checks its host, headers, credential and redirects, and returns the response."""

import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final, Protocol

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox.credential_injection import Injector
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind, mebibytes
from aileron_tui.sandbox.network import UpstreamClient, UpstreamRequest, UpstreamResponse
from aileron_tui.sandbox.network_grant import NetworkGrant, Url, read_redirect, read_url
from aileron_tui.sandbox.response_body import ACCEPTED_ENCODING
from aileron_tui.sandbox.sent_changes import SentChanges
from aileron_tui.sandbox.upstream_retries import UpstreamRetries

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_METHOD: Final = re.compile(r"[A-Z]{1,16}")
_FORBIDDEN_METHODS: Final = frozenset({"CONNECT", "TRACE"})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_METHOD_KEEPING_REDIRECTS: Final = frozenset({307, 308})
_MAX_REDIRECTS: Final = 10
_UNAUTHORIZED: Final = 401
_MAX_HEADERS: Final = 100
_MAX_HEADERS_SIZE: Final = 32 * 1024
# Only the host sets the headers that frame and route a request.
_HOST_HEADERS: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_SAME_ORIGIN_HEADERS: Final = frozenset({"authorization", "cookie", "cookie2", "www-authenticate"})


class MalformedGuestRequest(Exception):
    """The guest's JSON is not a request; the ABI returns -2 for this."""


@dataclass(frozen=True, slots=True)
class GuestRequest:
    """A request as the guest sent it, before any checks."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: str
    credential: str


def read_guest_request(table: JsonObject) -> GuestRequest:
    """Reads a request from a guest's JSON. Field names are case-insensitive; unknown fields and nulls are ignored."""
    fields = {key.lower(): value for key, value in table.items() if value is not None}
    fields.update({key: value for key, value in table.items() if value is not None and key.islower()})
    headers = fields.get("headers", {})
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise MalformedGuestRequest
    guest_request = GuestRequest(
        _text(fields, "method") or "GET",
        _text(fields, "url"),
        tuple((name, str(value)) for name, value in headers.items()),
        _text(fields, "body"),
        _text(fields, "credential"),
    )
    if not guest_request.url:
        raise MalformedGuestRequest
    return guest_request


def _text(table: Mapping[str, Json], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise MalformedGuestRequest
    return value


class Recording(Protocol):
    """A recording that is being made or replayed. `credential` is the kind that would be added, "" for none."""

    def answer(self, request: UpstreamRequest, credential: str) -> UpstreamResponse | None:
        """The recorded answer, or None if the request is to be sent."""

    def add(self, request: UpstreamRequest, credential: str, response: UpstreamResponse) -> None:
        """Takes note of what was answered to a request that was sent."""


@dataclass(frozen=True, slots=True)
class HttpExchange:
    """Sends the requests of one call, within its limits.

    `test_servers` are local servers that are asked in place of granted hosts, by `host:port`.
    """

    client: UpstreamClient
    grant: NetworkGrant
    injector: Injector
    methods: frozenset[str] | None
    deadline: float
    max_request_size: int
    max_response_size: int
    changes: SentChanges
    retries: UpstreamRetries
    test_servers: Mapping[str, Url] = field(default_factory=dict)
    recording: Recording | None = None

    def send(self, guest_request: GuestRequest) -> UpstreamResponse:
        """Sends a request and returns the final response with secrets masked; raises CallRefused."""
        url = read_url(guest_request.url)
        self.grant.check(url)
        request = UpstreamRequest(
            self._checked_method(guest_request.method),
            url,
            _checked_headers(guest_request),
            self._checked_body(guest_request),
        )
        with self.changes.sending(request) as responses:
            responses.append(self._followed(request, guest_request.credential))
        return responses[0]

    def _followed(self, request: UpstreamRequest, credential: str) -> UpstreamResponse:
        """The response to a request, after redirects."""
        for _ in range(_MAX_REDIRECTS + 1):
            response = self._answer(request, credential)
            # A request that was answered 401 changed nothing, so it can be sent again.
            if response.status == _UNAUTHORIZED and credential and self.injector.renewed():
                response = self._answer(request, credential)
            location = response.headers.get("location")
            if response.status not in _REDIRECTS or location is None:
                return replace(response, body=self.injector.masks.mask(response.body))
            redirected = self._redirected(request, response.status, location)
            if redirected.url.origin != request.url.origin:
                credential = ""
                redirected = replace(redirected, headers=self._cross_origin_headers(redirected))
            request = redirected
        raise CallRefused(
            Failure(
                FailureKind.NETWORK_ERROR,
                f"more than {_MAX_REDIRECTS} redirects, the last from {request.url.host_port}",
                f"{request.url.host_port} redirects too many times",
                Boundary.EXTERNAL,
            )
        )

    def _answer(self, request: UpstreamRequest, credential: str) -> UpstreamResponse:
        """The answer to one request, recorded or from the network, after repeats that the service asked for."""
        return self.retries.send(request, lambda: self._exchanged(request, credential))

    def _exchanged(self, request: UpstreamRequest, credential: str) -> UpstreamResponse:
        if self.recording and (recorded := self.recording.answer(request, credential)):
            return recorded
        response = self._sent(request, credential)
        if self.recording:
            self.recording.add(self._masked(request), credential, self._masked_response(response))
        return response

    def _sent(self, request: UpstreamRequest, credential: str) -> UpstreamResponse:
        routed = replace(request, test_server=self.test_servers.get(request.url.host_port))
        counts = self.changes.counts(request)
        response = self.client.send(
            _with_framing_headers(
                self.injector.inject(_with_host_header(routed), credential) if credential else _with_host_header(routed)
            ),
            deadline=self.deadline,
            limit=self.max_response_size,
            once=counts,
            on_write=self.changes.written if counts else None,
        )
        if counts:
            self.changes.answered(request, response.status)
        return response

    def _masked(self, request: UpstreamRequest) -> UpstreamRequest:
        mask = self.injector.masks.mask_text
        headers = tuple((name, mask(value)) for name, value in request.headers)
        url = replace(request.url, target=mask(request.url.target))
        return replace(request, url=url, headers=headers, body=self.injector.masks.mask(request.body))

    def _masked_response(self, response: UpstreamResponse) -> UpstreamResponse:
        headers = {name: self.injector.masks.mask_text(value) for name, value in response.headers.items()}
        return replace(response, headers=headers, body=self.injector.masks.mask(response.body))

    def _checked_method(self, method: str) -> str:
        method = method.upper()
        if not _METHOD.fullmatch(method) or method in _FORBIDDEN_METHODS:
            raise CallRefused(_bad_request("the method is not allowed", {"method": method[:40]}))
        if self.methods is not None and method not in self.methods:
            raise CallRefused(
                Failure(
                    FailureKind.CAPABILITY_DENIED,
                    f"http_request: {method} is not allowed in a preview",
                    f"the preview tried to {method}; previews may only read",
                    Boundary.SANDBOX,
                    details={"method": method, "allowed": list[Json](sorted(self.methods))},
                )
            )
        return method

    def _checked_body(self, guest_request: GuestRequest) -> bytes:
        body = guest_request.body.encode()
        if len(body) > self.max_request_size:
            raise CallRefused(request_too_large(self.max_request_size))
        return body

    def _redirected(self, request: UpstreamRequest, status: int, location: str) -> UpstreamRequest:
        url = read_redirect(request.url, _decoded_location(location))
        self.grant.check(url)
        if self.injector.masks.contains_secret(str(url)):
            raise CallRefused(_bad_request("a redirect contains the credential in its URL", {}))
        if status in _METHOD_KEEPING_REDIRECTS or not request.may_modify:
            return replace(request, url=url)
        kept = tuple(header for header in request.headers if not header[0].lower().startswith("content-"))
        return UpstreamRequest(self._checked_method("GET"), url, kept)

    def _cross_origin_headers(self, request: UpstreamRequest) -> tuple[tuple[str, str], ...]:
        declared = self.injector.connector.credential
        bound = _SAME_ORIGIN_HEADERS | {declared.header.lower()} if declared else _SAME_ORIGIN_HEADERS
        return tuple(header for header in request.headers if header[0].lower() not in bound)


def _decoded_location(location: str) -> str:
    """Decodes a Location header; header bytes arrive as Latin-1, but some servers send UTF-8."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return location


def _checked_headers(guest_request: GuestRequest) -> tuple[tuple[str, str], ...]:
    size = sum(len(name) + len(value) for name, value in guest_request.headers)
    if len(guest_request.headers) > _MAX_HEADERS or size > _MAX_HEADERS_SIZE:
        raise CallRefused(
            _bad_request("the request has too many headers", {"headers": len(guest_request.headers), "bytes": size})
        )
    for name, value in guest_request.headers:
        if not _TOKEN.fullmatch(name) or not (value.isascii() and value.replace("\t", " ").isprintable()):
            raise CallRefused(_bad_request("the request has an invalid header", {"header": name[:80]}))
    return tuple((name, value.strip()) for name, value in guest_request.headers if name.lower() not in _HOST_HEADERS)


def _with_host_header(request: UpstreamRequest) -> UpstreamRequest:
    return replace(request, headers=(("Host", request.url.authority), *request.headers))


def _with_framing_headers(request: UpstreamRequest) -> UpstreamRequest:
    """Adds the headers that are not covered by a signature."""
    framing: list[tuple[str, str]] = [("Accept-Encoding", ACCEPTED_ENCODING)]
    if request.body or request.may_modify:
        framing.append(("Content-Length", str(len(request.body))))
    if not any(name.lower() == "user-agent" for name, _ in request.headers):
        framing.append(("User-Agent", "aileron-tui"))
    return replace(request, headers=(*request.headers, *framing))


def request_too_large(limit: int) -> Failure:
    """The failure for a request that exceeds the size limit."""
    return Failure(
        FailureKind.RESOURCE_LIMIT_EXCEEDED,
        f"the request is larger than {mebibytes(limit)}",
        f"the connector's request is larger than {mebibytes(limit)}",
        Boundary.SANDBOX,
        details={"limit": "request_body", "configured": mebibytes(limit)},
    )


def _bad_request(why: str, details: JsonObject) -> Failure:
    return Failure(
        FailureKind.CONNECTOR_RUNTIME_ERROR,
        f"http_request: {why}",
        f"the connector's request was refused: {why}",
        details=details,
    )
