"""The top lines: what this is, whether the sources can be heard, how much waits, and below it what is wrong."""

from collections.abc import Mapping, Sequence

from textual.content import Content

from aileron_tui.console.render import MUTED, foreign_line, foreign_short, own
from aileron_tui.console.widgets.cached_widget import CachedWidget
from aileron_tui.surface.source_listener import ConnectionState, SourceStatus

_GOOD, _BAD = "$text-success", "$text-warning"
_ROOM_FOR_REASON = 12

Connection = tuple[str, str]
"""Our words on whether the sources can be heard, and their style."""


def connection(statuses: Sequence[SourceStatus]) -> Connection:
    """Whether the sources can be heard, in a few words."""
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


def banner(statuses: Mapping[str, SourceStatus], width: int, most: int) -> list[Content]:
    """A line for each source that cannot be heard, at most so many, and how many others there are."""
    silent = {
        name: status
        for name, status in statuses.items()
        if status.state in (ConnectionState.STALE, ConnectionState.OFFLINE)
    }
    if len(statuses) == 1:
        return [line for status in silent.values() for line in _alone(status, width)]
    shown = list(silent.items())[:most]
    left = len(silent) - len(shown)
    more = (f" +{left} more" if most == 1 else f"  and {left} more") if left else ""
    return [
        _named(name, status, width, more if place == len(shown) else "")
        for place, (name, status) in enumerate(shown, 1)
    ]


def _alone(status: SourceStatus, width: int) -> list[Content]:
    """One line if it fits, else a second with the reason."""
    first = own(f"▲ not connected since {status.since}")
    for stale in (": what is shown may be out of date", ", stale") if status.state is ConnectionState.STALE else ():
        if first.cell_length + len(stale) <= width:
            first += own(stale)
            break
    both = first + own(". ") + foreign_line(status.why)
    if not status.why or both.cell_length <= width:
        return [both if status.why else first]
    return [first, foreign_short(status.why, width)]


def _named(name: str, status: SourceStatus, width: int, more: str) -> Content:
    """On one line; a reason for which there is no room is told when one tries to answer."""
    line = own("▲ ") + foreign_line(name, "bold") + own(f" {status.state} since {status.since}")
    room = width - line.cell_length - len(more) - 2
    if room >= _ROOM_FOR_REASON:
        line += own(": ") + foreign_short(status.why, room)
    return line + own(more)


class Header(CachedWidget):
    """One line, always there."""

    DEFAULT_CSS = "Header { height: 1; dock: top; }"

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[int, Connection, tuple[str, ...]] = (0, ("", MUTED), ())

    def show(self, waiting: int, state: Connection, notes: tuple[str, ...] = ()) -> None:
        """What the line says; `notes` are our own words."""
        if (waiting, state, notes) != self._shown:
            self._shown = (waiting, state, notes)
            self.refresh()

    def render(self) -> Content:
        waiting, state, notes = self._shown
        words = f"{waiting:,} waiting" if waiting else "nothing waits"
        right = Content.assemble((words, "bold" if waiting else MUTED), " ")
        room = self.size.width - right.cell_length - 1
        left = _left(state, notes, room)
        return Content.assemble(left, " " * max(1, room + 1 - left.cell_length), right)


def _left(state: Connection, notes: tuple[str, ...], room: int) -> Content:
    """Notes matter more than our name and the words beside the glyph; those that still do not fit are counted."""
    glyph = (state[0][:1], state[1])
    name = Content.assemble(" ", ("aileron", "bold"), "  ")
    starts = (Content.assemble(name, state), Content.assemble(name, glyph), Content.assemble(" ", glyph))
    for hidden in range(len(notes) + 1):
        told = [*notes[: len(notes) - hidden], *([f"+{hidden}"] if hidden else [])]
        piece = own("".join(f"  {note}" for note in told), MUTED)
        for start in starts:
            if start.cell_length + piece.cell_length <= room:
                return start + piece
    return starts[0]
