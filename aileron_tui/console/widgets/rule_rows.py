"""The list of rules, each with its words, its inputs and its use."""

from collections.abc import Sequence
from datetime import datetime

from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from aileron_tui.console import rule_words as words
from aileron_tui.console.render import GUTTER_STYLE, MUTED, STRONG, foreign_line, trusted
from aileron_tui.console.widgets.hanging_indent import HangingIndent
from aileron_tui.core.rule_list import ListedRule
from aileron_tui.core.rule_words import rule_words
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class SourcedRule:
    """A rule and the name of its source."""

    source: str
    listed: ListedRule


class RuleEntry(Visual):
    """One rule. Its parts have different indents, so that no wrapped text looks like another part or another rule."""

    def __init__(self, rule: SourcedRule, now: datetime) -> None:
        listed = rule.listed
        style = STRONG if listed.in_force else MUTED
        mark = trusted("● " if listed.in_force else "○ ", style)
        self._parts = [HangingIndent(mark, foreign_line(rule_words(listed.rule, now), style))]
        if inputs := words.listed_inputs(listed.rule):
            self._parts.append(HangingIndent(trusted("    ") + trusted("▎ ", GUTTER_STYLE), inputs))
        use = words.listed_use(listed, now)
        if rule.source:
            use = foreign_line(rule.source, STRONG) + trusted(" · ", MUTED) + use
        self._parts.append(HangingIndent(trusted("    "), use))

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        """The strips of all parts, and an empty one."""
        strips = [strip for part in self._parts for strip in part.render_strips(width, None, style, options)]
        return [*strips, Strip.blank(width, style.rich_style)][:height]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """The width of the widest part."""
        return max(part.get_optimal_width(rules, container_width) for part in self._parts)

    def get_height(self, rules: RulesMap, width: int) -> int:
        """The number of rows of all parts, and an empty one."""
        return sum(part.get_height(rules, width) for part in self._parts) + 1


class RuleRows(OptionList):
    """The rules; the selected one stays selected when the list is loaded again."""

    def __init__(self) -> None:
        super().__init__()
        self._rules: tuple[SourcedRule, ...] = ()

    @property
    def current(self) -> SourcedRule | None:
        """The selected rule."""
        return self._rules[self.highlighted] if self.highlighted is not None and self._rules else None

    def show(self, rules: Sequence[SourcedRule], now: datetime) -> None:
        """Shows these rules."""
        before, place = self.current, self.highlighted or 0
        self._rules = tuple(rules)
        self.clear_options()
        self.add_options(Option(RuleEntry(rule, now)) for rule in rules)
        if not rules:
            return
        ids = [(rule.source, rule.listed.rule.id) for rule in rules]
        key = (before.source, before.listed.rule.id) if before else None
        self.highlighted = ids.index(key) if key in ids else min(place, len(rules) - 1)
