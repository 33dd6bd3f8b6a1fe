"""Which requests of the past are wanted."""

from typing import Final

from aileron_tui.core.values import dataclass

PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """What to look for; empty fields do not restrict. Times are as in entries, `since` included, `until` not."""

    text: str = ""
    since: str = ""
    until: str = ""
    outcomes: tuple[str, ...] = ()
    surfaces: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


ALL: Final = HistoryFilter()
