"""The first check on every HTTP request: it must be addressed to this gate and must not come from a web page.

A web page cannot choose the Host header, so a host name that an attacker points at this machine (DNS rebinding) is
detected. Browsers name the page that makes a request in Origin or Sec-Fetch-Site.
"""

import re
import socket
from collections.abc import Sequence
from typing import Final

from aileron_tui.core.values import dataclass
from aileron_tui.gate.http_request import Refusal

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")

_SEGMENT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", re.ASCII)
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(\d{1,5}))?", re.ASCII)
_TRUSTED_SITES: Final = frozenset({"same-origin", "none"})

HeaderList = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class OriginCheck:
    """The address of this gate, and the check against it."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The URL of the gate."""
        return f"http://{authority(self.host, self.port)}"

    @property
    def page_origin(self) -> str:
        """The origin of the page. An address is not a valid name of a site for passkeys, so it is always localhost."""
        return f"http://localhost:{self.port}"

    def check(self, headers: HeaderList) -> None:
        """Refuses requests that a browser was tricked into sending."""
        host = single_header(headers, b"host")
        if host is None or not self._is_own_host(host):
            message = f"this gate only accepts requests for {authority(self.host, self.port)}"
            raise Refusal(403, "forbidden_host", message)
        origin = single_header(headers, b"origin")
        if origin is not None and origin != f"http://{host}":
            raise Refusal(403, "forbidden_origin", "web pages may not call this gate")
        site = single_header(headers, b"sec-fetch-site")
        if site is not None and site not in _TRUSTED_SITES:
            raise Refusal(403, "forbidden_origin", "web pages may not call this gate")

    def _is_own_host(self, text: str) -> bool:
        match = _HOST.fullmatch(text)
        if match is None or int(match[2] or 80) != self.port:
            return False
        name = match[1].strip("[]").lower()
        if name in LOOPBACK or name == self.host.lower():
            return True
        # When bound to all addresses, the gate's host names are unknown. IP addresses are safe from DNS rebinding.
        return self.host in {"0.0.0.0", "::"} and _is_address(name)  # noqa: S104  # compared, not bound


def authority(host: str, port: int) -> str:
    """Returns host and port as written in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def path_segments(raw_path: bytes) -> list[str] | None:
    """Splits a path into its segments; returns None if no route can match the path.

    No valid segment needs percent-encoding, so encoded bytes are refused.
    """
    try:
        parts = raw_path.decode("ascii").split("/")
    except UnicodeDecodeError:
        return None
    if len(parts) < 2 or parts[0] or not all(map(_SEGMENT.fullmatch, parts[1:])):
        return None
    return parts[1:]


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine."""
    return host.lower() in LOOPBACK or (host.startswith("127.") and _is_address(host))


def single_header(headers: HeaderList, name: bytes) -> str | None:
    """Returns the value of a header, or None. Refuses a request that has it more than once."""
    values = [value for key, value in headers if key == name]
    if len(values) > 1:
        raise Refusal(400, "invalid_request", f"the {name.decode()} header was sent more than once")
    return values[0].decode("latin-1") if values else None


def _is_address(text: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, text)
        except OSError:
            continue
        return True
    return False
