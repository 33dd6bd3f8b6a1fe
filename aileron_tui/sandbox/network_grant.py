"""Where a connector may go: URLs read once and strictly, hosts compared exactly, resolved addresses checked.

The parts read here are the parts that are connected to; no other URL parser sees the text afterwards, so a checker and
a client cannot understand the same URL differently.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final, TypeAlias
from urllib.parse import quote, urljoin

from aileron_tui.core.jsontext import Json
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

LOCALHOST: Final = "localhost"
LOOPBACK: Final[tuple[Address, ...]] = (ipaddress.IPv4Address("127.0.0.1"), ipaddress.IPv6Address("::1"))

_LONGEST_URL: Final = 8192
_LONGEST_SHOWN: Final = 200
_PORTS: Final = {"http": 80, "https": 443}
_URL: Final = re.compile(
    r"(?P<scheme>[a-z]+)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?P<fragment>#.*)?"
)
_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*")
_PORT: Final = re.compile(r"[1-9]\d{0,4}")
_TARGET_SAFE: Final = "/%?:@!$&'()*+,;=-._~[]"
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Url:
    """A checked URL; `host` is a lower-case name or a canonical address without brackets."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def place(self) -> str:
        """`host:port` as grants and people write it."""
        return f"{bracketed(self.host)}:{self.port}"

    @property
    def authority(self) -> str:
        """The value of the Host header: the port only where it is not the scheme's own."""
        return bracketed(self.host) if self.port == _PORTS[self.scheme] else self.place

    @property
    def origin(self) -> tuple[str, str, int]:
        """What must be equal for a credential to travel on."""
        return self.scheme, self.host, self.port

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def bracketed(host: str) -> str:
    """A host as it stands before a port."""
    return f"[{host}]" if ":" in host else host


def read_url(text: str) -> Url:
    """The URL a guest asks for, or a refusal that says what is wrong with it."""
    return _read(text, fragment=False)


def follow(base: Url, location: str) -> Url:
    """The URL a redirect points to, read as strictly as any other."""
    _refuse_odd_characters(location)
    try:
        joined = urljoin(str(base), location)
    except ValueError:
        raise _invalid(location, "its host is not an address in brackets") from None
    return _read(joined, fragment=True)


def _read(text: str, *, fragment: bool) -> Url:
    _refuse_odd_characters(text)
    scheme, _, _ = text.partition(":")
    found = _URL.fullmatch(scheme.lower() + text[len(scheme) :])
    if found is None:
        raise _invalid(text, "it is not an absolute URL")
    if found["scheme"] not in _PORTS:
        raise _invalid(text, f"{found['scheme']}: is neither http: nor https:", message="scheme not permitted")
    if found["fragment"] is not None and not fragment:
        raise _invalid(text, "it has a #fragment")
    if "@" in found["authority"]:
        raise _invalid(text, "it has a user name before the host")
    host, port = _read_authority(text, found["authority"], _PORTS[found["scheme"]])
    target = quote((found["path"] or "/") + (found["query"] or ""), safe=_TARGET_SAFE)
    return Url(found["scheme"], host, port, target)


def _refuse_odd_characters(text: str) -> None:
    if len(text) > _LONGEST_URL:
        raise _invalid(text, f"it is longer than {_LONGEST_URL} characters")
    if any(character <= " " or character == "\x7f" or character.isspace() for character in text):
        raise _invalid(text, "it has a space or control character in it")
    if "\\" in text:
        raise _invalid(text, "it has a backslash in it")


def _read_authority(text: str, authority: str, standard: int) -> tuple[str, int]:
    host, colon, port = authority, "", ""
    if authority.startswith("["):
        host, bracket, rest = authority.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise _invalid(text, "its host is not an address in brackets")
        host, colon, port = f"{host}]", rest[:1], rest[1:]
    elif ":" in authority:
        host, colon, port = authority.partition(":")
    if not host:
        raise _invalid(text, "it has no host", message="missing host")
    if colon and not (_PORT.fullmatch(port) and int(port) < 65536):
        raise _invalid(text, "its port is not a plain number")
    return _read_host(text, host), int(port) if colon else standard


def _read_host(text: str, host: str) -> str:
    if host.startswith("["):
        return str(_literal(text, host[1:-1], ipaddress.IPv6Address))
    if not host.isascii():
        raise _invalid(text, "its host has letters outside ASCII; write it in its xn-- form")
    host = host.lower()
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return str(_literal(text, host, ipaddress.IPv4Address))
    if not _NAME.fullmatch(host) or len(host) > 253:
        raise _invalid(text, "its host is not a plain host name")
    return host


def _literal(
    text: str, host: str, form: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        address = form(host)
    except ValueError:
        raise _invalid(text, "its host is a number that is not a plain address") from None
    if isinstance(address, ipaddress.IPv6Address) and (address.scope_id or address.ipv4_mapped):
        raise _invalid(text, "its host is an address in a form that is not allowed")
    return address


def _invalid(text: str, why: str, message: str = "invalid URL") -> CallRefused:
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}… ({len(text)} characters)"
    return CallRefused(
        Failure(
            FailureKind.CAPABILITY_DENIED,
            f"{message}: {why}",
            f"the connector asked for a URL that is not allowed: {why}",
            Boundary.SANDBOX,
            details={"url": shown},
        )
    )


class Grant:
    """The exact `host:port` pairs a connector's manifest declares."""

    def __init__(self, hosts: Iterable[str] | None) -> None:
        self._places = frozenset(_normal(place) for place in hosts or ())

    def check(self, url: Url) -> None:
        """Refuses a URL whose host and port are not in the grant."""
        if url.place in self._places:
            return
        granted: list[Json] = [f"network:{place}" for place in sorted(self._places)]
        raise CallRefused(
            Failure(
                FailureKind.CAPABILITY_DENIED,
                "host:port not in declared grant",
                f"the connector may not reach {url.place}",
                Boundary.SANDBOX,
                details={"requested": f"network:{url.place}", "granted": granted},
            )
        )


def _normal(place: str) -> str:
    host, _, port = place.lower().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        return f"{bracketed(str(ipaddress.ip_address(host)))}:{port}"
    except ValueError:
        return f"{host}:{port}"


def literal(host: str) -> Address | None:
    """The address a checked host is, if it is one."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def public(address: Address) -> bool:
    """Whether an address belongs to the open internet, seen through the forms that carry an IPv4 address inside."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return public(inner)
        if address.teredo or address.is_site_local:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def check_addresses(place: str, addresses: Iterable[Address]) -> None:
    """Refuses a name if any of its addresses is private: a name may not lead inside."""
    for address in addresses:
        if not public(address):
            raise CallRefused(
                Failure(
                    FailureKind.CAPABILITY_DENIED,
                    f"{place} resolves to the private address {address}",
                    f"the connector may not reach {place}, which resolves to the private address {address}",
                    Boundary.SANDBOX,
                    details={"requested": f"network:{place}", "address": str(address)},
                )
            )
