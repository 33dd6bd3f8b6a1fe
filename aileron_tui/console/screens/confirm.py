"""Asking once more: high risk, or quitting while something waits. The safe choice is the one at hand."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static

from aileron_tui.console.actions import KeyHint
from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.surface.arming import Arming


class ConfirmScreen(Dialog[bool]):
    """`y` confirms, with an `arming` after a moment; every other key goes back, so that typing on confirms nothing."""

    DECIDES = "yes"

    def __init__(self, question: Content, detail: Content, arming: Arming | None = None) -> None:
        super().__init__(arming)
        self._question = question
        self._detail = detail

    def parts(self) -> ComposeResult:
        yield Static(self._question, classes="question")
        yield Static(self._detail, classes="detail")

    def keys(self) -> tuple[KeyHint, ...]:
        return KeyHint("n", "no, go back", "no"), KeyHint("y", "yes", "yes")

    def on_key(self, event: events.Key) -> None:
        """Takes the answer; a `y` that was typed before one could read is dropped, however long it is held down."""
        event.stop()
        if event.key != "y":
            self.action_no()
        else:
            self.action_yes()

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text is no answer."""
        event.stop()
        self.arming.pasted()

    def action_no(self) -> None:
        """Goes back."""
        self.dismiss(False)

    def action_yes(self) -> None:
        """Confirms."""
        if not self.refuses("yes"):
            self.dismiss(True)


class TypedInput(Input):
    """A field that takes keys and nothing else."""

    def on_paste(self, event: events.Paste) -> None:
        """Ignores pasted text."""
        event.stop()
        event.prevent_default()

    def action_paste(self) -> None:
        """The clipboard is not typed either."""


class TypedConfirmScreen(Dialog[bool]):
    """The name has to be typed; pasting does not count."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(False)", "goes back"),
        Binding("enter", "submit", "confirms the typed name"),
    ]

    def __init__(self, question: Content, word: str) -> None:
        super().__init__()
        self._question = question
        self._word = word

    def parts(self) -> ComposeResult:
        yield Static(self._question, classes="question")
        yield TypedInput(placeholder="type the action's name")

    async def action_submit(self) -> None:
        """The same as enter in the field."""
        await self.query_one(Input).action_submit()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Confirms only the very name."""
        if event.value == self._word:
            self.dismiss(True)
        else:
            event.input.value = ""
