"""The screen shown if nothing is set up yet: says what is missing and offers ways to start."""

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
from aileron_tui.console.render import MUTED, STRONG, foreign_line, trusted
from aileron_tui.console.themes import THEMES, uses_terminal_colours
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.files.paths import bundled
from aileron_tui.signing.key_store import check_passphrase
from aileron_tui.signing.secret_memory import wipe


class FirstRunChoice(StrEnum):
    """How the operator wants to continue."""

    DEMO = "demo"
    MAKE_KEY = "make-key"
    RUN_KEY = "run-key"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class FirstRunResult:
    """The choice, and the passphrase of the key to create. The caller must wipe the passphrase."""

    choice: FirstRunChoice
    passphrase: bytearray = field(default_factory=bytearray)


_CHOICES: Final = {
    FirstRunChoice.DEMO: ("Try the demo", "A scripted agent and sample mail. Nothing is saved."),
    FirstRunChoice.MAKE_KEY: ("Create a key and start", "It signs your answers. A passphrase protects it."),
    FirstRunChoice.RUN_KEY: ("Start with a temporary key", "No passphrase. The key exists only until you quit."),
    FirstRunChoice.LEAVE: ("Quit", "Nothing is changed."),
}
_CHOICE_KEYS: Final = (hint("first_run.go_on"), hint("first_run.leave"))
_PASSPHRASE_KEYS: Final = (hint("first_run.go_on", label="continue"), hint("first_run.back"))
_PURPOSE: Final = "Approve or deny what AI agents are about to do, before it happens."
_LOW_HEIGHT: Final = 24


class FirstRunScreen(Screen[FirstRunResult]):
    """Offers the choices. To create a key, it asks for the passphrase twice."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.FIRST_RUN)]

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__()
        self._missing = missing

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="first-run", can_focus=False):
            yield Static(trusted("aileron", "bold $primary"))
            yield Static(trusted(_PURPOSE), classes="text")
            yield Static(self._missing_lines(), id="situation", classes="text")
            yield OptionList(*(Option(_described(choice), choice) for choice in FirstRunChoice), id="ways")
            yield Input(password=True, placeholder="passphrase", id="first", classes="key")
            yield Input(password=True, placeholder="passphrase again", id="second", classes="key")
            yield Static(id="note", classes="text")
        yield KeyLine(lambda _: _PASSPHRASE_KEYS if self.has_class("-key") else _CHOICE_KEYS)

    def _missing_lines(self) -> Content:
        return Content("\n").join(trusted("○ ", MUTED) + trusted(words) for words in self._missing)

    def on_mount(self) -> None:
        """Focuses the first choice, which is harmless."""
        choices = self.query_one("#ways", OptionList)
        choices.highlighted = 0
        choices.focus()
        self._show_note("")

    def on_resize(self) -> None:
        """Shows each choice on one line in a low window."""
        low = self.size.height < _LOW_HEIGHT
        self.set_class(low, "-low")
        choices = self.query_one("#ways", OptionList)
        for choice in FirstRunChoice:
            choices.replace_option_prompt(choice, _described(choice, brief=low))

    @on(OptionList.OptionSelected, "#ways")
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        choice = FirstRunChoice(str(event.option.id))
        if choice is FirstRunChoice.MAKE_KEY:
            self._ask_passphrase()
        else:
            self.dismiss(FirstRunResult(choice))

    def _ask_passphrase(self) -> None:
        self.add_class("-key")
        self.query_one("#first").focus()
        self._show_note("Choose a passphrase of at least 8 characters; several words are best.")

    @on(Input.Submitted, "#first")
    def _first_submitted(self, event: Input.Submitted) -> None:
        passphrase = bytearray(event.value.encode())
        try:
            check_passphrase(passphrase)
        except AileronError as error:
            self._clear()
            self._show_note(f"✗ {error}", "$text-error")
        else:
            self._show_note("Type it again.")
            self.query_one("#second").focus()
        finally:
            wipe(passphrase)

    @on(Input.Submitted, "#second")
    def _second_submitted(self) -> None:
        first, second = self.query_one("#first", Input), self.query_one("#second", Input)
        passphrase = bytearray(first.value.encode())
        same = first.value == second.value
        try:
            if not same:
                raise AileronError("the passphrases do not match", hint="Type them again.")
            check_passphrase(passphrase)
        except AileronError as error:
            wipe(passphrase)
            self._clear()
            first.focus()
            self._show_note(f"✗ {error}", "$text-error")
            return
        self._clear()
        self.dismiss(FirstRunResult(FirstRunChoice.MAKE_KEY, passphrase))

    async def action_go_on(self) -> None:
        """Does the same as enter: takes the highlighted choice, or the typed passphrase."""
        if isinstance(self.focused, Input):
            await self.focused.action_submit()
        elif not self.has_class("-key"):
            self.query_one("#ways", OptionList).action_select()

    def action_back(self) -> None:
        """Goes back from the passphrase to the choices."""
        if self.has_class("-key"):
            self._clear()
            self.remove_class("-key")
            self.query_one("#ways").focus()
            self._show_note("")

    def action_leave(self) -> None:
        """Quits without changing anything."""
        self.dismiss(FirstRunResult(FirstRunChoice.LEAVE))

    def action_move(self, step: int) -> None:
        """Moves the cursor up or down."""
        choices = self.query_one("#ways", OptionList)
        if step > 0:
            choices.action_cursor_down()
        else:
            choices.action_cursor_up()

    def _clear(self) -> None:
        for field_ in self.query(".key").results(Input):
            field_.value = ""

    def _show_note(self, text: str, style: str = MUTED) -> None:
        note = self.query_one("#note", Static)
        note.display = bool(text)
        note.update(foreign_line(text, style))
        self.query_one(KeyLine).refresh()


class FirstRun(App[FirstRunResult]):
    """An app with only the first-run screen."""

    TITLE = "aileron"
    CSS_PATH: ClassVar[list[str]] = [  # type: ignore[assignment]  # as in Textual's own subclasses
        str(bundled("styles") / name) for name in ("base.tcss", "first_run.tcss")
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, missing: Sequence[str], theme: str) -> None:
        super().__init__(ansi_color=uses_terminal_colours(theme))
        self._missing = missing
        self._theme_name = theme
        for known in THEMES:
            self.register_theme(known)

    def on_mount(self) -> None:
        """Shows the screen, and exits with its result."""
        self.theme = self._theme_name
        self.push_screen(FirstRunScreen(self._missing), self.exit)


def _described(choice: FirstRunChoice, *, brief: bool = False) -> Content:
    title, description = _CHOICES[choice]
    return trusted(title, STRONG) if brief else trusted(title, STRONG) + trusted("\n") + trusted(description, MUTED)
