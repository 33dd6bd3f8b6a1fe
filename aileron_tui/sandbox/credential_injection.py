"""Puts a connector's credential into a request, by the rules of its manifest; nothing of it reaches the guest."""

import hashlib
import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from aileron_tui.core.connector import Connector, Credential
from aileron_tui.core.jsontext import JsonError, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox import sigv4
from aileron_tui.sandbox.credentials import Binding, Credentials, Secret, missing
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind
from aileron_tui.sandbox.network import Headers, UpstreamRequest
from aileron_tui.sandbox.network_grant import LOCALHOST, Url, literal

_SHORTEST_MASKED: Final = 8
_MASK: Final = b"[credential]"
_AWS_HOST: Final = re.compile(r"[a-z0-9-]+\.([a-z0-9-]+)\.amazonaws\.com")


class SecretMasks:
    """The secrets this call has used, to be blotted out of whatever an upstream echoes.

    Very short secrets are not masked: replacing every "a" would destroy the answer and say what the secret is.
    """

    def __init__(self) -> None:
        self._secrets: list[bytes] = []

    def add(self, text: str) -> None:
        """From now on this text is blotted out."""
        data = text.encode()
        if len(data) >= _SHORTEST_MASKED and data not in self._secrets:
            self._secrets.append(data)

    def hide(self, data: bytes) -> bytes:
        """The data without any secret."""
        for secret in self._secrets:
            if secret in data:
                data = data.replace(secret, _MASK)
        return data

    def hide_text(self, text: str) -> str:
        """As `hide`, for text."""
        return self.hide(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def touches(self, text: str) -> bool:
        """Whether a secret stands in this text."""
        return self.hide_text(text) != text


@dataclass(frozen=True, slots=True)
class Injector:
    """The credential of one connector for the requests of one call."""

    connector: Connector
    credentials: Credentials
    masks: SecretMasks
    deadline: float

    def check(self, kind: str) -> Credential:
        """Refuses a kind of credential that the manifest does not declare."""
        declared = self.connector.credential
        if declared is None:
            raise CallRefused(_denied("connector did not declare [capabilities.credential]", kind))
        if declared.kind != kind:
            raise CallRefused(_denied("requested credential kind does not match connector manifest", kind))
        return declared

    def inject(self, request: UpstreamRequest, kind: str) -> UpstreamRequest:
        """The request with the credential in it, in place of any header of the same name."""
        declared = self.check(kind)
        if request.url.scheme != "https" and not _loopback(request.url):
            raise CallRefused(_denied(f"a credential is not sent to {request.url.place} without TLS", kind))
        binding, secret = self.credentials.find(self.connector.name, kind, self.deadline - time.monotonic())
        self.masks.add(secret.reveal())
        match kind:
            case "oauth2":
                return _with(request, (("Authorization", f"Bearer {secret.reveal()}"),))
            case "api_key":
                form = declared.format or "Bearer {key}"
                return _with(request, ((declared.header or "Authorization", form.replace("{key}", secret.reveal())),))
            case "aws_sigv4":
                return self._signed(request, declared, binding, secret)
            case _:
                raise CallRefused(_denied("this kind of credential is not supported", kind))

    def _signed(
        self, request: UpstreamRequest, declared: Credential, binding: Binding, secret: Secret
    ) -> UpstreamRequest:
        name = self.connector.name
        key_id, key, token = _aws_keys(name, secret)
        for text in (key, token):
            self.masks.add(text)
        key_id = key_id or binding.access_key_id or declared.access_key_id
        found = _AWS_HOST.fullmatch(request.url.host)
        region = binding.region or declared.region or (found[1] if found else "")
        if found and binding.region and found[1] != binding.region:
            raise CallRefused(missing(name, declared.kind, f"the binding is for {binding.region}, not for {found[1]}"))
        if not key_id or not region:
            raise CallRefused(missing(name, declared.kind, "access_key_id or region is not given"))
        payload = hashlib.sha256(request.body).hexdigest()
        amz = [("X-Amz-Date", sigv4.timestamp(datetime.now(UTC))), ("X-Amz-Content-Sha256", payload)]
        if token:
            amz.append(("X-Amz-Security-Token", token))
        ready = _with(_without(request, "authorization"), amz)
        scope = sigv4.SigningScope(key_id, region, declared.service)
        return _with(ready, (("Authorization", sigv4.authorization(scope, key, ready, payload)),))


def _aws_keys(connector: str, secret: Secret) -> tuple[str, str, str]:
    """The bare secret key, or the JSON that the AWS tools print for a credential process."""
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
                f"the credential of {connector} is not in the form AWS tools print",
                f"the credential of {connector} is not in the form AWS tools print",
                Boundary.RUNTIME,
            )
        )
    key_id, key, token = map(str, fields)
    return key_id, key, token


def _loopback(url: Url) -> bool:
    address = literal(url.host)
    return url.host == LOCALHOST or (address is not None and address.is_loopback)


def _without(request: UpstreamRequest, *names: str) -> UpstreamRequest:
    return replace(request, headers=tuple(header for header in request.headers if header[0].lower() not in names))


def _with(request: UpstreamRequest, headers: Headers) -> UpstreamRequest:
    kept = _without(request, *(name.lower() for name, _ in headers))
    return replace(kept, headers=(*kept.headers, *headers))


def _denied(why: str, kind: str) -> Failure:
    return Failure(
        FailureKind.CAPABILITY_DENIED,
        f"http_request: {why}",
        f"the connector may not use a credential: {why}",
        Boundary.SANDBOX,
        details={"credential": kind[:40]},
    )
