"""AWS Signature Version 4, for requests whose whole body is in memory."""

import hashlib
import hmac
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, unquote

from aileron_tui.core.values import dataclass
from aileron_tui.sandbox.network import UpstreamRequest

_ALGORITHM: Final = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class SigningScope:
    """Access key, region and service of a signature; does not contain the secret."""

    access_key_id: str
    region: str
    service: str


def timestamp(moment: datetime) -> str:
    """Formats the value of X-Amz-Date."""
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def authorization(scope: SigningScope, secret: str, request: UpstreamRequest, payload: str) -> str:
    """Returns the Authorization header, which signs all headers of the request, including Host and X-Amz-Date.

    `payload` is the SHA-256 of the body in hex.
    """
    signed = sorted((name.lower(), " ".join(value.split())) for name, value in request.headers)
    names = ";".join(name for name, _ in signed)
    date = next(value for name, value in signed if name == "x-amz-date")
    path, _, query = request.url.target.partition("?")
    canonical = "\n".join(
        (
            request.method,
            path if scope.service == "s3" else quote(path, safe="/-_.~"),
            _query(query),
            *(f"{name}:{value}" for name, value in signed),
            "",
            names,
            payload,
        )
    )
    credential = f"{date[:8]}/{scope.region}/{scope.service}/aws4_request"
    text = "\n".join((_ALGORITHM, date, credential, hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{secret}".encode()
    for part in credential.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return f"{_ALGORITHM} Credential={scope.access_key_id}/{credential}, SignedHeaders={names}, Signature={signature}"


def _query(query: str) -> str:
    pairs = (part.partition("=") for part in query.split("&") if part)
    encoded = sorted((_encoded(name), _encoded(value)) for name, _, value in pairs)
    return "&".join(f"{name}={value}" for name, value in encoded)


def _encoded(text: str) -> str:
    return quote(unquote(text), safe="-_.~")
