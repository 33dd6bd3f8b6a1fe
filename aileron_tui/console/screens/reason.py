"""Why a request is denied, in words for the agent."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input, Static

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import foreign_line, own
from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.surface.arming import Arming


class ReasonScreen(Dialog[str | None]):
    """One line to type. Enter denies, escape goes back."""

    SCOPE = KeyScope.REASON
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.REASON)]

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
