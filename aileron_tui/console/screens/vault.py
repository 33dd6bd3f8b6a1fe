"""Unlocking the vault of a daemon: the passphrase goes to that daemon and nowhere else."""

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType

from aileron_tui.console.actions import KeyHint, offered
from aileron_tui.console.render import foreign_line, own
from aileron_tui.console.screens.passphrase import PassphraseScreen


class VaultScreen(PassphraseScreen):
    """Asks for the passphrase of a vault; `source` is whose."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(False)", "goes back")]

    def __init__(self, source: str, unlock: Callable[[bytearray], None]) -> None:
        about = own("It goes to ") + foreign_line(source or "the daemon", "bold") + own(" and nowhere else.")
        super().__init__("Unlock the vault", about, unlock)

    def keys(self) -> tuple[KeyHint, ...]:
        return *offered(PassphraseScreen.BINDINGS), *offered(self.BINDINGS)
