"""A label with foreign text next to it. Wrapped rows continue below the text, never below the label."""

from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual


class HangingIndent(Visual):
    """One entry of a list. However narrow the list is, no wrapped row can look like another entry."""

    def __init__(self, label: Content, text: Content) -> None:
        self._label = label
        self._text = text

    def __str__(self) -> str:
        return f"{self._label}{self._text}"

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        """The label on the first row, and blanks in its place on the others."""
        left = self._label.cell_length
        label = self._label.render_strips(left, 1, style, options)
        blank = Strip.blank(left, style.rich_style)
        rows = self._text.render_strips(self._text_width(width), height, style, options)
        return [Strip.join([*(blank if number else strip for strip in label), row]) for number, row in enumerate(rows)]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """The width for everything on one row."""
        return self._label.cell_length + self._text.get_optimal_width(rules, container_width)

    def get_height(self, rules: RulesMap, width: int) -> int:
        """The number of rows of the text."""
        return self._text.get_height(rules, self._text_width(width))

    def _text_width(self, width: int) -> int:
        return max(1, width - self._label.cell_length)
