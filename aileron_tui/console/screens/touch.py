"""The dialog that waits for the touch of a security key, and asks for its PIN if it has one."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input, Static

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_hints import KeyHint, dialog_hints
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, foreign_line, trusted
from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.core.errors import AileronError
from aileron_tui.surface.security_key_touch import Touched, home_security_keys, touched

if TYPE_CHECKING:
    from aileron_tui.signing.envelope import Signable

_LOOKING: Final = "Looking for your security key…"
_COVERED: Final = "cancelled, because the dialog was covered"


class TouchScreen(Dialog[Touched]):
    """Closes with what the key signed. `prepare` returns what is to be signed; it may block or raise AileronError.

    The key is used in a thread. Whatever covers the dialog cancels the touch, so that nothing is signed unseen.
    """

    AUTO_FOCUS = ""  # the field for the PIN takes no keys before it is shown
    SCOPE = KeyScope.TOUCH
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.TOUCH)]

    def __init__(self, question: Content, named: Sequence[Static], prepare: "Callable[[], Signable]") -> None:
        super().__init__()
        self._question = question
        self._named = named
        self._prepare = prepare
        self._attempt: _Attempt | None = None
        self._asks_pin = False

    def parts(self) -> ComposeResult:
        yield Static(self._question, classes="question")
        yield from self._named
        yield Static(trusted(_LOOKING), classes="status")
        pin = Input(password=True, placeholder="PIN")
        pin.display = False
        yield pin

    def keys(self) -> tuple[KeyHint, ...]:
        """The keys to show: `enter` only while it does something."""
        cancel, submit = dialog_hints(self.SCOPE)
        if self._attempt is None:
            return cancel, submit._replace(label="try again")
        return (cancel, submit) if self._asks_pin else (cancel,)

    def on_mount(self) -> None:
        """Starts to wait for the touch."""
        super().on_mount()
        self._start()

    def on_screen_suspend(self) -> None:
        """Cancels the touch, because the dialog is covered: the console may have been locked."""
        if self._cancel():
            self._fail(_COVERED)

    def on_unmount(self) -> None:
        """Cancels the touch, so that the key stops blinking."""
        self._cancel()

    def action_cancel(self) -> None:
        """Goes back."""
        self._cancel()
        self.dismiss(None)

    async def action_submit(self) -> None:
        """Enters the PIN, or tries again if the touch has failed."""
        if self._asks_pin:
            await self.query_one(Input).action_submit()
        elif self._attempt is None:
            self._start()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Passes the PIN on to the key; an empty one is not tried."""
        if event.value and self._attempt is not None:
            self._attempt.enter(event.value)
            self._hide_pin()
            self._say(trusted("Checking the PIN…"))

    def _start(self) -> None:
        self._attempt = attempt = _Attempt(self)
        self.say(Content(""))
        self._say(trusted(_LOOKING))
        # A worker of Textual would keep the program from ending if the key does not react any more.
        Thread(target=attempt.run, args=(self._prepare,), name="touch", daemon=True).start()

    def _cancel(self) -> bool:
        """Cancels the touch; returns whether there was one to cancel."""
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            attempt.cancel()
        return attempt is not None

    def _say(self, words: Content) -> None:
        self.query_one(".status", Static).update(words)
        self.query_one(KeyLine).refresh(layout=True)

    def _hide_pin(self) -> None:
        self._asks_pin = False
        field = self.query_one(Input)
        field.value = ""
        field.display = False
        self.set_focus(None)

    def _fail(self, why: str) -> None:
        self._hide_pin()
        self._say(trusted("✗ ", "$text-error") + foreign_line(why))
        self.say(trusted("Nothing was signed.", MUTED))

    # called by the attempt, on the loop

    def show_words(self, attempt: "_Attempt", words: str) -> None:
        """Shows what to do now."""
        if attempt is self._attempt:
            self._say(trusted(words, "bold"))

    def show_pin(self, attempt: "_Attempt", words: str) -> None:
        """Asks for the PIN."""
        if attempt is self._attempt:
            self._asks_pin = True
            self._say(trusted(f"{words}:"))
            field = self.query_one(Input)
            field.display = True
            field.focus()

    def finish(self, attempt: "_Attempt", signed: Touched | None, why: str) -> None:
        """Closes the dialog with what was signed, or says why nothing was. Ignores an attempt that was cancelled."""
        if attempt is not self._attempt:
            return
        self._attempt = None
        if signed is not None:
            self.dismiss(signed)
        else:
            self._fail(why)


class _Attempt:
    """One attempt to get a touch, in a thread of its own."""

    def __init__(self, screen: TouchScreen) -> None:
        self._screen = screen
        self._app = screen.app
        self._cancelled = Event()
        self._pins: SimpleQueue[str] = SimpleQueue()

    def enter(self, pin: str) -> None:
        """Passes on a PIN."""
        self._pins.put(pin)

    def cancel(self) -> None:
        """Ends the attempt; what it signs after that is ignored."""
        self._cancelled.set()
        self._pins.put("")

    def run(self, prepare: "Callable[[], Signable]") -> None:
        """Waits for the touch, and reports the result."""
        signed, why = None, "the security key could not be used"
        try:
            signed = touched(prepare(), home_security_keys(), self, cancelled=self._cancelled)
        except AileronError as error:
            why = f"{error}. {error.hint}" if error.hint else str(error)
        finally:
            self._report(self._screen.finish, signed, why)

    def say(self, words: str) -> None:
        """Shows what to do now."""
        self._report(self._screen.show_words, words)

    def ask_pin(self, words: str) -> str:
        """Asks for the PIN, and waits for it."""
        self._report(self._screen.show_pin, words)
        return self._pins.get()

    def _report(self, callback: Callable[..., None], *values: object) -> None:
        """Calls something on the loop of the app, unless it has ended."""
        with suppress(RuntimeError):
            self._app.call_later(callback, self, *values)
