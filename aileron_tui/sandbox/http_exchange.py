"""One `http_request` of a guest, from its wish to an answer: grant, headers, credential, redirects, all checked."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox.credential_injection import Injector
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind, megabytes
from aileron_tui.sandbox.network import UpstreamClient, UpstreamRequest, UpstreamResponse
from aileron_tui.sandbox.network_grant import Grant, follow, read_url

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_METHOD: Final = re.compile(r"[A-Z]{1,16}")
_NEVER: Final = frozenset({"CONNECT", "TRACE"})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_KEEP_METHOD: Final = frozenset({307, 308})
_MOST_REDIRECTS: Final = 10
_MOST_HEADERS: Final = 100
_LARGEST_HEADERS: Final = 32 * 1024
# How a request is framed and routed is the host's to say.
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
_BOUND_TO_ORIGIN: Final = frozenset({"authorization", "cookie", "cookie2", "www-authenticate"})


class MalformedGuestRequest(Exception):
    """The guest's JSON is not a request: the ABI answers this with -2."""


@dataclass(frozen=True, slots=True)
class GuestRequest:
    """What a guest asks for, before anything is checked."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: str
    credential: str


def read_wish(table: JsonObject) -> GuestRequest:
    """The request in a guest's JSON object; names match in any case, unknown ones are ignored, null is absent."""
    folded = {key.lower(): value for key, value in table.items() if value is not None}
    folded.update({key: value for key, value in table.items() if value is not None and key.islower()})
    headers = folded.get("headers", {})
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise MalformedGuestRequest
    wish = GuestRequest(
        _text(folded, "method") or "GET",
        _text(folded, "url"),
        tuple((name, str(value)) for name, value in headers.items()),
        _text(folded, "body"),
        _text(folded, "credential"),
    )
    if not wish.url:
        raise MalformedGuestRequest
    return wish


def _text(table: Mapping[str, Json], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise MalformedGuestRequest
    return value


@dataclass(frozen=True, slots=True)
class HttpExchange:
    """Fulfils wishes within the bounds of one call."""

    client: UpstreamClient
    grant: Grant
    injector: Injector
    methods: frozenset[str] | None
    deadline: float
    largest_request: int
    largest_response: int

    def fulfil(self, wish: GuestRequest) -> UpstreamResponse:
        """The final answer, with secrets blotted out of its body; raises Refused."""
        url = read_url(wish.url)
        self.grant.check(url)
        request = UpstreamRequest(self._method(wish.method), url, _headers(wish), self._body(wish))
        credential = wish.credential
        for _ in range(_MOST_REDIRECTS + 1):
            response = self.client.send(
                _framed(self.injector.inject(_addressed(request), credential) if credential else _addressed(request)),
                deadline=self.deadline,
                limit=self.largest_response,
            )
            location = response.headers.get("location")
            if response.status not in _REDIRECTS or location is None:
                return replace(response, body=self.injector.masks.hide(response.body))
            onward = self._onward(request, response.status, location)
            if onward.url.origin != request.url.origin:
                credential = ""
                onward = replace(onward, headers=self._unbound(onward))
            request = onward
        raise CallRefused(
            Failure(
                FailureKind.NETWORK_ERROR,
                f"more than {_MOST_REDIRECTS} redirects, the last from {request.url.place}",
                f"{request.url.place} redirects without end",
                Boundary.EXTERNAL,
            )
        )

    def _method(self, method: str) -> str:
        method = method.upper()
        if not _METHOD.fullmatch(method) or method in _NEVER:
            raise CallRefused(_bad_request("the method is not allowed", {"method": method[:40]}))
        if self.methods is not None and method not in self.methods:
            raise CallRefused(
                Failure(
                    FailureKind.CAPABILITY_DENIED,
                    f"http_request: {method} is not allowed in a preview",
                    f"the preview tried to {method}; a preview may only read",
                    Boundary.SANDBOX,
                    details={"method": method, "allowed": list[Json](sorted(self.methods))},
                )
            )
        return method

    def _body(self, wish: GuestRequest) -> bytes:
        body = wish.body.encode()
        if len(body) > self.largest_request:
            raise CallRefused(request_too_large(self.largest_request))
        return body

    def _onward(self, request: UpstreamRequest, status: int, location: str) -> UpstreamRequest:
        url = follow(request.url, _readable(location))
        self.grant.check(url)
        if self.injector.masks.touches(str(url)):
            raise CallRefused(_bad_request("a redirect carries the credential in its URL", {}))
        if status in _KEEP_METHOD or not request.changing:
            return replace(request, url=url)
        kept = tuple(header for header in request.headers if not header[0].lower().startswith("content-"))
        return UpstreamRequest(self._method("GET"), url, kept)

    def _unbound(self, request: UpstreamRequest) -> tuple[tuple[str, str], ...]:
        declared = self.injector.connector.credential
        bound = _BOUND_TO_ORIGIN | {declared.header.lower()} if declared else _BOUND_TO_ORIGIN
        return tuple(header for header in request.headers if header[0].lower() not in bound)


def _readable(location: str) -> str:
    """Header bytes come as Latin-1; some servers put plain UTF-8 there."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return location


def _headers(wish: GuestRequest) -> tuple[tuple[str, str], ...]:
    size = sum(len(name) + len(value) for name, value in wish.headers)
    if len(wish.headers) > _MOST_HEADERS or size > _LARGEST_HEADERS:
        raise CallRefused(
            _bad_request("the request has too many headers", {"headers": len(wish.headers), "bytes": size})
        )
    for name, value in wish.headers:
        if not _TOKEN.fullmatch(name) or not (value.isascii() and value.replace("\t", " ").isprintable()):
            raise CallRefused(_bad_request("the request has a header that is not allowed", {"header": name[:80]}))
    return tuple((name, value.strip()) for name, value in wish.headers if name.lower() not in _HOST_HEADERS)


def _addressed(request: UpstreamRequest) -> UpstreamRequest:
    return replace(request, headers=(("Host", request.url.authority), *request.headers))


def _framed(request: UpstreamRequest) -> UpstreamRequest:
    """The headers that no signature covers."""
    framing: list[tuple[str, str]] = [("Accept-Encoding", "identity")]
    if request.body or request.changing:
        framing.append(("Content-Length", str(len(request.body))))
    if not any(name.lower() == "user-agent" for name, _ in request.headers):
        framing.append(("User-Agent", "aileron-tui"))
    return replace(request, headers=(*request.headers, *framing))


def request_too_large(limit: int) -> Failure:
    """The guest wants to send more than is allowed."""
    return Failure(
        FailureKind.RESOURCE_LIMIT_EXCEEDED,
        f"the request is larger than {megabytes(limit)}",
        f"the connector's request is larger than {megabytes(limit)}",
        Boundary.SANDBOX,
        details={"limit": "request_body", "configured": megabytes(limit)},
    )


def _bad_request(why: str, details: JsonObject) -> Failure:
    return Failure(
        FailureKind.CONNECTOR_RUNTIME_ERROR,
        f"http_request: {why}",
        f"the connector's request was refused: {why}",
        details=details,
    )
