"""How high risk is confirmed if the settings ask for more than a key."""

from typing import TYPE_CHECKING, Final

from textual.content import Content

from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.console.widgets.target_lines import target_lines

if TYPE_CHECKING:
    from aileron_tui.console.settings import ConsoleSettings
    from aileron_tui.core.prompt import Prompt
    from aileron_tui.surface.source import OperatorKey

LOW: Final = 20
"""Below this height a dialog shows less, so that its keys stay visible."""


def strict_confirmation(  # noqa: PLR0913, PLR0917  # who asks, about what, in which window
    settings: "ConsoleSettings", keys: "OperatorKey", prompt: "Prompt", question: Content, title: str, height: int
) -> Dialog[bool] | None:
    """The dialog that asks for the action's name or the passphrase; None if a key is enough.

    It names the recipients or targets again. `title` is its heading if it asks for the passphrase.
    """
    if settings.high_risk == "type":
        from aileron_tui.console.screens.confirm import TypedConfirmScreen  # noqa: PLC0415

        return TypedConfirmScreen(question, prompt.action, target_lines(prompt, low=height < LOW))
    if settings.high_risk == "passphrase" and keys.lockable:
        from aileron_tui.console.screens.lock import PassphraseConfirmScreen  # noqa: PLC0415

        return PassphraseConfirmScreen(keys, title, target_lines(prompt, low=height < LOW))
    return None
