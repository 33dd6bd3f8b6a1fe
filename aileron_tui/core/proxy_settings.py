"""Which proxy the environment names for https, and for which hosts: HTTPS_PROXY, ALL_PROXY and NO_PROXY.

As in other programs, a name in lower case wins over the same name in upper case, and an empty value means no proxy.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final
from urllib.parse import unquote

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass

PROXY_VARIABLES: Final = ("HTTPS_PROXY", "ALL_PROXY")
PLAIN_PROXY_VARIABLE: Final = "HTTP_PROXY"
_EXCEPTIONS: Final = "NO_PROXY"
VARIABLES: Final = (*PROXY_VARIABLES, PLAIN_PROXY_VARIABLE, _EXCEPTIONS)
"""All of them; each counts in lower case too."""

_DEFAULT_PORT: Final = 80
_OTHER_SCHEMES: Final = frozenset({"https", "socks4", "socks4a", "socks5", "socks5h"})
_HOST: Final = re.compile(r"\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}))")
_PORT: Final = re.compile(r"[1-9][0-9]{0,4}")
_HINT: Final = "Set it to an address such as http://proxy.example:3128, or unset it."


class BadProxy(AileronError):
    """A proxy that cannot be used. The text never contains its user name or password."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy. `variable` is where it was named. User name and password appear in no text."""

    host: str
    port: int
    variable: str
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The proxy as it is shown: host and port only."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """What the environment says about proxies. A value that cannot be used is refused only when it would be used."""

    variable: str = ""
    value: str = field(default="", repr=False)
    exceptions: tuple[str, ...] = ()
    plain_variable: str = ""

    def proxy(self) -> Proxy | None:
        """The proxy for https; raises BadProxy if what is named cannot be used."""
        return _read(self.value, self.variable) if self.value else None

    def proxy_for(self, host: str, port: int) -> Proxy | None:
        """The proxy for https to a host name, or None if it is reached directly; raises BadProxy."""
        return None if self.excepts(host, port) else self.proxy()

    def excepts(self, host: str, port: int) -> bool:
        """Whether NO_PROXY names this host, a domain that it is in, or everything."""
        host = host.lower().rstrip(".")
        return any(_matches(exception, host, port) for exception in self.exceptions)


def proxy_words(settings: ProxySettings, proxy: Proxy) -> str:
    """Which proxy connectors use, in words."""
    words = f"connectors reach https services through {proxy.name} ({proxy.variable})"
    return f"{words}, except {', '.join(settings.exceptions)}" if settings.exceptions else words


def read_proxy_settings(environment: Mapping[str, str]) -> ProxySettings:
    """Reads the settings from environment variables."""
    variable, value = _first(environment, *PROXY_VARIABLES)
    _, exceptions = _first(environment, _EXCEPTIONS)
    plain, _ = _first(environment, PLAIN_PROXY_VARIABLE, "ALL_PROXY")
    return ProxySettings(variable, value, tuple(exceptions.lower().replace(",", " ").split()), plain)


def _first(environment: Mapping[str, str], *names: str) -> tuple[str, str]:
    """The first variable with a value, and the value. An empty one in lower case hides the one in upper case."""
    for name in names:
        spelled = name.lower() if name.lower() in environment else name
        if value := environment.get(spelled, "").strip():
            return spelled, value
    return "", ""


def _matches(exception: str, host: str, port: int) -> bool:
    if exception == "*":
        return True
    name, colon, number = exception.rpartition(":")
    if colon and number.isdecimal() and not name.endswith(":"):
        if int(number[:6]) != port:
            return False
    else:
        name = exception
    domain = name.removeprefix("*").strip(".")
    return bool(domain) and (host == domain or host.endswith(f".{domain}"))


def _read(value: str, variable: str) -> Proxy:
    scheme, separator, rest = value.partition("://")
    if not separator:
        scheme, rest = "http", value
    login, _, place = rest.partition("/")[0].rpartition("@")
    if scheme.lower() != "http":
        kind = f"{scheme.lower()}://" if scheme.lower() in _OTHER_SCHEMES else "such"
        detail = f"{kind} proxies are not supported, only http://"
        raise BadProxy(f"cannot use the proxy in {variable}", detail, _HINT)
    found = _HOST.match(place)
    port = place[found.end() :] if found else ""
    if found is None or (port and not (port.startswith(":") and _PORT.fullmatch(port[1:]) and int(port[1:]) < 65536)):
        raise BadProxy(f"cannot use the proxy in {variable}", "its address is not valid", _HINT)
    user, _, password = login.partition(":")
    host = (found["address"] or found["name"]).lower()
    user, password = unquote(user), unquote(password)
    if not (f"{user}{password}").isprintable() or ":" in user:
        raise BadProxy(f"cannot use the proxy in {variable}", "its user name or password is not valid", _HINT)
    return Proxy(host, int(port[1:]) if port else _DEFAULT_PORT, variable, user, password)
