"""One attempt to deliver a message of the webhook over HTTP. Whatever the receiver does, it ends after a while."""

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from aileron_tui import __version__
from aileron_tui.core.values import dataclass
from aileron_tui.core.webhook_address import WebhookAddress

if TYPE_CHECKING:
    import httpx

_PART_SECONDS: Final = 5.0
_WHOLE_SECONDS: Final = 15.0
_RETRIED: Final = frozenset({408, 425, 429})
_SIGNATURE_REFUSED: Final = frozenset({401, 403})
_CONNECTED: Final = frozenset({"connection.connect_tcp.complete", "connection.start_tls.complete"})


class Result(Enum):
    """What an attempt came to."""

    DELIVERED = auto()
    RETRY = auto()
    REFUSED = auto()
    SIGNATURE_REFUSED = auto()
    GONE = auto()


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result, why it failed in a few words, and how many seconds the receiver asks to wait."""

    result: Result
    why: str = ""
    wait: float = 0.0


class WebhookDelivery:
    """Sends messages to one address. Redirects are not followed, and what the receiver answers is not read."""

    def __init__(self, address: WebhookAddress, whole_seconds: float = _WHOLE_SECONDS) -> None:
        import httpx  # noqa: PLC0415  # slow, and only needed if there is a webhook

        self._address = address
        self._whole_seconds = whole_seconds
        self._sockets: list[socket.socket] = []
        self._http = httpx.Client(
            timeout=httpx.Timeout(_PART_SECONDS),
            trust_env=False,
            follow_redirects=False,
            verify=address.address.scheme == "https",
            headers={"User-Agent": f"aileron-tui/{__version__}", "Accept-Encoding": "identity"},
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=0),
        )

    def attempt(self, body: bytes, headers: Mapping[str, str]) -> Attempt:
        """Sends the message once. Ends within the given time once the receiver's name is resolved."""
        import httpx  # noqa: PLC0415

        self._sockets.clear()
        limit = threading.Timer(self._whole_seconds, self._interrupt)
        limit.daemon = True
        limit.start()
        try:
            with self._http.stream(
                "POST", self._address.url, content=body, headers=dict(headers), extensions={"trace": self._on_trace}
            ) as response:
                return self._judged(response)
        except httpx.ConnectError:
            return Attempt(Result.RETRY, f"cannot connect to {self._address.server}")
        except httpx.TimeoutException:
            return Attempt(Result.RETRY, f"{self._address.server} did not answer in time")
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError):
            # The text of these errors can contain the address, which may be a secret.
            return Attempt(Result.RETRY, f"the connection to {self._address.server} failed")
        finally:
            limit.cancel()

    def close(self) -> None:
        """Ends a running attempt and closes the connection."""
        self._interrupt()
        self._http.close()

    def _judged(self, response: "httpx.Response") -> Attempt:
        status, server = response.status_code, self._address.server
        if 200 <= status < 300:
            return Attempt(Result.DELIVERED)
        if 300 <= status < 400:
            return Attempt(Result.REFUSED, f"{server} redirects to another address, which is not followed")
        if status == 410:
            return Attempt(Result.GONE, f"{server} no longer wants messages (410)")
        why = f"{server} answered {status}"
        if status in _RETRIED or status >= 500:
            return Attempt(Result.RETRY, why, retry_after(response.headers.get("Retry-After", ""), datetime.now(UTC)))
        return Attempt(Result.SIGNATURE_REFUSED if status in _SIGNATURE_REFUSED else Result.REFUSED, why)

    def _on_trace(self, name: str, info: Mapping[str, Any]) -> None:
        if name in _CONNECTED and (connection := info["return_value"].get_extra_info("socket")):
            self._sockets.append(connection)

    def _interrupt(self) -> None:
        for connection in tuple(self._sockets):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def retry_after(text: str, now: datetime) -> float:
    """The seconds that a `Retry-After` header asks for: a number or a date; 0 if there is none that makes sense."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError, OverflowError):
        return 0.0
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds())
