"""A word of ours with foreign text beside it: what wraps goes on below the text, never below the word."""

from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual


class HangingIndent(Visual):
    """One entry of a list. Nothing in the text can pass for the next entry, however wide the list is."""

    def __init__(self, word: Content, text: Content) -> None:
        self._word = word
        self._text = text

    def __str__(self) -> str:
        return f"{self._word}{self._text}"

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        """The word on the first row, and blanks in its place on the others."""
        left = self._word.cell_length
        word = self._word.render_strips(left, 1, style, options)
        blank = Strip.blank(left, style.rich_style)
        rows = self._text.render_strips(self._room(width), height, style, options)
        return [Strip.join([*(blank if number else strip for strip in word), row]) for number, row in enumerate(rows)]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """All on one row."""
        return self._word.cell_length + self._text.get_optimal_width(rules, container_width)

    def get_height(self, rules: RulesMap, width: int) -> int:
        """The rows of the text."""
        return self._text.get_height(rules, self._room(width))

    def _room(self, width: int) -> int:
        return max(1, width - self._word.cell_length)
