"""Confirmations: of high risk, or of quitting while requests are waiting. The safe choice comes first."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input, Static

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import at, bindings
from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.surface.arming import Arming


class ConfirmScreen(Dialog[bool]):
    """`y` confirms; with an `arming`, only after a moment. Every other key goes back, so typing confirms nothing."""

    SCOPE = KeyScope.CONFIRM

    def __init__(
        self, question: Content, detail: Content, arming: Arming | None = None, named: Sequence[Static] = ()
    ) -> None:
        super().__init__(arming)
        self._question = question
        self._detail = detail
        self._named = named

    def parts(self) -> ComposeResult:
        yield Static(self._question, classes="question")
        yield from self._named
        yield Static(self._detail, classes="detail")

    def on_key(self, event: events.Key) -> None:
        """Handles the answer. A `y` that comes too early is ignored, even if the key is held down."""
        event.stop()
        action = at(self.SCOPE, event.key)
        if action is not None and action.armed:
            self.action_yes()
        else:
            self.action_no()

    def on_paste(self, event: events.Paste) -> None:
        """Ignores pasted text, which is not an answer."""
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
    """A field that accepts only typed text."""

    def on_paste(self, event: events.Paste) -> None:
        """Ignores pasted text."""
        event.stop()
        event.prevent_default()

    def action_paste(self) -> None:
        """Ignores the clipboard."""


class TypedConfirmScreen(Dialog[bool]):
    """Confirms once the action's name is typed; it cannot be pasted."""

    SCOPE = KeyScope.TYPED_CONFIRM
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.TYPED_CONFIRM)]

    def __init__(self, question: Content, word: str, named: Sequence[Static] = ()) -> None:
        super().__init__()
        self._question = question
        self._word = word
        self._named = named

    def parts(self) -> ComposeResult:
        yield Static(self._question, classes="question")
        yield from self._named
        yield TypedInput(placeholder="type the action's name")

    async def action_submit(self) -> None:
        """Does the same as enter in the field."""
        await self.query_one(Input).action_submit()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Confirms if the name is exact, else clears the field."""
        if event.value == self._word:
            self.dismiss(True)
        else:
            event.input.value = ""
