"""The reply of a gate or daemon to a health check. A gate that is failing replies with 503 and the reason."""

from typing import TYPE_CHECKING, Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.runtime.errors import Rejected

if TYPE_CHECKING:
    from aileron_tui.runtime.http_connection import HttpConnection

_SECONDS: Final = 30.0


def ask_health(connection: "HttpConnection", seconds: float = _SECONDS) -> JsonObject:
    """Returns what a source says about itself, even if it says that it is failing."""
    try:
        return connection.ask("GET", "/v1/health", seconds=seconds)
    except Rejected as error:
        if error.status == 503 and error.body.get("status") == "failing":
            return error.body
        raise


def failing_reason(health: JsonObject) -> str:
    """Why a source cannot do its work, or "" if it does not say so."""
    return str(health.get("reason") or "no reason given") if health.get("status") == "failing" else ""
