"""Warnings about a value, in words that stand beside it."""

from collections.abc import Iterable

from textual.content import Content

from aileron_tui.console.render import LOUD, WARNING, foreign_line, own
from aileron_tui.console.widgets.line_widget import LineWidget

_SIGN = "⚠ "


def notices(sentences: Iterable[str], width: int) -> list[Content]:
    """The lines of each sentence, with a sign in front so that the colour is not needed."""
    sign, indent = own(_SIGN, LOUD), own(" " * len(_SIGN))
    return [
        Content.assemble(indent if number else sign, line)
        for sentence in sentences
        for number, line in enumerate(foreign_line(sentence, WARNING).wrap(max(1, width - len(_SIGN))))
    ]


class WarningLines(LineWidget):
    """Warnings that take no room while there are none."""

    def __init__(self) -> None:
        super().__init__()
        self._sentences: tuple[str, ...] = ()
        self.display = False

    def show(self, sentences: tuple[str, ...]) -> None:
        """These warnings, or none."""
        if sentences != self._sentences:
            self._sentences = sentences
            self.display = bool(sentences)
            self.refresh(layout=True)

    def lines_at(self, width: int) -> list[Content]:
        """All of them."""
        return notices(self._sentences, width)
