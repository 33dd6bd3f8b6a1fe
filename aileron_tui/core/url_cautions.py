"""What to know about a URL before it is fetched. Look-alike hosts are flagged by `core/lookalikes.py`."""

import ipaddress
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from aileron_tui.core.values import dataclass

_ODD: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2000-\u200f\u2028-\u202f\u3000]")
_NUMERIC: Final = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)\.?")
_LOCAL: Final = re.compile(r"(?:.*\.)?(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa)\.?", re.IGNORECASE)
_IN_TEXT: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s<>\"']+")
_MOST_IN_TEXT: Final = 20


@dataclass(frozen=True, slots=True)
class UrlFacts:
    """The host of a URL, "" if it is not certain, and what to warn about."""

    host: str = ""
    warnings: tuple[str, ...] = ()


def urls_in(text: str) -> tuple[str, ...]:
    """The URLs that occur in a text."""
    found = [match[0] for _, match in zip(range(_MOST_IN_TEXT + 1), _IN_TEXT.finditer(text), strict=False)]
    return tuple(dict.fromkeys(found))[:_MOST_IN_TEXT]


def url_facts(url: str) -> UrlFacts:
    """The host and the warnings of a URL. Never raises."""
    if _ODD.search(url):
        return UrlFacts("", ("the URL has unusual characters, so programs may not agree on its host",))
    try:
        parts = urlsplit(url)
        host, userinfo = parts.hostname or "", "@" in parts.netloc
        port = parts.port
    except ValueError:
        return UrlFacts("", ("the URL cannot be read, so its host is not certain",))
    warnings = [*_scheme_warnings(parts.scheme), *_host_warnings(host)]
    if userinfo:
        warnings.append("the URL has a user name or a password before the host")
    if port is not None and port not in (80, 443):
        warnings.append(f"the URL names port {port}")
    return UrlFacts(host, tuple(warnings))


def _scheme_warnings(scheme: str) -> Iterator[str]:
    if scheme not in ("http", "https"):
        yield "the URL does not begin with http:// or https://"


def _host_warnings(host: str) -> Iterator[str]:
    if not host:
        yield "the URL has no host"
    elif "%" in host:
        yield "the host has an encoded character"
    elif ":" in host or _NUMERIC.fullmatch(host.rstrip(".").rpartition(".")[2]):
        yield f"the host is an IP address{_network(host)}"
    elif _LOCAL.fullmatch(host) or "." not in host.rstrip("."):
        yield "the host is on this machine or in the local network"


def _network(host: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return " in an unusual spelling"
    mapped = getattr(address, "ipv4_mapped", None) or address
    if mapped.is_loopback or mapped.is_unspecified:
        return " of this machine"
    return "" if mapped.is_global else " of a private network"
