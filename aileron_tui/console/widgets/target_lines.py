"""The recipients or targets of a request, named once more before high risk is approved."""

from textual.content import Content
from textual.visual import VisualType
from textual.widgets import Static

from aileron_tui.console.render import GUTTER_STYLE, MUTED, STRONG, foreign_short, trusted
from aileron_tui.console.widgets.hanging_indent import HangingIndent
from aileron_tui.core.prompt import Prompt
from aileron_tui.core.summary import targets

_MOST, _LONGEST_LABEL, _LONGEST_VALUE = 4, 16, 200
_MOST_IF_LOW, _LONGEST_LABEL_IF_LOW, _LONGEST_VALUES_IF_LOW = 2, 11, 80


def target_lines(prompt: Prompt, *, low: bool) -> list[Static]:
    """A line for each target. A `low` window shows fewer and less of each, so that the keys stay visible."""
    rows = targets(prompt)
    named = rows[: _MOST_IF_LOW if low else _MOST]
    room = _LONGEST_VALUES_IF_LOW // max(1, len(named)) if low else _LONGEST_VALUE
    shown: list[VisualType] = []
    for row in named:
        label = foreign_short(row.label, _LONGEST_LABEL_IF_LOW if low else _LONGEST_LABEL, MUTED)
        indent = trusted("  ") + label + trusted(" ▎ ", GUTTER_STYLE)
        shown.append(HangingIndent(indent, foreign_short(row.value, room, STRONG)))
    if more := len(rows) - len(named):
        shown.append(trusted(f"  and {more:,} more", MUTED))
    if shown and not low:
        shown.append(Content(""))
    return [Static(line, classes="target") for line in shown]
