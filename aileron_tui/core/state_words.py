"""The words for the states of a request, the same on every surface."""

from collections.abc import Mapping
from typing import Final

from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class StateWords:
    """The words for one state: `glyph` and `word` in the history, `status` for a request whose end is awaited.

    `detail` explains a status that is not clear by itself.
    """

    glyph: str
    word: str
    status: str
    detail: str = ""

    @property
    def full_status(self) -> str:
        """The status and its explanation."""
        return f"{self.status}: {self.detail}" if self.detail else self.status


STATE_WORDS: Final[Mapping[RequestState, StateWords]] = {
    RequestState.EXECUTED: StateWords("✓", "done", "done ✓"),
    RequestState.FAILED: StateWords("✗", "failed", "failed ✗"),
    RequestState.DENIED: StateWords("–", "denied", "denied"),
    RequestState.EXPIRED: StateWords("○", "nobody answered", "nobody answered"),
    RequestState.WITHDRAWN: StateWords("○", "withdrawn", "withdrawn"),
    RequestState.INTERRUPTED: StateWords("!", "interrupted", "interrupted", "outcome unknown"),
    RequestState.UNKNOWN: StateWords("!", "outcome unknown", "outcome unknown"),
    RequestState.PENDING: StateWords("…", "waiting", "waiting"),
    RequestState.APPROVED: StateWords("…", "approved", "approved"),
    RequestState.RUNNING: StateWords("…", "running", "running…"),
    RequestState.HANDED_OVER: StateWords("→", "handed over", "handed over →"),
}
