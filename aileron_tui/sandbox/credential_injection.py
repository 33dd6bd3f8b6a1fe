"""Adds a connector's credential to a request as its manifest declares. The guest never sees the credential."""

import hashlib
import re
import time
from dataclasses import field, replace
from typing import Final

from aileron_tui.core.connector import Connector, Credential
from aileron_tui.core.jsontext import JsonError, read_object
from aileron_tui.core.times import utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox import sigv4
from aileron_tui.sandbox.credentials import Credentials, FoundCredential, Secret, missing_credential
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind
from aileron_tui.sandbox.network import Headers, UpstreamRequest
from aileron_tui.sandbox.network_grant import LOCALHOST, Url, ip_literal

_MIN_MASKED_LENGTH: Final = 8
_MASK: Final = b"[credential]"
_ESCAPE: Final = re.compile(rb"(?:\\u00|%|\\(?=/))([0-9A-Fa-f]{2}|/)")
_HEX: Final = "0123456789abcdefABCDEF"
_ESCAPED: Final = {f"{a}{b}".encode(): bytes.fromhex(f"{a}{b}") for a in _HEX for b in _HEX} | {b"/": b"/"}
_AWS_HOST: Final = re.compile(r"[a-z0-9-]+\.([a-z0-9-]+)\.amazonaws\.com")


class SecretMasks:
    """The secrets this call has used, to be masked in anything an upstream echoes back.

    Very short secrets are not masked: replacing every "a" would garble the response and reveal the secret. Nothing is
    left of data that has a secret with the escapes of JSON or of URLs, because whoever reads it would see the secret.
    """

    def __init__(self) -> None:
        self._secrets: list[bytes] = []

    def add(self, text: str) -> None:
        """Adds a secret to be masked from now on."""
        data = text.encode()
        if len(data) >= _MIN_MASKED_LENGTH and data not in self._secrets:
            self._secrets.append(data)

    def mask(self, data: bytes) -> bytes:
        """Returns the data with every secret masked."""
        for secret in self._secrets:
            if secret in data:
                data = data.replace(secret, _MASK)
        if self._secrets and (b"\\" in data or b"%" in data):
            plain = _ESCAPE.sub(lambda found: _ESCAPED[found[1]], data)
            if any(secret in plain for secret in self._secrets):
                return _MASK
        return data

    def mask_text(self, text: str) -> str:
        """Same as `mask`, for text."""
        return self.mask(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def contains_secret(self, text: str) -> bool:
        """Whether the text contains a secret."""
        return self.mask_text(text) != text


@dataclass(frozen=True, slots=True)
class Injector:
    """Adds one connector's credential, that of `account` if there is one, to the requests of one call."""

    connector: Connector
    credentials: Credentials
    masks: SecretMasks
    deadline: float
    account: str = ""
    used: list[Secret] = field(default_factory=list)

    def check(self, kind: str) -> Credential:
        """Returns the declared credential; refuses a kind that the manifest does not declare."""
        declared = self.connector.credential
        if declared is None:
            raise CallRefused(_credential_denied("connector did not declare [capabilities.credential]", kind))
        if declared.kind != kind:
            raise CallRefused(_credential_denied("requested credential kind does not match connector manifest", kind))
        return declared

    def inject(self, request: UpstreamRequest, kind: str) -> UpstreamRequest:
        """Returns the request with the credential added; it replaces any header of the same name."""
        declared = self.check(kind)
        if request.url.scheme != "https" and not _loopback(request.url):
            raise CallRefused(
                _credential_denied(f"credentials are not sent to {request.url.host_port} without TLS", kind)
            )
        found = self.credentials.find(self.connector, kind, self.account, self._seconds)
        secret = found.secret
        self.used.append(secret)
        for hidden in (secret, *found.hidden):
            self.masks.add(hidden.reveal())
        match kind:
            case "oauth2":
                return _with_headers(request, (("Authorization", f"Bearer {secret.reveal()}"),))
            case "api_key":
                template = declared.format or "Bearer {key}"
                return _with_headers(
                    request, ((declared.header or "Authorization", template.replace("{key}", secret.reveal())),)
                )
            case "aws_sigv4":
                return self._signed(request, declared, found)
            case _:
                raise CallRefused(_credential_denied("this kind of credential is not supported", kind))

    def renewed(self) -> bool:
        """Replaces the credential that the service just refused; returns whether a request can be sent again.

        That is so once in a call, and only for an account whose provider gives new tokens.
        """
        refused = self.used[-1] if self.used else None
        if refused is None or len({secret.reveal() for secret in self.used}) > 1:
            return False
        return self.credentials.renew(self.connector, self.account, refused, self._seconds)

    @property
    def _seconds(self) -> float:
        return self.deadline - time.monotonic()

    def _signed(self, request: UpstreamRequest, declared: Credential, found: FoundCredential) -> UpstreamRequest:
        name = self.connector.name
        key_id, key, token = _aws_keys(name, found.secret)
        for text in (key, token):
            self.masks.add(text)
        key_id = key_id or found.access_key_id or declared.access_key_id
        host = _AWS_HOST.fullmatch(request.url.host)
        region = found.region or declared.region or (host[1] if host else "")
        if host and found.region and host[1] != found.region:
            raise CallRefused(
                missing_credential(name, declared.kind, f"the credential is for {found.region}, not for {host[1]}")
            )
        if not key_id or not region:
            raise CallRefused(missing_credential(name, declared.kind, "access_key_id or region is missing"))
        payload = hashlib.sha256(request.body).hexdigest()
        amz = [("X-Amz-Date", sigv4.timestamp(utc_now())), ("X-Amz-Content-Sha256", payload)]
        if token:
            amz.append(("X-Amz-Security-Token", token))
        ready = _with_headers(_without_headers(request, "authorization"), amz)
        scope = sigv4.SigningScope(key_id, region, declared.service)
        return _with_headers(ready, (("Authorization", sigv4.authorization(scope, key, ready, payload)),))


def _aws_keys(connector: str, secret: Secret) -> tuple[str, str, str]:
    """Returns key id, secret key and session token, from a bare secret key or the JSON of an AWS credential process."""
    text = secret.reveal()
    if not text.startswith("{"):
        return "", text, ""
    try:
        table = read_object(text)
    except JsonError:
        table = {}
    fields = (table.get("AccessKeyId", ""), table.get("SecretAccessKey"), table.get("SessionToken") or "")
    if not all(isinstance(field, str) and field.isascii() and field.isprintable() for field in fields):
        raise CallRefused(
            Failure(
                FailureKind.BINDING_FAILED,
                f"the credential of {connector} is not in the format that AWS tools print",
                f"the credential of {connector} is not in the format that AWS tools print",
                Boundary.RUNTIME,
            )
        )
    key_id, key, token = map(str, fields)
    return key_id, key, token


def _loopback(url: Url) -> bool:
    address = ip_literal(url.host)
    return url.host == LOCALHOST or (address is not None and address.is_loopback)


def _without_headers(request: UpstreamRequest, *names: str) -> UpstreamRequest:
    return replace(request, headers=tuple(header for header in request.headers if header[0].lower() not in names))


def _with_headers(request: UpstreamRequest, headers: Headers) -> UpstreamRequest:
    kept = _without_headers(request, *(name.lower() for name, _ in headers))
    return replace(kept, headers=(*kept.headers, *headers))


def _credential_denied(why: str, kind: str) -> Failure:
    return Failure(
        FailureKind.CAPABILITY_DENIED,
        f"http_request: {why}",
        f"the connector may not use a credential: {why}",
        Boundary.SANDBOX,
        details={"credential": kind[:40]},
    )
