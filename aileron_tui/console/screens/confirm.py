"""Asking once more: high risk, or quitting while something waits. The safe choice is the one at hand."""

from collections.abc import Callable
from time import monotonic
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from aileron_tui.console.render import MUTED, own


class ConfirmScreen(ModalScreen[bool]):
    """`y` confirms after a moment; every other key goes back."""

    def __init__(
        self, question: Content, detail: Content, *, seconds: float, clock: Callable[[], float] = monotonic
    ) -> None:
        super().__init__()
        self._question = question
        self._detail = detail
        self._seconds = seconds
        self._clock = clock
        self._since = clock()

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._question, classes="question")
            yield Static(self._detail)
            yield Static(own("n", "bold $primary") + own(" no, go back    ") + own("y", "bold $primary") + own(" yes"))

    def on_key(self, event: events.Key) -> None:
        """Takes the answer; a `y` that was typed before one could read is dropped."""
        event.stop()
        if event.key == "y":
            if self._clock() - self._since >= self._seconds:
                self.dismiss(True)
        elif event.key in ("n", "escape", "q", "enter"):
            self.dismiss(False)

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text is no answer."""
        event.stop()
        self._since = self._clock()


class TypedConfirmScreen(ModalScreen[bool]):
    """The name has to be typed; pasting does not count."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(False)", "back")]

    def __init__(self, question: Content, word: str) -> None:
        super().__init__()
        self._question = question
        self._word = word

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._question, classes="question")
            yield Input(placeholder="type the action's name")
            yield Static(own("enter confirms the typed name · esc goes back", MUTED))

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text is no answer."""
        event.stop()
        event.prevent_default()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Confirms only the very name."""
        if event.value == self._word:
            self.dismiss(True)
        else:
            event.input.value = ""
