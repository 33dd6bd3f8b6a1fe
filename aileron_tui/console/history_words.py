"""What the history says about itself."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from textual.content import Content

from aileron_tui.console.render import MUTED, STRONG, WARNING, foreign_line, own
from aileron_tui.core.errors import AileronError
from aileron_tui.core.outcomes import OUTCOMES
from aileron_tui.core.visible_text import clip, inline
from aileron_tui.runtime.errors import NoGate, Unanswered
from aileron_tui.surface.history_query import HistoryQuery

_WIDEST: Final = 120


class HistoryListState(NamedTuple):
    """How many requests are loaded, whether there are older ones, some are on their way, or something is wrong."""

    loaded: int
    more: bool
    busy: bool
    trouble: bool
    wanted: HistoryQuery


def title(state: HistoryListState, said: Content) -> Content:
    """The first line; `said` is what came of the last key."""
    if state.busy:
        words = "loading…"
    elif state.more:
        words = f"{state.loaded:,} loaded, more below"
    else:
        words = f"{state.loaded:,} {'in all' if state.wanted.all else 'found'}" if state.loaded else ""
    line = own("History", STRONG) + own(f"  {words}", MUTED)
    return line + own("  ") + said if said.plain else line


def tail(state: HistoryListState) -> Content:
    """The line below the last request."""
    if state.busy:
        return own("loading more…", MUTED)
    if state.more:
        return own("more below", MUTED)
    return own("that is all" if state.loaded else "", MUTED)


def nothing(state: HistoryListState) -> Content:
    """What stands where there is no request."""
    if state.busy:
        return own("loading…", MUTED)
    if state.trouble:
        return own("Nothing could be loaded.", MUTED)
    if state.wanted.all:
        more = "What agents ask, and how it ends, will be here."
        return own("Nothing was asked yet.\n", STRONG) + own(more, MUTED)
    return own("Nothing found.\n", STRONG) + own("esc clears the search.", MUTED)


def explained(error: AileronError) -> Content:
    """What is wrong, and what to do about it."""
    line = own("⚠ ", WARNING) + foreign_line(clip(inline(error.title), 300), WARNING)
    if error.detail:
        line += own(": ") + foreign_line(clip(inline(error.detail), 300))
    lost = isinstance(error, NoGate | Unanswered)
    more = "What is below may be stale; trying again." if lost else error.hint
    return line + own("  ") + foreign_line(more, MUTED) if more else line


def incomplete(missing: Mapping[str, AileronError]) -> Content:
    """Which sources are not in the list, or not all of them, and why."""
    parts = [
        foreign_line(name, STRONG) + own(": ") + foreign_line(clip(inline(error.title), _WIDEST))
        for name, error in missing.items()
    ]
    return own("⚠ not all of it is here: ", WARNING) + own(" · ").join(parts) + own("  r loads it again.", MUTED)


def chosen(outcome: str) -> Content:
    """The outcome to which the list is limited."""
    glyph, word = OUTCOMES.get(outcome, ("", "all"))
    return own("outcome ", MUTED) + own(f"{glyph} {word}".strip(), STRONG if glyph else "")
