"""HTTP to the provider of an account: over TLS, without redirects, and bounded in time and size.

SignInError
├── SignInCancelled  the person did not want to, or did nothing in time
└── SignInAgain      the provider no longer accepts what is stored
"""

import ssl
from typing import TYPE_CHECKING, Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonError, JsonLimits, JsonObject, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.files.certificate_trust import BadAuthorities, certificate_trust
from aileron_tui.sandbox.failure import CallRefused
from aileron_tui.sandbox.network_grant import LOCALHOST, Url, ip_literal, read_url

if TYPE_CHECKING:
    import httpx

SECONDS: Final = 20.0
"""How long a provider has for one answer, all of it."""

LARGEST_REPLY: Final = 256 * 1024

_FORM: Final = "application/x-www-form-urlencoded"
_HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "aileron-tui"}
_JSON_LIMITS: Final = JsonLimits(size=LARGEST_REPLY, depth=16, count=5000)


class SignInError(AileronError):
    """An account cannot be signed in to, or its token cannot be renewed."""


class SignInCancelled(SignInError):
    """Nobody signed in, on purpose or not."""


class SignInAgain(SignInError):
    """The provider no longer accepts the stored tokens, so only a person can go on."""


@dataclass(frozen=True, slots=True)
class ProviderReply:
    """What a provider answered. Its body can contain tokens, so it appears in no text."""

    url: Url
    status: int
    content_type: str
    body: bytes

    def __repr__(self) -> str:
        return f"ProviderReply({self.status} from {self.url.host_port})"

    def table(self) -> JsonObject:
        """The JSON object of the body; raises SignInError for anything else."""
        if self.content_type in {"text/html", "application/xhtml+xml"}:
            raise self.unexpected(f"{self.url.host_port} answered {self.status} with a web page")
        try:
            return read_object(self.body, _JSON_LIMITS)
        except JsonError:  # its text could quote the body
            raise self.unexpected(f"{self.url.host_port} answered {self.status} without a JSON object") from None

    def unexpected(self, why: str) -> SignInError:
        """The error for a reply that makes no sense here."""
        hint = "Try again later. If it stays, the address in the connector's manifest may be wrong."
        return SignInError(f"{self.url} did not answer as a sign-in service does", why, hint)


def provider_url(address: str) -> Url:
    """Reads the address of a provider: https, or http on this machine; raises SignInError."""
    try:
        url = read_url(address)
    except CallRefused as refused:
        why = refused.failure.message.partition(": ")[2]
        raise SignInError("the provider's address is not valid", why, "Check the connector's manifest.") from None
    if url.scheme != "https" and not is_loopback(url):
        why = f"{url.host_port} is not on this machine, and tokens are not sent without TLS"
        raise SignInError("the provider's address is not https", why, "Check the connector's manifest.")
    return url


def is_loopback(url: Url) -> bool:
    """Whether a URL is on this machine."""
    address = ip_literal(url.host)
    return url.host == LOCALHOST or (address is not None and address.is_loopback)


def fetch(address: str, form: str | None = None, seconds: float = SECONDS) -> ProviderReply:
    """Sends a form, or reads an address if there is none; raises SignInError if there is no complete reply."""
    import asyncio  # noqa: PLC0415  # only who signs in, or renews a token, pays for it

    return asyncio.run(_fetch(provider_url(address), form, seconds))


async def _fetch(url: Url, form: str | None, seconds: float) -> ProviderReply:
    import asyncio  # noqa: PLC0415

    import httpx  # noqa: PLC0415

    headers = _HEADERS if form is None else {**_HEADERS, "Content-Type": _FORM}
    secure = url.scheme == "https"
    context = _authorities() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        async with (
            asyncio.timeout(max(seconds, 0)),
            # A proxy could read what is not encrypted, so the environment counts only for https.
            httpx.AsyncClient(verify=context, trust_env=secure, timeout=seconds) as client,
            client.stream("GET" if form is None else "POST", str(url), content=form, headers=headers) as response,
        ):
            return ProviderReply(url, response.status_code, _content_type(response), await _body(response, url))
    except (TimeoutError, httpx.TimeoutException):
        raise _no_answer(url, f"it did not answer within {seconds:.3g} s") from None
    except (ValueError, ImportError, httpx.InvalidURL):  # the address itself was checked
        hint = "Set HTTPS_PROXY to an address such as http://proxy.example:3128, or unset it."
        raise SignInError("cannot use the proxy in HTTPS_PROXY", "its address is not supported", hint) from None
    except (httpx.HTTPError, httpx.StreamError, OSError) as error:
        raise _no_answer(url, _reason(error)) from None


def _authorities() -> ssl.SSLContext:
    try:
        return certificate_trust().context()
    except BadAuthorities as error:
        raise SignInError(error.title, error.detail, error.hint) from None


def _content_type(response: "httpx.Response") -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


async def _body(response: "httpx.Response", url: Url) -> bytes:
    if 300 <= response.status_code < 400:
        why = f"it answered {response.status_code}, and redirects are not followed with tokens"
        raise SignInError(f"{url} leads somewhere else", why, "Check the addresses in the connector's manifest.")
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > LARGEST_REPLY:
            raise _no_answer(url, f"its answer is larger than {LARGEST_REPLY // 1024} KiB")
    return bytes(body)


def _reason(error: Exception) -> str:
    text = str(error).partition("\n")[0][:200]
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return (
            f"its certificate is not valid: {text.partition('certificate verify failed: ')[2].partition(' (_ssl')[0]}"
        )
    return text or type(error).__name__


def _no_answer(url: Url, why: str) -> SignInError:
    return SignInError(f"cannot reach {url.host_port}", why, "Check your connection, and try again.")
