"""The filter for the history."""

from typing import Final

from aileron_tui.core.outcome_words import BY_RULE
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass

PAGE: Final = 50
OUTCOMES: Final = (*RequestState, BY_RULE)
"""The outcomes that a filter can name."""


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which requests to find. Empty fields match everything. `since` is inclusive, `until` is exclusive.

    With `signer`, the key of an approver, only that approver's own answers are found, the last answer first.
    """

    text: str = ""
    since: str = ""
    until: str = ""
    outcomes: tuple[str, ...] = ()
    surfaces: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    signer: str = ""


ALL: Final = HistoryFilter()
