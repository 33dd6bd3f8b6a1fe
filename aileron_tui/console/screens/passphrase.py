"""The dialog that asks for a passphrase. It is shown as dots, passed to one function, and wiped."""

from collections.abc import Callable, Sequence
from functools import partial

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from aileron_tui.console.render import MUTED, foreign_line, trusted
from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.core.errors import AileronError
from aileron_tui.signing.secret_memory import wipe


class PassphraseScreen(Dialog[bool]):
    """`attempt` raises AileronError if the passphrase is wrong. It is slow by design, so it runs in a thread."""

    def __init__(
        self, question: str, about: Content, attempt: Callable[[bytearray], None], named: Sequence[Static] = ()
    ) -> None:
        super().__init__()
        self._named = named
        self._question = question
        self._about = about
        self._attempt = attempt

    def parts(self) -> ComposeResult:
        yield Static(trusted(self._question, "bold"), classes="question")
        yield from self._named
        yield Static(self._about, classes="foreign-name")
        yield Input(password=True, placeholder="passphrase")

    async def action_submit(self) -> None:
        """Does the same as enter in the field."""
        await self.query_one(Input).action_submit()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Tries the passphrase."""
        passphrase = bytearray(event.value.encode())
        event.input.value = ""
        event.input.disabled = True
        self.say(trusted("unlocking…", MUTED))
        # Without a description Textual would make one from the arguments.
        self.run_worker(partial(self._try, passphrase), thread=True, exit_on_error=False, description="unlock")

    def _try(self, passphrase: bytearray) -> None:
        why: str | None = "the passphrase could not be checked"
        try:
            self._attempt(passphrase)
            why = None
        except AileronError as error:
            why = str(error)
        finally:
            wipe(passphrase)
            self.app.call_from_thread(self._tried, why)

    def _tried(self, why: str | None) -> None:
        if not self.is_attached:
            return  # it was cancelled while the passphrase was being checked
        if why is None:
            self.dismiss(True)
            return
        field = self.query_one(Input)
        field.disabled = False
        field.focus()
        self.say(trusted("✗ ", "$text-error") + foreign_line(why))
