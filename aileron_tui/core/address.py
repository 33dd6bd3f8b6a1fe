"""Addresses of daemons and gates, parsed strictly because a token may be sent there."""

import ipaddress
import re
from typing import Final

from aileron_tui.core.values import dataclass

_URL: Final = re.compile(
    r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9_][a-z0-9._-]{0,252})(?::([0-9]{1,5}))?(?:/v1)?/*", re.ASCII | re.IGNORECASE
)


class BadAddress(ValueError):
    """Text that is not a valid address; the message says why without repeating the text."""


@dataclass(frozen=True, slots=True)
class Address:
    """Scheme, host and port of a daemon or gate."""

    scheme: str
    host: str
    port: int

    @property
    def url(self) -> str:
        """The base URL, to which paths such as /v1/health are added."""
        default_port = 443 if self.scheme == "https" else 80
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == default_port else f":{self.port}")

    @property
    def is_local(self) -> bool:
        """Whether the address can only belong to this machine."""
        if self.host == "localhost":
            return True
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return False
        # Newer versions of Python accept ::ffff:127.0.0.1 as loopback, older ones do not.
        return address.is_loopback and getattr(address, "ipv4_mapped", None) is None

    @property
    def is_confidential(self) -> bool:
        """Whether nobody else can read what is sent to this address: it is local or uses HTTPS."""
        return self.is_local or self.scheme == "https"

    def matches(self, other: "Address") -> bool:
        """Returns whether another address points to the same server; `localhost` matches any loopback address."""
        same = (self.scheme, self.port) == (other.scheme, other.port)
        return same and (self.host == other.host or (self.host == "localhost" and other.is_local))


def read_address(text: str) -> Address:
    """Parses an address, which may end in /v1. Error messages do not repeat it, because it may contain a secret."""
    parts = _URL.fullmatch(text.strip())
    if parts is None:
        raise BadAddress(_problem(text.strip()))
    scheme, host = parts[1].lower(), parts[2].lower()
    port = int(parts[3] or (443 if scheme == "https" else 80))
    if not 1 <= port <= 65535:
        raise BadAddress(f"port {port} is not between 1 and 65535")
    if host.startswith("["):
        try:
            host = str(ipaddress.IPv6Address(host[1:-1]))
        except ValueError:
            raise BadAddress("the text in brackets is not an IPv6 address") from None
    return Address(scheme, host, port)


def _problem(text: str) -> str:
    scheme, separator, rest = text.partition("://")
    host, _, path = rest.partition("/")
    if not separator or scheme.lower() not in ("http", "https"):
        return "it does not start with http:// or https://"
    if "@" in host:
        return "it contains a user name or a password"
    if "?" in rest or "#" in rest:
        return "it has a query or a fragment"
    if path.strip("/") not in ("", "v1"):
        return "it has a path other than /v1"
    return "its host or its port is invalid"
