"""Opens the dialogs: confirmation, reason, edit form, batch sheet and passphrase. Their screens load when opened."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.app import App

from aileron_tui.console.port import BatchChecks
from aileron_tui.console.render import foreign_line, trusted
from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.surface.arming import Arming
from aileron_tui.surface.source import OperatorKey

if TYPE_CHECKING:
    from aileron_tui.core.request import Request
    from aileron_tui.signing.envelope import Signable
    from aileron_tui.surface.security_key_touch import Touched


class ConsoleDialogs:
    """The dialogs of one app."""

    def __init__(self, app: App[Any], settings: ConsoleSettings, keys: OperatorKey, arming: Arming) -> None:
        self._app = app
        self._settings = settings
        self._keys = keys
        self._arming = arming

    def confirm_high_risk(
        self, request: "Request", prepare: "Callable[[], Signable]", done: "Callable[[bool | Touched | None], None]"
    ) -> None:
        """Asks for confirmation before high risk is approved: by a key, the action's name, the passphrase or a touch.

        The dialog names the recipients or targets again, and says so if the call was edited. A security key signs what
        `prepare` returns.
        """
        from aileron_tui.console.screens.confirm import ConfirmScreen  # noqa: PLC0415
        from aileron_tui.console.screens.high_risk import LOW, strict_confirmation  # noqa: PLC0415
        from aileron_tui.console.widgets.target_lines import target_lines  # noqa: PLC0415

        prompt, height = request.prompt, self._app.size.height
        what = "Approve the edited call of " if request.edited_from else "Approve "
        question = trusted(f"⚠ High risk. {what}", "bold $text-error") + foreign_line(prompt.action) + trusted("?")
        title = f"Approve {'the edited call ' if request.edited_from else ''}with your passphrase"
        confirm = strict_confirmation(self._settings, self._keys, prompt, question, title, height, prepare)
        if confirm is None:
            named = target_lines(prompt, low=height < LOW)
            confirm = ConfirmScreen(question, foreign_line(prompt.risk.reason), self._arming, named)
        self._app.push_screen(confirm, done)

    def ask_reason(self, request: "Request", done: Callable[[str | None], None]) -> None:
        """Asks why a request is denied."""
        from aileron_tui.console.screens.reason import ReasonScreen  # noqa: PLC0415

        self._app.push_screen(ReasonScreen(request.prompt.action, self._arming), done)

    def edit_inputs(
        self,
        request: "Request",
        edits: JsonObject | None,
        done: Callable[[JsonObject | None], None],
        *,
        refused: str = "",
    ) -> None:
        """Shows the form for the inputs, with the edits made so far; `refused` says why they were not accepted."""
        from aileron_tui.console.screens.edit import EditScreen  # noqa: PLC0415

        self._app.push_screen(EditScreen(request, edits, refused), done)

    def review_batch(
        self,
        requests: "list[Request]",
        verdict: Verdict,
        checks: BatchChecks,
        done: "Callable[[list[tuple[Request, Verdict]] | None], None]",
    ) -> None:
        """Shows the sheet of marked requests."""
        from aileron_tui.console.screens.batch import BatchChoice, BatchScreen  # noqa: PLC0415

        start = BatchChoice.APPROVE if verdict is Verdict.APPROVE else BatchChoice.DENY
        self._app.push_screen(BatchScreen(requests, start, checks, self._arming), done)

    def ask_vault_passphrase(
        self, source: str, unlock: Callable[[bytearray], None], done: Callable[[bool | None], None]
    ) -> None:
        """Asks for the passphrase of a daemon's vault; `unlock` tries it in a thread."""
        from aileron_tui.console.screens.vault import VaultScreen  # noqa: PLC0415

        self._app.push_screen(VaultScreen(source, unlock), done)
