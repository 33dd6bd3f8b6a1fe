"""What is checked before anything else: that the request was meant for this address and comes from no web page.

A web page cannot choose the Host header, so a name that an attacker points at this machine (DNS rebinding) is told
apart; and a browser names the page it acts for in Origin or Sec-Fetch-Site.
"""

import re
import socket
from collections.abc import Sequence
from typing import Final

from aileron_tui.core.values import dataclass
from aileron_tui.gate.http_request import Refusal

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", re.ASCII)
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(\d{1,5}))?", re.ASCII)
_TRUSTED_SITES: Final = frozenset({"same-origin", "none"})

HeaderList = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class OriginCheck:
    """The address this gate answers to."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://{authority(self.host, self.port)}"

    def check(self, headers: HeaderList) -> None:
        """Refuses what a person's browser was tricked into sending."""
        host = _only(headers, b"host")
        if host is None or not self._ours(host):
            message = f"this gate answers to {authority(self.host, self.port)} only"
            raise Refusal(403, "forbidden_host", message)
        origin = _only(headers, b"origin")
        if origin is not None and origin != f"http://{host}":
            raise Refusal(403, "forbidden_origin", "web pages may not talk to this gate")
        site = _only(headers, b"sec-fetch-site")
        if site is not None and site not in _TRUSTED_SITES:
            raise Refusal(403, "forbidden_origin", "web pages may not talk to this gate")

    def _ours(self, text: str) -> bool:
        found = _HOST.fullmatch(text)
        if found is None or int(found[2] or 80) != self.port:
            return False
        name = found[1].strip("[]").lower()
        if name in LOOPBACK or name == self.host.lower():
            return True
        # Bound to every address, its names are unknown. An address in figures needs no name service to be fooled.
        return self.host in {"0.0.0.0", "::"} and _is_address(name)  # noqa: S104  # compared, not bound


def authority(host: str, port: int) -> str:
    """Host and port as a URL writes them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def segments(raw_path: bytes) -> list[str] | None:
    """The names between the slashes, or None for a path that no route of ours can have.

    Nothing we name needs percent-encoding, so every encoded byte is a trick.
    """
    try:
        parts = raw_path.decode("ascii").split("/")
    except UnicodeDecodeError:
        return None
    if len(parts) < 2 or parts[0] or not all(map(_NAME.fullmatch, parts[1:])):
        return None
    return parts[1:]


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    return host.lower() in LOOPBACK or (host.startswith("127.") and _is_address(host))


def _only(headers: HeaderList, name: bytes) -> str | None:
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
