"""The locked console: nothing of any request is on screen, and nothing can be answered."""

from aileron_tui.console.actions import KeyHint
from aileron_tui.console.render import foreign_line, own
from aileron_tui.console.screens.passphrase import PassphraseScreen
from aileron_tui.surface.source import OperatorKey


class LockScreen(PassphraseScreen):
    """Asks for the passphrase of the operator's key."""

    def __init__(self, keys: OperatorKey, why: str = "Locked") -> None:
        super().__init__(why, own("key ") + foreign_line(keys.name), keys.unlock)

    def keys(self) -> tuple[KeyHint, ...]:
        return KeyHint("enter", "unlocks", "submit"), KeyHint("ctrl+q", "quits", "app.quit")
