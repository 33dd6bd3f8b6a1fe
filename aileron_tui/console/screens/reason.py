"""The dialog that asks why a request is denied; the agent is given the reason."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input, Static

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import foreign_line, trusted
from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.console.widgets.limited_input import LimitedInput
from aileron_tui.surface.arming import Arming


class ReasonScreen(Dialog[str | None]):
    """One line of text. Enter denies, escape goes back."""

    SCOPE = KeyScope.REASON
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.REASON)]

    def __init__(self, action: str, arming: Arming | None = None) -> None:
        super().__init__(arming)
        self._action = action

    def parts(self) -> ComposeResult:
        yield Static(trusted("Deny ", "bold") + foreign_line(self._action) + trusted("?", "bold"), classes="question")
        yield LimitedInput(placeholder="reason (optional)", max_length=500)

    async def action_submit(self) -> None:
        """Does the same as enter in the field."""
        await self.query_one(Input).action_submit()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Denies the request. Enter may send a denial, because nothing runs then."""
        self.dismiss(event.value)
