"""The locked console: no request is visible, and none can be answered."""

from typing import ClassVar

from textual.binding import BindingType

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import foreign_line, trusted
from aileron_tui.console.screens.passphrase import PassphraseScreen
from aileron_tui.surface.source import OperatorKey


class LockScreen(PassphraseScreen):
    """Asks for the passphrase of the operator's key."""

    SCOPE = KeyScope.LOCK
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.LOCK)]

    def __init__(self, keys: OperatorKey, why: str = "Locked") -> None:
        super().__init__(why, trusted("key ") + foreign_line(keys.name), keys.unlock)
