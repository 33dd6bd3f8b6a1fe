"""The locked console: nothing of any request is on screen, and nothing can be answered."""

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from aileron_tui.console.render import MUTED, foreign_line, own
from aileron_tui.console.source import Keyholder
from aileron_tui.core.errors import AileronError


class LockScreen(ModalScreen[bool]):
    """Asks for the passphrase. Unlocking is slow on purpose, so it happens off the loop."""

    def __init__(self, keys: Keyholder, why: str = "Locked") -> None:
        super().__init__()
        self._keys = keys
        self._why = why

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(own(self._why, "bold"), classes="question")
            yield Static(own("key ") + foreign_line(self._keys.name), classes="foreign-name")
            yield Input(password=True, placeholder="passphrase")
            yield Static(own("enter unlocks · ctrl+q quits", MUTED), id="lock-note")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Tries the passphrase."""
        passphrase = bytearray(event.value.encode())
        event.input.value = ""
        event.input.disabled = True
        self.query_one("#lock-note", Static).update(own("unlocking…", MUTED))
        self._unlock(passphrase)

    @work(thread=True, exit_on_error=False)
    def _unlock(self, passphrase: bytearray) -> None:
        try:
            self._keys.unlock(passphrase)
        except AileronError as error:
            self.app.call_from_thread(self._failed, str(error))
        else:
            self.app.call_from_thread(self.dismiss, True)
        finally:
            passphrase[:] = bytes(len(passphrase))

    def _failed(self, why: str) -> None:
        field = self.query_one(Input)
        field.disabled = False
        field.focus()
        self.query_one("#lock-note", Static).update(own("✗ ", "$text-error") + foreign_line(why))
