"""How high risk is confirmed if the settings ask for more than a key."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from textual.content import Content

from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.console.widgets.target_lines import target_lines

if TYPE_CHECKING:
    from aileron_tui.console.settings import ConsoleSettings
    from aileron_tui.core.prompt import Prompt
    from aileron_tui.signing.envelope import Signable
    from aileron_tui.surface.security_key_touch import Touched
    from aileron_tui.surface.source import OperatorKey

LOW: Final = 20
"""Below this height a dialog shows less, so that its keys stay visible."""


def strict_confirmation(  # noqa: PLR0913, PLR0917  # who asks, about what, in which window
    settings: "ConsoleSettings",
    keys: "OperatorKey",
    prompt: "Prompt",
    question: Content,
    title: str,
    height: int,
    prepare: "Callable[[], Signable]",
) -> "Dialog[bool] | Dialog[Touched] | None":
    """The dialog that asks for the action's name, the passphrase or a touch of a security key; None if a key is enough.

    It names the recipients or targets again. `title` is its heading if it asks for the passphrase. `prepare` returns
    what a security key is to sign, in a thread.
    """
    if settings.high_risk == "key":
        from aileron_tui.console.screens.touch import TouchScreen  # noqa: PLC0415

        return TouchScreen(question, target_lines(prompt, low=height < LOW), prepare)
    if settings.high_risk == "type":
        from aileron_tui.console.screens.confirm import TypedConfirmScreen  # noqa: PLC0415

        return TypedConfirmScreen(question, prompt.action, target_lines(prompt, low=height < LOW))
    if settings.high_risk == "passphrase" and keys.lockable:
        from aileron_tui.console.screens.lock import PassphraseConfirmScreen  # noqa: PLC0415

        return PassphraseConfirmScreen(keys, title, target_lines(prompt, low=height < LOW))
    return None
