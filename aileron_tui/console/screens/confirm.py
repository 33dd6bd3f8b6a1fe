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
    """`y` confirms after a moment; every other key goes back, so that typing on confirms nothing."""

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
        """Takes the answer; a `y` that was typed before one could read is dropped, however long it is held down."""
        event.stop()
        if event.key != "y":
            self.dismiss(False)
        elif self._clock() - self._since >= self._seconds:
            self.dismiss(True)
        else:
            self.wait_anew()

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text is no answer."""
        event.stop()
        self.wait_anew()

    def on_screen_resume(self) -> None:
        """What was covered has to be read again."""
        self.wait_anew()

    def wait_anew(self) -> None:
        """From now on it takes a moment until `y` counts."""
        self._since = self._clock()


class TypedInput(Input):
    """A field that takes keys and nothing else."""

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()

    def action_paste(self) -> None:
        """The clipboard is not typed either."""


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
            yield TypedInput(placeholder="type the action's name")
            yield Static(own("enter confirms the typed name · esc goes back", MUTED))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Confirms only the very name."""
        if event.value == self._word:
            self.dismiss(True)
        else:
            event.input.value = ""
