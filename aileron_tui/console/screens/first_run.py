"""The first screen of somebody who has set up nothing: says what is missing and offers ways to go on."""

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from typing import ClassVar, Final

from textual import on
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_hints import hint
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, STRONG, foreign_line, own
from aileron_tui.console.themes import THEMES, uses_terminal_colours
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.files.paths import bundled
from aileron_tui.signing.key_store import check_passphrase
from aileron_tui.signing.secret_memory import wipe


class FirstRunChoice(StrEnum):
    """How to go on."""

    DEMO = "demo"
    MAKE_KEY = "make-key"
    RUN_KEY = "run-key"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class FirstRunResult:
    """What was chosen; the passphrase is that of the key to make, and whoever takes it wipes it."""

    way: FirstRunChoice
    passphrase: bytearray = field(default_factory=bytearray)


_WAYS: Final = {
    FirstRunChoice.DEMO: ("See the demo", "A made-up agent on made-up mail. Nothing is kept."),
    FirstRunChoice.MAKE_KEY: ("Make a key and start", "Your answers are signed with it. A passphrase protects it."),
    FirstRunChoice.RUN_KEY: ("Start with a key for this run", "Nothing to remember. The key ends with this window."),
    FirstRunChoice.LEAVE: ("Leave", "Nothing was changed."),
}
_WAY_KEYS: Final = (hint("first_run.go_on"), hint("first_run.leave"))
_KEY_KEYS: Final = (hint("first_run.go_on", label="continue"), hint("first_run.back"))
_LOW: Final = 24


class FirstRunScreen(Screen[FirstRunResult]):
    """Offers the ways; making a key asks for its passphrase twice, here on the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.FIRST_RUN)]

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__()
        self._missing = missing

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="first-run", can_focus=False):
            yield Static(own("aileron", "bold $primary"))
            yield Static(own("You approve or deny what AI agents are about to do, before it happens."), classes="text")
            yield Static(self._situation(), id="situation", classes="text")
            yield OptionList(*(Option(_described(way), way) for way in FirstRunChoice), id="ways")
            yield Input(password=True, placeholder="passphrase", id="first", classes="key")
            yield Input(password=True, placeholder="the same again", id="second", classes="key")
            yield Static(id="note", classes="text")
        yield KeyLine(lambda _: _KEY_KEYS if self.has_class("-key") else _WAY_KEYS)

    def _situation(self) -> Content:
        return Content("\n").join(own("○ ", MUTED) + own(words) for words in self._missing)

    def on_mount(self) -> None:
        """The harmless way is at hand."""
        ways = self.query_one("#ways", OptionList)
        ways.highlighted = 0
        ways.focus()
        self._say("")

    def on_resize(self) -> None:
        """In a low window each way is one line."""
        low = self.size.height < _LOW
        self.set_class(low, "-low")
        ways = self.query_one("#ways", OptionList)
        for way in FirstRunChoice:
            ways.replace_option_prompt(way, _described(way, brief=low))

    @on(OptionList.OptionSelected, "#ways")
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        way = FirstRunChoice(str(event.option.id))
        if way is FirstRunChoice.MAKE_KEY:
            self._ask_passphrase()
        else:
            self.dismiss(FirstRunResult(way))

    def _ask_passphrase(self) -> None:
        self.add_class("-key")
        self.query_one("#first").focus()
        self._say("Choose a passphrase of at least 8 characters; several words are good.")

    @on(Input.Submitted, "#first")
    def _first_given(self, event: Input.Submitted) -> None:
        passphrase = bytearray(event.value.encode())
        try:
            check_passphrase(passphrase)
        except AileronError as error:
            self._clear()
            self._say(f"✗ {error}", "$text-error")
        else:
            self._say("Type it once more.")
            self.query_one("#second").focus()
        finally:
            wipe(passphrase)

    @on(Input.Submitted, "#second")
    def _second_given(self) -> None:
        first, second = self.query_one("#first", Input), self.query_one("#second", Input)
        passphrase = bytearray(first.value.encode())
        same = first.value == second.value
        try:
            if not same:
                raise AileronError("the two are not the same", hint="Type them again.")
            check_passphrase(passphrase)
        except AileronError as error:
            wipe(passphrase)
            self._clear()
            first.focus()
            self._say(f"✗ {error}", "$text-error")
            return
        self._clear()
        self.dismiss(FirstRunResult(FirstRunChoice.MAKE_KEY, passphrase))

    async def action_go_on(self) -> None:
        """The same as enter: takes the way that is pointed at, or what was typed."""
        if isinstance(self.focused, Input):
            await self.focused.action_submit()
        elif not self.has_class("-key"):
            self.query_one("#ways", OptionList).action_select()

    def action_back(self) -> None:
        """From the passphrase to the ways."""
        if self.has_class("-key"):
            self._clear()
            self.remove_class("-key")
            self.query_one("#ways").focus()
            self._say("")

    def action_leave(self) -> None:
        """Changes nothing."""
        self.dismiss(FirstRunResult(FirstRunChoice.LEAVE))

    def action_move(self, step: int) -> None:
        """Up or down."""
        ways = self.query_one("#ways", OptionList)
        if step > 0:
            ways.action_cursor_down()
        else:
            ways.action_cursor_up()

    def _clear(self) -> None:
        for field_ in self.query(".key").results(Input):
            field_.value = ""

    def _say(self, words: str, style: str = MUTED) -> None:
        note = self.query_one("#note", Static)
        note.display = bool(words)
        note.update(foreign_line(words, style))
        self.query_one(KeyLine).refresh()


class FirstRun(App[FirstRunResult]):
    """The first screen, by itself."""

    TITLE = "aileron"
    CSS_PATH: ClassVar[list[str]] = [  # type: ignore[assignment]  # Textual says so of its own subclasses too
        str(bundled("styles") / name) for name in ("base.tcss", "first_run.tcss")
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, missing: Sequence[str], theme: str) -> None:
        super().__init__(ansi_color=uses_terminal_colours(theme))
        self._missing = missing
        self._look = theme
        for known in THEMES:
            self.register_theme(known)

    def on_mount(self) -> None:
        """Shows the screen, and ends with what was chosen there."""
        self.theme = self._look
        self.push_screen(FirstRunScreen(self._missing), self.exit)


def _described(way: FirstRunChoice, *, brief: bool = False) -> Content:
    title, words = _WAYS[way]
    return own(title, STRONG) if brief else own(title, STRONG) + own("\n") + own(words, MUTED)
