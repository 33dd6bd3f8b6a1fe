"""Warnings about a value, shown next to it."""

from collections.abc import Iterable

from textual.content import Content

from aileron_tui.console.render import MUTED, STRONG_WARNING, WARNING, foreign_line, trusted
from aileron_tui.console.widgets.line_widget import LineWidget

_SIGN = "⚠ "
_NOTE_SIGN = "· "


def warning_lines(warnings: Iterable[str], width: int) -> list[Content]:
    """The lines of each warning. A sign in front makes them recognizable without colour."""
    return _sentence_lines(warnings, width, trusted(_SIGN, STRONG_WARNING), WARNING)


def note_lines(notes: Iterable[str], width: int) -> list[Content]:
    """The lines of each note, which only informs: the `xn--` form of a host, for example."""
    return _sentence_lines(notes, width, trusted(_NOTE_SIGN, MUTED), MUTED)


def _sentence_lines(sentences: Iterable[str], width: int, sign: Content, style: str) -> list[Content]:
    indent = trusted(" " * len(_SIGN))
    return [
        Content.assemble(indent if number else sign, line)
        for sentence in sentences
        for number, line in enumerate(foreign_line(sentence, style).wrap(max(1, width - len(_SIGN))))
    ]


class WarningLines(LineWidget):
    """Shows warnings and notes; takes no room if there are none."""

    def __init__(self) -> None:
        super().__init__()
        self._warnings: tuple[str, ...] = ()
        self._notes: tuple[str, ...] = ()
        self.display = False

    def show(self, warnings: tuple[str, ...], notes: tuple[str, ...] = ()) -> None:
        """Shows these warnings and notes instead."""
        if (warnings, notes) != (self._warnings, self._notes):
            self._warnings, self._notes = warnings, notes
            self.display = bool(warnings or notes)
            self.refresh(layout=True)

    def lines_at(self, width: int) -> list[Content]:
        """The lines of all warnings, then of all notes."""
        return warning_lines(self._warnings, width) + note_lines(self._notes, width)
