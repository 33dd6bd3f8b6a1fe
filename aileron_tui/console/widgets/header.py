"""The top line: what this is, whether the gate can be heard, and how much waits."""

from textual.content import Content
from textual.widget import Widget

from aileron_tui.console.render import MUTED


class Header(Widget):
    """One line, always there."""

    DEFAULT_CSS = "Header { height: 1; dock: top; }"

    def __init__(self) -> None:
        super().__init__()
        self._waiting = 0
        self._trouble = ""
        self._notes: tuple[str, ...] = ()

    def show(self, waiting: int, trouble: str, notes: tuple[str, ...] = ()) -> None:
        """What the line says: `trouble` is why the gate cannot be heard, "" if it can; `notes` are our own words."""
        if (waiting, trouble, notes) != (self._waiting, self._trouble, self._notes):
            self._waiting, self._trouble, self._notes = waiting, trouble, notes
            self.refresh()

    def render(self) -> Content:
        state = ("○ not connected", "$text-warning") if self._trouble else ("● connected", "$text-success")
        left = Content.assemble(" ", ("aileron", "bold"), "  ", state)
        words = f"{self._waiting:,} waiting" if self._waiting else "nothing waits"
        right = Content.assemble((words, "bold" if self._waiting else MUTED), " ")
        room = self.size.width - right.cell_length - 1
        for note in self._notes:
            piece = Content.assemble((f"  {note}", MUTED))
            left += piece if left.cell_length + piece.cell_length <= room else Content("")
        return Content.assemble(left, " " * max(1, room + 1 - left.cell_length), right)
