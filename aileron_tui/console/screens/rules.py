"""The rules in force: what each answers, who made it, how often it was used and when it ends. One key ends one."""

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_hints import footer, hint
from aileron_tui.console.key_reasons import KeyState
from aileron_tui.console.key_table import BY_ID, bindings
from aileron_tui.console.render import MUTED, STRONG, WARNING, foreign_line, foreign_short, trusted
from aileron_tui.console.rule_making import RULES
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.console.widgets.rule_rows import RuleRows, SourcedRule
from aileron_tui.core.errors import AileronError
from aileron_tui.core.rule_list import ListedRule
from aileron_tui.core.rule_words import rule_words
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import short
from aileron_tui.files.paths import bundled
from aileron_tui.runtime.errors import NoReply
from aileron_tui.surface.board import Tone

if TYPE_CHECKING:
    from aileron_tui.console.port import ConsolePort

_LONGEST_TROUBLE: Final = 300
_LONGEST_WORDS: Final = 200


class RulesScreen(Screen[None]):
    """The rules of all sources. A source that fails is named, and the rules of the others are still shown."""

    CSS_PATH = str(bundled("styles") / "rules.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.RULES)]
    SCOPE: ClassVar = KeyScope.RULES
    AUTO_FOCUS = "RuleRows"

    def __init__(self, port: "ConsolePort") -> None:
        super().__init__()
        self._port = port
        self._keymap = port.keymap_in_use
        self._rules: dict[str, tuple[ListedRule, ...]] = {}
        self._trouble: dict[str, str] = {}
        self._shows_ended = False

    def compose(self) -> ComposeResult:
        yield Static(id="rules-title")
        yield Static(id="rules-trouble")
        yield RuleRows()
        yield Static(id="rules-empty")
        yield KeyLine(partial(footer, KeyScope.RULES, overrides=self._keymap))

    def on_mount(self) -> None:
        """Loads the rules."""
        self.action_reload()

    # loading

    def action_reload(self) -> None:
        """Loads the rules of every source in threads."""
        for name in self._port.statuses:
            self._port.run_blocking(RULES, name, partial(self._load, name))
        self._show()

    def _load(self, name: str) -> None:
        """In a thread: reads the rules of one source."""
        source = self._port.source(name)
        try:
            if source is None:
                raise AileronError("not connected")
            rules = source.rules()
        except AileronError as error:
            self._port.report(self._failed, name, str(error))
        else:
            self._port.report(self._loaded, name, rules)

    def _loaded(self, name: str, rules: tuple[ListedRule, ...]) -> None:
        self._rules[name] = rules
        self._trouble.pop(name, None)
        self._show()

    def _failed(self, name: str, why: str) -> None:
        self._trouble[name] = why
        self._show()

    # what is shown

    def _show(self) -> None:
        if not self.is_running:
            return
        several = len(self._port.statuses) > 1
        every = [
            SourcedRule(name if several else "", listed) for name, rules in self._rules.items() for listed in rules
        ]
        in_force = [rule for rule in every if rule.listed.in_force]
        ended = [rule for rule in every if not rule.listed.in_force]
        rows = self.query_one(RuleRows)
        rows.show([*in_force, *ended] if self._shows_ended else in_force, utc_now())
        self._show_title(len(in_force), len(ended))
        self._show_trouble(several)
        loading = not self._rules and not self._trouble
        empty = self.query_one("#rules-empty", Static)
        empty.display = not rows.option_count and (loading or bool(self._rules))
        rows.display = bool(rows.option_count)
        empty.update(trusted("loading…", MUTED) if loading else self._how_to_make_one())
        if rows.display and self.focused is None:
            rows.focus()

    def _show_title(self, in_force: int, ended: int) -> None:
        count = f"{in_force:,} rule{'' if in_force == 1 else 's'} in force" if in_force else "Rules"
        title = trusted(count, STRONG)
        if ended:
            word = "hides" if self._shows_ended else "shows"
            key = hint("rules.ended", self._keymap, label=f"{word} {ended:,} ended").text
            title += trusted(f" · {key}", MUTED)
        self.query_one("#rules-title", Static).update(title)

    def _show_trouble(self, several: bool) -> None:
        lines = [
            trusted("⚠ ", WARNING) + foreign_short(f"{name}: {why}" if several else why, _LONGEST_TROUBLE, WARNING)
            for name, why in self._trouble.items()
        ]
        trouble = self.query_one("#rules-trouble", Static)
        trouble.display = bool(lines)
        trouble.update(Content("\n").join(lines))

    def _how_to_make_one(self) -> Content:
        key = hint("rule", self._keymap, label="makes").text
        words = f"\n{key} a rule from the request on screen: calls like it are then allowed without asking."
        return trusted("No rules in force.", STRONG) + trusted(words, MUTED)

    # keys

    @property
    def key_state(self) -> KeyState:
        """What decides which keys can be used now."""
        current = self.query_one(RuleRows).current
        return KeyState(
            console_problem=self._port.answer_problem(),
            has_rule=current is not None,
            rule_ended=current is not None and not current.listed.in_force,
        )

    def action_down(self) -> None:
        """Moves to the next rule."""
        self.query_one(RuleRows).action_cursor_down()

    def action_up(self) -> None:
        """Moves to the previous rule."""
        self.query_one(RuleRows).action_cursor_up()

    def action_ended(self) -> None:
        """Shows or hides rules that have ended."""
        self._shows_ended = not self._shows_ended
        self._show()

    def action_help(self) -> None:
        """Shows the keys of this screen."""
        from aileron_tui.console.screens.help import HelpScreen  # noqa: PLC0415  # screens load when opened

        self.app.push_screen(HelpScreen(KeyScope.RULES, keymap=self._keymap))

    def action_back(self) -> None:
        """Closes the screen."""
        self.dismiss()

    # ending a rule

    def action_end(self) -> None:
        """Asks whether to end the selected rule."""
        from aileron_tui.console.screens.confirm import ConfirmScreen  # noqa: PLC0415  # screens load when opened

        if why := BY_ID["rules.end"].why_not(self.key_state):
            self._port.show_message(why)
            return
        rule = self.query_one(RuleRows).current
        if rule is None:
            return
        words = rule_words(rule.listed.rule, utc_now())
        detail = trusted("Its calls are asked about again.", MUTED)
        named = [Static(foreign_line(words)), Static("")]
        question = trusted("End this rule now?", STRONG)
        self.app.push_screen(ConfirmScreen(question, detail, self._port.arming, named), partial(self._end, rule))

    def _end(self, rule: SourcedRule, sure: bool | None) -> None:
        if sure:
            name = rule.source or next(iter(self._port.statuses), "")
            self._port.run_blocking(RULES, name, partial(self._sign_end, name, rule.listed))

    def _sign_end(self, name: str, listed: ListedRule) -> None:
        """In a thread: signs the end of a rule, and loads the rules again."""
        source, words = self._port.source(name), rule_words(listed.rule, utc_now())
        try:
            if source is None:
                raise AileronError("not connected: the rule was not ended")
            source.end_rule(listed.rule.id)
        except NoReply as error:
            self._port.report(self._port.show_message, f"unknown whether the rule has ended: {error}", Tone.BAD)
        except AileronError as error:
            self._port.report(self._port.show_message, str(error), Tone.BAD)
        else:
            message = f"Rule ended: {short(words[0].lower() + words[1:], _LONGEST_WORDS)}"
            self._port.report(self._port.show_message, message, Tone.GOOD)
        self._load(name)
