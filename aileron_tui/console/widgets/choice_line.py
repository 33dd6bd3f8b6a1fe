"""A line of choices, one of which is chosen; each can be clicked."""

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.message import Message

from aileron_tui.console.key_hints import GAP
from aileron_tui.console.render import MUTED, STRONG, trusted
from aileron_tui.console.widgets.line_widget import LineWidget


class ChoiceLine(LineWidget):
    """Choices next to each other, in as many rows as needed. Its state is visible without colour."""

    ALLOW_SELECT = False

    class Chosen(Message):
        """A choice was clicked."""

        def __init__(self, line: "ChoiceLine", number: int) -> None:
            super().__init__()
            self.line = line
            self.number = number

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._choices: tuple[str, ...] = ()
        self._chosen = 0

    def show(self, choices: Sequence[str], chosen: int) -> None:
        """Shows these choices, all of them trusted text."""
        old_height = self.height_at(self.size.width)
        self._choices, self._chosen = tuple(choices), chosen
        self.refresh_lines(old_height)

    def _rows(self, width: int) -> list[list[int]]:
        """The numbers of the choices in each row."""
        rows: list[list[int]] = [[]]
        used = 0
        for number, choice in enumerate(self._choices):
            needed = len(choice) + 2
            if rows[-1] and used + len(GAP) + needed > width:
                rows.append([])
                used = 0
            used += needed + (len(GAP) if rows[-1] else 0)
            rows[-1].append(number)
        return rows if rows[0] else []

    def lines_at(self, width: int) -> list[Content]:
        """The rows as content."""
        return [trusted(GAP).join(self._choice(number) for number in row) for row in self._rows(width)]

    def _choice(self, number: int) -> Content:
        chosen = number == self._chosen
        return trusted(f"{'●' if chosen else '○'} {self._choices[number]}", STRONG if chosen else MUTED)

    def on_click(self, event: events.Click) -> None:
        """Reports which choice was clicked."""
        offset = event.get_content_offset(self)
        rows = self._rows(self.size.width)
        if offset is None or offset.y >= len(rows):
            return
        end = 0
        for number in rows[offset.y]:
            start, end = end, end + len(self._choices[number]) + 2
            if start <= offset.x < end:
                self.post_message(self.Chosen(self, number))
                return
            end += len(GAP)
