"""Where a daemon or a gate listens: read strictly, because a token may be sent there."""

import ipaddress
import re
from typing import Final

from aileron_tui.core.values import dataclass

_URL: Final = re.compile(
    r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9_][a-z0-9._-]{0,252})(?::([0-9]{1,5}))?(?:/v1)?/*", re.ASCII | re.IGNORECASE
)


class BadAddress(ValueError):
    """Text that is not such an address; the message says why without repeating it."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where one of them listens."""

    scheme: str
    host: str
    port: int

    @property
    def url(self) -> str:
        """The address that paths such as /v1/health are added to."""
        usual = 443 if self.scheme == "https" else 80
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == usual else f":{self.port}")

    @property
    def here(self) -> bool:
        """Whether only this machine can listen there."""
        if self.host == "localhost":
            return True
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return False
        # Later versions of Python count ::ffff:127.0.0.1 in, earlier ones do not.
        return address.is_loopback and getattr(address, "ipv4_mapped", None) is None

    @property
    def private(self) -> bool:
        """Whether nobody on the way can read what is sent there."""
        return self.here or self.scheme == "https"

    def meets(self, other: "Address") -> bool:
        """Whether this is what another address means; `localhost` may mean any address of this machine."""
        same = (self.scheme, self.port) == (other.scheme, other.port)
        return same and (self.host == other.host or (self.host == "localhost" and other.here))


def read_address(text: str) -> Address:
    """The address in a text that may end in /v1. What is wrong is said without repeating it: it may hold a secret."""
    parts = _URL.fullmatch(text.strip())
    if parts is None:
        raise BadAddress(_what_is_wrong(text.strip()))
    scheme, host = parts[1].lower(), parts[2].lower()
    port = int(parts[3] or (443 if scheme == "https" else 80))
    if not 1 <= port <= 65535:
        raise BadAddress(f"there is no port {port}")
    if host.startswith("["):
        try:
            host = str(ipaddress.IPv6Address(host[1:-1]))
        except ValueError:
            raise BadAddress("the address in brackets is not one of IPv6") from None
    return Address(scheme, host, port)


def _what_is_wrong(text: str) -> str:
    scheme, separator, rest = text.partition("://")
    host, _, path = rest.partition("/")
    if not separator or scheme.lower() not in ("http", "https"):
        return "it does not begin with http:// or https://"
    if "@" in host:
        return "it holds a user name or a password"
    if "?" in rest or "#" in rest:
        return "it has a query or a fragment"
    if path.strip("/") not in ("", "v1"):
        return "it has a path other than /v1"
    return "its host or port is not one"
