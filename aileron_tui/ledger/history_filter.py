"""The filter for the history."""

from typing import Final

from aileron_tui.core.values import dataclass

PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which requests to find. Empty fields match everything. `since` is inclusive, `until` is exclusive."""

    text: str = ""
    since: str = ""
    until: str = ""
    outcomes: tuple[str, ...] = ()
    surfaces: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()


ALL: Final = HistoryFilter()
