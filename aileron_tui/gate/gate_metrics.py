"""What a gate counts about its work. Without metrics, nothing is counted."""

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aileron_tui.core.agent_change import token_hash
from aileron_tui.core.states import RequestState
from aileron_tui.files.agent_tokens import read_token, write_token

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate
    from aileron_tui.gate.gate_state import GateState

_FILE: Final = "metrics.token"

OFF: Final = "metrics are off; set enabled = true in the table [metrics] of the configuration, and restart the gate"
NO_EXTRA: Final = (
    "metrics are not available: their extra is not installed. "
    "Run pip install 'aileron-tui[metrics]', and restart the gate"
)


class GateMetrics:
    """Counts nothing, and says why."""

    def __init__(self, why_none: str = OFF) -> None:
        self.why_none = why_none

    def decided(self, surface: str, seconds: float, *, approved: bool) -> None:
        """A person answered a request, so many seconds after it was made."""

    def ruled(self, rule: str, *, allowed: bool) -> None:
        """A rule answered a request."""

    def ended(self, state: RequestState) -> None:
        """A request has ended."""

    def previewed(self, connector: str, seconds: float, *, failed: bool) -> None:
        """A preview was fetched, or could not be."""

    def ran(self, connector: str, seconds: float, outcome: str) -> None:
        """An op has ended, with approval or without."""

    def responded(self, status: int) -> None:
        """The gate responded to an HTTP request."""

    def text(self) -> bytes:
        """Everything that was counted, in the text format of Prometheus."""
        return b""

    def close(self) -> None:
        """Stops counting."""


def start_metrics(gate: "Gate", state: "GateState") -> GateMetrics:
    """The metrics of a gate, if the configuration asks for them and their extra is installed."""
    if not state.setup.config.metrics.enabled:
        return GateMetrics()
    try:
        from aileron_tui.gate.prometheus_metrics import PrometheusMetrics  # noqa: PLC0415  # it needs an extra
    except ImportError:
        return GateMetrics(NO_EXTRA)
    return PrometheusMetrics(gate, state)


def metrics_token(data: Path) -> str:
    """The hash of the token that may read the metrics and nothing else. The first time, the token is made."""
    path = data / _FILE
    if not path.exists():
        write_token(path, secrets.token_urlsafe(32))
    return token_hash(read_token(path))
