"""Why a request is denied, in words for the agent."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from aileron_tui.console.render import foreign_line, own
from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.surface.arming import Arming


class ReasonScreen(Dialog[str | None]):
    """One line to type. Enter denies, escape goes back."""

    DECIDES = "submit"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "goes back"),
        Binding("enter", "submit", "denies"),
    ]

    def __init__(self, action: str, arming: Arming | None = None) -> None:
        super().__init__(arming)
        self._action = action

    def parts(self) -> ComposeResult:
        yield Static(own("Deny ", "bold") + foreign_line(self._action) + own("?", "bold"), classes="question")
        yield Input(placeholder="why? (may be empty)", max_length=500)

    async def action_submit(self) -> None:
        """The same as enter in the field."""
        await self.query_one(Input).action_submit()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A denial is safe, so Enter may give it once a person typed in this very form."""
        self.dismiss(event.value)
