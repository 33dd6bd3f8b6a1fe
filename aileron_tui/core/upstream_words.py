"""Words about connectors that are set to ask a server on this machine in place of their service."""

from collections.abc import Mapping
from typing import Final

_MOST_HOSTS: Final = 3


def upstream_warning(connector: str, servers: Mapping[str, str]) -> str:
    """The warning about a connector, whose local servers are given by the `host:port` that they stand for."""
    pairs = [f"{server} instead of {host}" for host, server in servers.items()]
    more = f" and {len(pairs) - _MOST_HOSTS} more" if len(pairs) > _MOST_HOSTS else ""
    asked = ", ".join(pairs[:_MOST_HOSTS])
    return f"test setup: {connector} asks {asked}{more}; any credential goes there too"
