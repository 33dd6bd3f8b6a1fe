"""What a gate counts about its work. Without metrics, nothing is counted."""

from typing import Final

from aileron_tui.core.rule import RuleVerdict
from aileron_tui.core.states import RequestState

OFF: Final = "metrics are off; set enabled = true in the table [metrics] of the configuration, and restart the gate"
NO_EXTRA: Final = (
    "metrics are not available: their extra is not installed. Run `aileron-tui doctor` where the gate runs: "
    "it prints the command that installs it. Then restart the gate"
)


class GateMetrics:
    """Counts nothing, and says why."""

    def __init__(self, why_none: str = OFF) -> None:
        self.why_none = why_none

    def decided(self, surface: str, seconds: float, *, approved: bool) -> None:
        """A person answered a request, so many seconds after it was made."""

    def ruled(self, rule: str, verdict: RuleVerdict) -> None:
        """A rule answered a request, or said that a person must be asked."""

    def ended(self, state: RequestState) -> None:
        """A request has ended."""

    def previewed(self, connector: str, seconds: float, *, failed: bool) -> None:
        """A preview was fetched, or could not be."""

    def ran(self, connector: str, seconds: float, outcome: str) -> None:
        """An op has ended, with approval or without."""

    def reduced(self, entries: int) -> None:
        """The bodies of so many entries were removed from the ledger."""

    def responded(self, status: int) -> None:
        """The gate responded to an HTTP request."""

    def text(self) -> bytes:
        """Everything that was counted, in the text format of Prometheus."""
        return b""

    def close(self) -> None:
        """Stops counting."""
