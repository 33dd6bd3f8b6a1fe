"""Why a request is denied, in words for the agent."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from aileron_tui.console.render import MUTED, foreign_line, own


class ReasonScreen(ModalScreen[str | None]):
    """One line to type. Enter denies, escape goes back."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "back")]

    def __init__(self, action: str) -> None:
        super().__init__()
        self._action = action

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(own("Deny ", "bold") + foreign_line(self._action) + own("?", "bold"))
            yield Input(placeholder="why, for the agent (may be empty)", max_length=500)
            yield Static(own("enter denies · esc goes back", MUTED))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A denial is safe, so Enter may give it once a person typed in this very form."""
        self.dismiss(event.value)
