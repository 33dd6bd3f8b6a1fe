"""The texts of the history screen."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from textual.content import Content

from aileron_tui.console.render import ACCENT, MUTED, STRONG, WARNING, foreign_line, trusted
from aileron_tui.core.errors import AileronError
from aileron_tui.core.outcome_words import outcome_glyph
from aileron_tui.core.visible_text import short
from aileron_tui.runtime.errors import NoGate, NoReply
from aileron_tui.surface.history_query import HistoryQuery

_MAX_WIDTH: Final = 120
_GAP: Final = 3


class HistoryListState(NamedTuple):
    """The state of the list: how many requests are loaded, whether there are more, and whether there was an error.

    `new_above` is how many new requests are above the screen, `pace` is about the operator's last decisions.
    """

    loaded: int
    has_older: bool
    is_loading: bool
    has_error: bool
    query: HistoryQuery
    new_above: int = 0
    pace: str = ""


def title(state: HistoryListState, message: Content, heading: str = "History", width: int = 0) -> Content:
    """The title; `message` says what the last key did. The pace is on the right, or on a line of its own."""
    if state.is_loading:
        words = "loading…"
    elif state.has_older:
        words = f"{state.loaded:,} loaded, more below"
    else:
        words = f"{state.loaded:,} {'in total' if state.query.all else 'found'}" if state.loaded else ""
    line = trusted(heading, STRONG) + trusted(f"  {words}", MUTED)
    if state.new_above:
        line += trusted(f"  ↑ {state.new_above:,} new", ACCENT)
    if message.plain:
        line += trusted("  ") + message
    if not state.pace:
        return line
    room = width - line.cell_length - len(state.pace)
    return line + trusted(" " * room if room >= _GAP else "\n") + trusted(state.pace, MUTED)


def end_note(state: HistoryListState) -> Content:
    """The line below the last request."""
    if state.is_loading:
        return trusted("loading more…", MUTED)
    if state.has_older:
        return trusted("more below", MUTED)
    return trusted("end of the list" if state.loaded else "", MUTED)


def empty_text(state: HistoryListState) -> Content:
    """The text in place of an empty list."""
    if state.is_loading:
        return trusted("loading…", MUTED)
    if state.has_error:
        return trusted("The history could not be loaded.", MUTED)
    if state.query.all:
        more = "Requests and their outcomes will appear here."
        return trusted("No requests yet.\n", STRONG) + trusted(more, MUTED)
    return trusted("Nothing found.\n", STRONG) + trusted("Press esc to clear the search.", MUTED)


def error_line(error: AileronError) -> Content:
    """The error, and what to do about it."""
    line = trusted("⚠ ", WARNING) + foreign_line(short(error.title, 300), WARNING)
    if error.detail:
        line += trusted(": ") + foreign_line(short(error.detail, 300))
    disconnected = isinstance(error, NoGate | NoReply)
    more = "The list may be out of date; retrying." if disconnected else error.hint
    return line + trusted("  ") + foreign_line(more, MUTED) if more else line


def incomplete_line(missing: Mapping[str, AileronError]) -> Content:
    """Names the sources whose requests are missing or incomplete, and why."""
    parts = [
        foreign_line(name, STRONG) + trusted(": ") + foreign_line(short(error.title, _MAX_WIDTH))
        for name, error in missing.items()
    ]
    hint = trusted("  Press r to reload.", MUTED)
    return trusted("⚠ History is incomplete: ", WARNING) + trusted(" · ").join(parts) + hint


def outcome_filter(outcome: str) -> Content:
    """The outcome by which the list is filtered, "" for all."""
    words = f"{outcome_glyph(outcome)} {outcome}".strip()
    return trusted("outcome ", MUTED) + trusted(words or "all", STRONG if words else "")
