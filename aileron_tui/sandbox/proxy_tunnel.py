"""Asks an HTTP proxy for a tunnel to a host (CONNECT). What goes through the tunnel is encrypted, so a proxy can only
refuse or break it."""

import base64
import re
import socket
from collections.abc import Callable
from typing import Final

from aileron_tui.core.proxy_settings import Proxy

_LARGEST_ANSWER: Final = 16 * 1024
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?\r\n")
_END: Final = b"\r\n\r\n"
_NEEDS_LOGIN: Final = 407


class TunnelRefused(Exception):
    """The proxy did not open a tunnel. The text says why, without anything that the proxy wrote."""


def open_tunnel(sock: socket.socket, proxy: Proxy, host_port: str, seconds_left: Callable[[], float]) -> None:
    """Asks for a tunnel on a connection to the proxy. Raises TunnelRefused, OSError, or TimeoutError."""
    login = ""
    if proxy.user or proxy.password:
        token = base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode("ascii")
        login = f"Proxy-Authorization: Basic {token}\r\n"
    _wait(sock, seconds_left)
    sock.sendall(f"CONNECT {host_port} HTTP/1.1\r\nHost: {host_port}\r\n{login}\r\n".encode("ascii"))
    answer = b""
    while _END not in answer:
        _wait(sock, seconds_left)
        part = sock.recv(_LARGEST_ANSWER + 1 - len(answer))
        answer += part
        if not part:
            raise TunnelRefused("it closed the connection")
        if len(answer) > _LARGEST_ANSWER or not _may_be_answer(answer):
            raise TunnelRefused("its answer is not valid")
    found = _STATUS_LINE.match(answer)
    if found is None:
        raise TunnelRefused("its answer is not valid")
    status = int(found[1])
    if status == _NEEDS_LOGIN:
        raise TunnelRefused(
            "it did not accept the user name and password" if login else "it asks for a user name and a password"
        )
    if not 200 <= status < 300:
        raise TunnelRefused(f"it answered {status}")
    if not answer.endswith(_END):  # the host speaks only after our first bytes
        raise TunnelRefused("it sent something in the name of the host")


def _may_be_answer(answer: bytes) -> bool:
    """Whether an answer that is not complete yet begins as one."""
    return b"HTTP/1.".startswith(answer[:7])


def _wait(sock: socket.socket, seconds_left: Callable[[], float]) -> None:
    remaining = seconds_left()
    if remaining <= 0:
        raise TimeoutError
    sock.settimeout(remaining)
