"""The locked console: no request is visible, and none can be answered."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.widgets import Static

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import foreign_line, trusted
from aileron_tui.console.screens.passphrase import PassphraseScreen
from aileron_tui.surface.source import OperatorKey


class LockScreen(PassphraseScreen):
    """Asks for the passphrase of the operator's key; `named` says what it is for, if it approves one request."""

    SCOPE = KeyScope.LOCK
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.LOCK)]

    def __init__(self, keys: OperatorKey, why: str = "Locked", named: Sequence[Static] = ()) -> None:
        super().__init__(why, trusted("key ") + foreign_line(keys.name), keys.unlock, named)
