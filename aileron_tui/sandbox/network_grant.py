"""Which hosts a connector may reach: strict URL parsing, exact host comparison, and checks on resolved addresses.

Connections use the parts parsed here. No other URL parser sees the text afterwards, so the check and the client cannot
interpret the same URL differently.
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

_MAX_URL_LENGTH: Final = 8192
_MAX_SHOWN_LENGTH: Final = 200
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
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
    def host_port(self) -> str:
        """`host:port`, as in grants and messages."""
        return f"{bracketed(self.host)}:{self.port}"

    @property
    def authority(self) -> str:
        """The value of the Host header; includes the port unless it is the scheme's default."""
        return bracketed(self.host) if self.port == _DEFAULT_PORTS[self.scheme] else self.host_port

    @property
    def origin(self) -> tuple[str, str, int]:
        """The parts that a redirect must keep for the credential to be sent with it."""
        return self.scheme, self.host, self.port

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def bracketed(host: str) -> str:
    """Returns a host as written in a URL, with brackets around an IPv6 address."""
    return f"[{host}]" if ":" in host else host


def read_url(text: str) -> Url:
    """Reads the URL in a guest's request; raises CallRefused if it is not allowed."""
    return _read(text, fragment=False)


def read_redirect(base: Url, location: str) -> Url:
    """Reads the target of a redirect as strictly as any other URL."""
    _check_characters(location)
    try:
        joined = urljoin(str(base), location)
    except ValueError:
        raise _invalid_url(location, "its host is not a valid address in brackets") from None
    return _read(joined, fragment=True)


def _read(text: str, *, fragment: bool) -> Url:
    _check_characters(text)
    scheme, _, _ = text.partition(":")
    parts = _URL.fullmatch(scheme.lower() + text[len(scheme) :])
    if parts is None:
        raise _invalid_url(text, "it is not an absolute URL")
    if parts["scheme"] not in _DEFAULT_PORTS:
        raise _invalid_url(text, f"{parts['scheme']}: is neither http: nor https:", message="scheme not permitted")
    if parts["fragment"] is not None and not fragment:
        raise _invalid_url(text, "it has a #fragment")
    if "@" in parts["authority"]:
        raise _invalid_url(text, "it contains a user name")
    host, port = _read_authority(text, parts["authority"], _DEFAULT_PORTS[parts["scheme"]])
    target = quote((parts["path"] or "/") + (parts["query"] or ""), safe=_TARGET_SAFE)
    return Url(parts["scheme"], host, port, target)


def _check_characters(text: str) -> None:
    if len(text) > _MAX_URL_LENGTH:
        raise _invalid_url(text, f"it is longer than {_MAX_URL_LENGTH} characters")
    if any(character <= " " or character == "\x7f" or character.isspace() for character in text):
        raise _invalid_url(text, "it contains a space or control character")
    if "\\" in text:
        raise _invalid_url(text, "it contains a backslash")


def _read_authority(text: str, authority: str, default_port: int) -> tuple[str, int]:
    host, colon, port = authority, "", ""
    if authority.startswith("["):
        host, bracket, port_part = authority.partition("]")
        if not bracket or (port_part and not port_part.startswith(":")):
            raise _invalid_url(text, "its host is not a valid address in brackets")
        host, colon, port = f"{host}]", port_part[:1], port_part[1:]
    elif ":" in authority:
        host, colon, port = authority.partition(":")
    if not host:
        raise _invalid_url(text, "it has no host", message="missing host")
    if colon and not (_PORT.fullmatch(port) and int(port) < 65536):
        raise _invalid_url(text, "its port is not a number from 1 to 65535")
    return _read_host(text, host), int(port) if colon else default_port


def _read_host(text: str, host: str) -> str:
    if host.startswith("["):
        return str(_read_address(text, host[1:-1], ipaddress.IPv6Address))
    if not host.isascii():
        raise _invalid_url(text, "its host has non-ASCII characters; use the xn-- form")
    host = host.lower()
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return str(_read_address(text, host, ipaddress.IPv4Address))
    if not _NAME.fullmatch(host) or len(host) > 253:
        raise _invalid_url(text, "its host is not a valid host name")
    return host


def _read_address(
    text: str, host: str, address_type: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        address = address_type(host)
    except ValueError:
        raise _invalid_url(text, "its host is not a valid IP address") from None
    if isinstance(address, ipaddress.IPv6Address) and (address.scope_id or address.ipv4_mapped):
        raise _invalid_url(text, "its host is an IP address in a form that is not allowed")
    return address


def _invalid_url(text: str, why: str, message: str = "invalid URL") -> CallRefused:
    shown = text if len(text) <= _MAX_SHOWN_LENGTH else f"{text[:_MAX_SHOWN_LENGTH]}… ({len(text)} characters)"
    return CallRefused(
        Failure(
            FailureKind.CAPABILITY_DENIED,
            f"{message}: {why}",
            f"the connector requested a URL that is not allowed: {why}",
            Boundary.SANDBOX,
            details={"url": shown},
        )
    )


class NetworkGrant:
    """The exact `host:port` pairs a connector's manifest declares."""

    def __init__(self, hosts: Iterable[str] | None) -> None:
        self._allowed = frozenset(normalized_host(host_port) for host_port in hosts or ())

    def not_granted(self, hosts: Iterable[str]) -> list[str]:
        """Those of these `host:port` pairs that are not in the grant."""
        return [host_port for host_port in hosts if host_port not in self._allowed]

    def check(self, url: Url) -> None:
        """Raises CallRefused for a URL whose host and port are not in the grant."""
        if url.host_port in self._allowed:
            return
        granted: list[Json] = [f"network:{host_port}" for host_port in sorted(self._allowed)]
        raise CallRefused(
            Failure(
                FailureKind.CAPABILITY_DENIED,
                "host:port not in declared grant",
                f"the connector may not reach {url.host_port}",
                Boundary.SANDBOX,
                details={"requested": f"network:{url.host_port}", "granted": granted},
            )
        )


def normalized_host(host_port: str) -> str:
    """A `host:port` as it is compared: lower case, and an address in its canonical form."""
    host, _, port = host_port.lower().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        return f"{bracketed(str(ipaddress.ip_address(host)))}:{port}"
    except ValueError:
        return f"{host}:{port}"


def ip_literal(host: str) -> Address | None:
    """Returns the host as an IP address, or None if it is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Whether an address is on the public internet. If an IPv6 address embeds an IPv4 address, that one is checked."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.teredo or address.is_site_local:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def check_addresses(host_port: str, addresses: Iterable[Address]) -> None:
    """Raises CallRefused if any address of a host name is private, so that a name cannot point to an internal host."""
    for address in addresses:
        if not is_public(address):
            raise CallRefused(
                Failure(
                    FailureKind.CAPABILITY_DENIED,
                    f"{host_port} resolves to the private address {address}",
                    f"the connector may not reach {host_port}, which resolves to the private address {address}",
                    Boundary.SANDBOX,
                    details={"requested": f"network:{host_port}", "address": str(address)},
                )
            )
