"""Asks for the passphrase of a daemon's vault, which goes to that daemon and nowhere else."""

from collections.abc import Callable
from typing import ClassVar

from textual.binding import BindingType

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import foreign_line, trusted
from aileron_tui.console.screens.passphrase import PassphraseScreen


class VaultScreen(PassphraseScreen):
    """Asks for the passphrase of a vault; `source` is the daemon that has it."""

    SCOPE = KeyScope.VAULT
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.VAULT)]

    def __init__(self, source: str, unlock: Callable[[bytearray], None]) -> None:
        about = trusted("It goes to ") + foreign_line(source or "the daemon", "bold") + trusted(" and nowhere else.")
        super().__init__("Unlock the vault", about, unlock)
