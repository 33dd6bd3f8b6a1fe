"""Downloads what a user names by its https address, within limits on size, time, type and redirects.

The certificate is checked against the authorities that `certificate_trust` names. A proxy from the environment only
carries the encrypted connection, so it can read or change nothing.
"""

import os
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from aileron_tui.core.proxy_settings import BadProxy, read_proxy_settings
from aileron_tui.core.values import dataclass
from aileron_tui.files.certificate_trust import BadAuthorities, certificate_trust
from aileron_tui.packages.archive import LARGEST_ARCHIVE
from aileron_tui.sandbox.connector_package import PackageError
from aileron_tui.sandbox.failure import CallRefused, mebibytes
from aileron_tui.sandbox.network_grant import Url, read_redirect, read_url

if TYPE_CHECKING:
    import httpx

Progress = Callable[[int, int | None], None]

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS: Final = 5
_HEADERS: Final = {"Accept-Encoding": "identity", "User-Agent": "aileron-tui"}


class DownloadError(PackageError):
    """A download that failed or was refused."""


@dataclass(frozen=True, slots=True)
class DownloadRules:
    """What a download may do. `seconds` is for everything together, `idle_seconds` for each wait."""

    follow_redirects: bool = False
    seconds: float = 300
    idle_seconds: float = 20
    largest: int = LARGEST_ARCHIVE


@dataclass(frozen=True, slots=True)
class Download:
    """What was downloaded, and the address that it finally came from."""

    data: bytes
    address: str


def download(address: str, rules: DownloadRules | None = None, progress: Progress | None = None) -> Download:
    """Fetches an address; raises DownloadError. `progress` is called with the bytes so far and those expected."""
    import asyncio  # noqa: PLC0415  # only downloads pay for these imports

    url = _read_address(address)
    rules = rules or DownloadRules()
    return asyncio.run(_download(url, rules, progress or (lambda _size, _expected: None)))


def _read_address(address: str) -> Url:
    try:
        url = read_url(address)
    except CallRefused as refused:
        why = refused.failure.message.partition(": ")[2]
        raise DownloadError(f"cannot download {address}", why, "Check the address.") from None
    if url.scheme != "https":
        hint = "Use an https:// address, or download it yourself and name the file."
        raise DownloadError(f"cannot download {address}", "only https addresses are allowed", hint)
    return url


async def _download(url: Url, rules: DownloadRules, progress: Progress) -> Download:
    import asyncio  # noqa: PLC0415

    import httpx  # noqa: PLC0415

    shown = url
    try:
        async with (
            asyncio.timeout(rules.seconds),
            httpx.AsyncClient(verify=_tls(), timeout=rules.idle_seconds, headers=_HEADERS) as client,
        ):
            for _ in range(_MOST_REDIRECTS + 1):
                async with client.stream("GET", str(url)) as response:
                    if response.status_code not in _REDIRECTS:
                        return Download(await _body(response, url, rules, progress), str(url))
                    url = _redirected(url, response, rules)
    except TimeoutError:
        raise _failed(shown, url, f"it took longer than {rules.seconds:.3g} s") from None
    except (ValueError, ImportError, httpx.InvalidURL):  # the address itself was checked
        hint = "Set HTTPS_PROXY to an address such as http://proxy.example:3128, or unset it."
        raise DownloadError(f"cannot use the proxy {proxy_name()}", "its address is not supported", hint) from None
    except (httpx.HTTPError, httpx.StreamError, OSError) as error:
        raise _failed(shown, url, _reason(error, url, rules)) from None
    raise _failed(shown, url, f"it was redirected more than {_MOST_REDIRECTS} times")


def _tls() -> ssl.SSLContext:
    try:
        return certificate_trust().context()
    except BadAuthorities as error:
        raise DownloadError(error.title, error.detail, error.hint) from None


def _redirected(url: Url, response: "httpx.Response", rules: DownloadRules) -> Url:
    location = response.headers.get("location", "")
    try:
        target = read_redirect(url, location)
    except CallRefused as refused:
        why = f"{url.host_port} redirects to an address that is not valid: {refused.failure.message}"
        raise DownloadError(f"cannot download {url}", why) from None
    if target.scheme != "https":
        raise DownloadError(f"cannot download {url}", f"{url.host_port} redirects to {target}, which is not encrypted")
    if target.origin != url.origin and not rules.follow_redirects:
        why = f"{url.host_port} redirects to another host, {target.host_port}"
        hint = f"If you trust {target.host_port} to deliver it, run this again with --follow-redirects."
        raise DownloadError(f"cannot download {url}", why, hint)
    return target


async def _body(response: "httpx.Response", url: Url, rules: DownloadRules, progress: Progress) -> bytes:
    """The whole body. Its type and declared size are checked before any of it is read."""
    if response.status_code != 200:
        hint = "Check the address, and that this release exists." if response.status_code == 404 else ""
        raise DownloadError(f"cannot download {url}", f"{url.host_port} answered {response.status_code}", hint)
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in {"text/html", "application/xhtml+xml"}:
        hint = "This is probably the page about the file. Use the address of the file itself."
        raise DownloadError(f"cannot download {url}", f"{url.host_port} sent a web page", hint)
    if kind.startswith(("image/", "audio/", "video/", "multipart/")):
        raise DownloadError(f"cannot download {url}", f"{url.host_port} sent {kind[:80]}", "Check the address.")
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        why = f"{url.host_port} used the content encoding {encoding[:40]}, which was not requested"
        raise DownloadError(f"cannot download {url}", why, "Download it yourself and name the file.")
    declared = response.headers.get("content-length", "")
    expected = int(declared) if declared.isdecimal() and len(declared) < 16 else None
    if expected is not None and expected > rules.largest:
        raise _too_large(url, rules)
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > rules.largest:
            raise _too_large(url, rules)
        progress(len(body), expected)
    return bytes(body)


def _too_large(url: Url, rules: DownloadRules) -> DownloadError:
    return DownloadError(f"cannot download {url}", f"it is larger than {mebibytes(rules.largest)}")


def _failed(asked: Url, url: Url, why: str) -> DownloadError:
    where = "" if url.origin == asked.origin else f" (redirected to {url.host_port})"
    return DownloadError(
        f"cannot download {asked}{where}", why, "Check the address and your connection, and try again."
    )


def _reason(error: Exception, url: Url, rules: DownloadRules) -> str:
    import httpx  # noqa: PLC0415

    text = str(error).partition("\n")[0][:200]
    if isinstance(error, httpx.TimeoutException):
        return f"{url.host_port} did not answer for {rules.idle_seconds:g} s"
    if isinstance(error, httpx.ProxyError):
        return f"the proxy {proxy_name()} refused: {text}"
    through = f" through the proxy {proxy_name()}" if proxy_name() else ""
    if "CERTIFICATE_VERIFY_FAILED" in text:
        why = text.partition("certificate verify failed: ")[2].partition(" (_ssl")[0]
        return f"the certificate of {url.host_port}{through} is not valid: {why}"
    if isinstance(error, httpx.ConnectError):
        return f"cannot connect to {url.host_port}{through}: {text}"
    return f"{url.host_port} did not send a complete response: {text or type(error).__name__}"


def proxy_name() -> str:
    """The host and port of the proxy for https in the environment, without a user name and password; "" if none."""
    settings = read_proxy_settings(os.environ)
    try:
        proxy = settings.proxy()
    except BadProxy:
        return f"in {settings.variable}"
    return proxy.name if proxy else ""
