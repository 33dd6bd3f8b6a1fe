"""Warnings about a value, shown next to it."""

from collections.abc import Iterable

from textual.content import Content

from aileron_tui.console.render import STRONG_WARNING, WARNING, foreign_line, trusted
from aileron_tui.console.widgets.line_widget import LineWidget

_SIGN = "⚠ "


def warning_lines(warnings: Iterable[str], width: int) -> list[Content]:
    """The lines of each warning. A sign in front makes them recognizable without colour."""
    sign, indent = trusted(_SIGN, STRONG_WARNING), trusted(" " * len(_SIGN))
    return [
        Content.assemble(indent if number else sign, line)
        for warning in warnings
        for number, line in enumerate(foreign_line(warning, WARNING).wrap(max(1, width - len(_SIGN))))
    ]


class WarningLines(LineWidget):
    """Shows warnings; takes no room if there are none."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: tuple[str, ...] = ()
        self.display = False

    @property
    def content(self) -> object:
        """The warnings."""
        return self.shown

    def show(self, warnings: tuple[str, ...]) -> None:
        """Shows these warnings instead."""
        if warnings != self.shown:
            self.shown = warnings
            self.display = bool(warnings)
            self.refresh(layout=True)

    def lines_at(self, width: int) -> list[Content]:
        """The lines of all warnings."""
        return warning_lines(self.shown, width)
