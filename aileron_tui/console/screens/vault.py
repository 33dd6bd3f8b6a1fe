"""The dialog that asks for the passphrase of a daemon's vault. The passphrase is sent only to that daemon."""

from collections.abc import Callable
from typing import ClassVar

from textual.binding import BindingType

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import foreign_line, trusted
from aileron_tui.console.screens.passphrase import PassphraseScreen


class VaultScreen(PassphraseScreen):
    """Asks for the passphrase of a vault; `source` names the daemon it belongs to."""

    SCOPE = KeyScope.VAULT
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.VAULT)]

    def __init__(self, source: str, unlock: Callable[[bytearray], None]) -> None:
        about = trusted("The passphrase is sent only to ") + foreign_line(source or "the daemon", "bold") + trusted(".")
        super().__init__("Unlock the vault", about, unlock)
