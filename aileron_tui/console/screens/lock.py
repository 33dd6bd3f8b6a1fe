"""The dialogs that ask for the passphrase of the operator's key: the locked console, and a confirmation."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, foreign_line, trusted
from aileron_tui.console.screens.passphrase import PassphraseScreen
from aileron_tui.surface.source import OperatorKey


class LockScreen(PassphraseScreen):
    """The locked console: it says how many requests wait, but shows none, and none can be answered.

    `waiting` returns how many requests wait, in words.
    """

    SCOPE = KeyScope.LOCK
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.LOCK)]

    def __init__(self, keys: OperatorKey, why: str = "Locked", waiting: Callable[[], str] | None = None) -> None:
        super().__init__(why, _key_name(keys), keys.unlock)
        self._waiting = waiting

    def parts(self) -> ComposeResult:
        yield from super().parts()
        if self._waiting is not None:
            yield Static(trusted(self._waiting(), MUTED), classes="waiting")

    def show_waiting(self) -> None:
        """Updates how many requests wait."""
        if self._waiting is not None and self.is_mounted:
            self.query_one(".waiting", Static).update(trusted(self._waiting(), MUTED))


class PassphraseConfirmScreen(PassphraseScreen):
    """Confirms with the passphrase; `named` says what. Escape goes back, and nothing is confirmed."""

    SCOPE = KeyScope.KEY_CONFIRM
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.KEY_CONFIRM)]

    def __init__(self, keys: OperatorKey, title: str, named: Sequence[Static] = ()) -> None:
        super().__init__(title, _key_name(keys), keys.unlock, named)


def _key_name(keys: OperatorKey) -> Content:
    return trusted("key ") + foreign_line(keys.name)
