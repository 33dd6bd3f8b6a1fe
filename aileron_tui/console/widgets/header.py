"""The header (name, connection, number of waiting requests) and the banner for sources in trouble."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from textual.content import Content

from aileron_tui.console.render import MUTED, foreign_line, foreign_short, trusted
from aileron_tui.console.widgets.cached_widget import CachedWidget
from aileron_tui.surface.source_listener import ConnectionState, SourceStatus

_GOOD, _BAD = "$text-success", "$text-warning"
_MIN_WIDTH_FOR_REASON = 12

Connection = tuple[str, str]
"""A text about the connection to the sources, and its style."""


def connection(statuses: Sequence[SourceStatus]) -> Connection:
    """Whether the sources are connected, in a few words."""
    count, live = len(statuses), sum(status.state is ConnectionState.LIVE for status in statuses)
    if count == 1:
        if live:
            return "● connected", _GOOD
        connecting = statuses[0].state is ConnectionState.CONNECTING
        return ("○ connecting", MUTED) if connecting else ("○ not connected", _BAD)
    if live == count:
        return f"● {count} sources", _GOOD
    if any(status.state in (ConnectionState.STALE, ConnectionState.OFFLINE) for status in statuses):
        return f"{'◐' if live else '○'} {live} of {count} sources", _BAD
    return f"{'◐' if live else '○'} {live} of {count} sources", MUTED


def banner(statuses: Mapping[str, SourceStatus], width: int, max_lines: int) -> list[Content]:
    """A line for each source that is not connected or is failing; the last line says how many did not fit."""
    lost = (ConnectionState.STALE, ConnectionState.OFFLINE)
    disconnected = {name: status for name, status in statuses.items() if status.state in lost}
    failing = {name: status for name, status in statuses.items() if status.problem}
    in_trouble = disconnected | failing
    if len(statuses) == 1:
        return [line for name, status in in_trouble.items() for line in _only_source_lines(name, status, width)]
    shown = list(in_trouble.items())[:max_lines]
    left = len(in_trouble) - len(shown)
    more = (f" +{left} more" if max_lines == 1 else f"  and {left} more") if left else ""
    return [
        _source_line(name, status, width, more if number == len(shown) else "")
        for number, (name, status) in enumerate(shown, 1)
    ]


def _only_source_lines(name: str, status: SourceStatus, width: int) -> list[Content]:
    """One line if the reason fits on it, else a second line with the reason."""
    if status.problem:
        who = foreign_line(name, "bold") if name else trusted("the gate")
        first = trusted("▲ ") + who + trusted(" is failing")
        both = first + trusted(": ") + foreign_line(status.problem)
        return [both] if both.cell_length <= width else [first, foreign_short(status.problem, width)]
    first = trusted(f"▲ not connected since {status.since}")
    for stale in (": requests may be out of date", ", stale") if status.state is ConnectionState.STALE else ():
        if first.cell_length + len(stale) <= width:
            first += trusted(stale)
            break
    both = first + trusted(". ") + foreign_line(status.why)
    if not status.why or both.cell_length <= width:
        return [both if status.why else first]
    return [first, foreign_short(status.why, width)]


def _source_line(name: str, status: SourceStatus, width: int, more: str) -> Content:
    """One line. A reason that does not fit is shown when the operator tries to answer."""
    words = "is failing" if status.problem else f"{status.state} since {status.since}"
    line = trusted("▲ ") + foreign_line(name, "bold") + trusted(f" {words}")
    room = width - line.cell_length - len(more) - 2
    if room >= _MIN_WIDTH_FOR_REASON:
        line += trusted(": ") + foreign_short(status.problem or status.why, room)
    return line + trusted(more)


class WaitingCount(NamedTuple):
    """How many requests wait, and how many of them are listed."""

    listed: int = 0
    all: int = 0

    @property
    def words(self) -> str:
        """The count, with the number that the filter lists if it hides some."""
        if not self.all:
            return "nothing waiting"
        return f"{self.all:,} waiting" if self.listed == self.all else f"{self.listed:,} of {self.all:,} waiting"


class Header(CachedWidget):
    """One line that is always on screen."""

    DEFAULT_CSS = "Header { height: 1; dock: top; }"

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[WaitingCount, Connection, tuple[str, ...]] = (WaitingCount(), ("", MUTED), ())

    def show(self, waiting: WaitingCount, state: Connection, notes: tuple[str, ...] = ()) -> None:
        """Shows the number of waiting requests, the connection, and trusted notes."""
        if (waiting, state, notes) != self._shown:
            self._shown = (waiting, state, notes)
            self.refresh()

    def render(self) -> Content:
        waiting, state, notes = self._shown
        right = Content.assemble((waiting.words, "bold" if waiting.all else MUTED), " ")
        room = self.size.width - right.cell_length - 1
        left = _left_side(state, notes, room)
        return Content.assemble(left, " " * max(1, room + 1 - left.cell_length), right)


def _left_side(state: Connection, notes: tuple[str, ...], room: int) -> Content:
    """The program's name, the connection and the notes.

    On a narrow screen the connection shrinks to its glyph, then the name goes, then notes are replaced by a count.
    """
    glyph = (state[0][:1], state[1])
    name = Content.assemble(" ", ("aileron", "bold"), "  ")
    starts = (Content.assemble(name, state), Content.assemble(name, glyph), Content.assemble(" ", glyph))
    for hidden in range(len(notes) + 1):
        shown = [*notes[: len(notes) - hidden], *([f"+{hidden}"] if hidden else [])]
        end = trusted("".join(f"  {note}" for note in shown), MUTED)
        for start in starts:
            if start.cell_length + end.cell_length <= room:
                return start + end
    return starts[0]
