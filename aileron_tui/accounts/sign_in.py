"""Signing in to an account with OAuth: in the browser of this machine, by pasting, or with a code on another device.

Nothing is stored here. Whatever goes wrong, what was stored before stays as it is.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Final, Literal, Protocol, TypeAlias

from aileron_tui.accounts.device_sign_in import begin_device_sign_in, wait_for_device
from aileron_tui.accounts.loopback_listener import LoopbackListener, open_loopback_port
from aileron_tui.accounts.oauth_tokens import TokenDocument, check_installed, request_token
from aileron_tui.accounts.provider_http import SignInCancelled
from aileron_tui.accounts.sign_in_answer import NotThisSignIn, SignInAttempt, new_attempt
from aileron_tui.core.connector import OAuth2
from aileron_tui.core.visible_text import short

How: TypeAlias = Literal["browser", "paste", "device"]

BROWSER_SECONDS: Final = 600.0
"""How long the browser has to come back."""

_MOST_PASTES: Final = 3
_SHOWN: Final = 200


class SignInUI(Protocol):
    """How a surface speaks with the person who signs in. Called in the thread of `sign_in`."""

    def show_address(self, address: str, code: str = "") -> None:
        """Shows the address to open, and the code to type there if there is one."""

    def report(self, words: str) -> None:
        """Shows what happens now."""

    def ask_line(self, words: str) -> str:
        """Asks for one line; "" cancels."""

    def cancelled(self) -> bool:
        """Whether the person has given up."""


def sign_in(  # noqa: PLR0913  # how it is done, and who does it
    oauth2: OAuth2,
    scopes: Sequence[str],
    how: How,
    ui: SignInUI,
    *,
    open_browser: Callable[[str], object],
    seconds: float = BROWSER_SECONDS,
) -> TokenDocument:
    """Signs in, and returns the document with the tokens that is to be stored; raises SignInError."""
    check_installed()
    asked = tuple(scopes)
    match how:
        case "device":
            code = begin_device_sign_in(oauth2, asked)
            ui.show_address(code.address, code.user_code)
            document = wait_for_device(oauth2, asked, code, ui.cancelled)
        case "paste":
            document = _paste(oauth2, asked, ui)
        case "browser":
            document = _browse(oauth2, asked, ui, open_browser, seconds)
    _report_differences(document, asked, ui)
    return document


def _browse(
    oauth2: OAuth2, scopes: tuple[str, ...], ui: SignInUI, open_browser: Callable[[str], object], seconds: float
) -> TokenDocument:
    with open_loopback_port() as opened:
        attempt = new_attempt(oauth2, scopes, opened.getsockname()[1])

        def begin() -> None:
            ui.show_address(attempt.address)
            # A browser that does not return must not keep us from listening.
            threading.Thread(target=open_browser, args=(attempt.address,), daemon=True).start()

        code = LoopbackListener(attempt, opened, ui.report).wait(seconds, ui.cancelled, begin)
    return _exchange(attempt, scopes, code, ui)


def _paste(oauth2: OAuth2, scopes: tuple[str, ...], ui: SignInUI) -> TokenDocument:
    # The port stays taken, so that no other program of this machine gets the answer.
    with open_loopback_port() as opened:
        attempt = new_attempt(oauth2, scopes, opened.getsockname()[1])
        ui.show_address(attempt.address)
        ui.report("The browser will end at an address that it cannot open. Copy that address.")
        for _ in range(_MOST_PASTES):
            if not (line := ui.ask_line("Address or code: ").strip()) or ui.cancelled():
                raise SignInCancelled("the sign-in was cancelled")
            try:
                return _exchange(attempt, scopes, attempt.pasted_code(line), ui)
            except NotThisSignIn as wrong:
                ui.report(str(wrong))
    raise SignInCancelled("nothing that was pasted belongs to this sign-in", hint="Try again.")


def _exchange(attempt: SignInAttempt, scopes: tuple[str, ...], code: str, ui: SignInUI) -> TokenDocument:
    ui.report("Asking the provider for the token…")
    return request_token(
        attempt.oauth2,
        scopes,
        "authorization_code",
        code=code,
        redirect_uri=attempt.redirect_uri,
        code_verifier=attempt.verifier,
    )


def _report_differences(document: TokenDocument, scopes: tuple[str, ...], ui: SignInUI) -> None:
    granted = document["scopes"]
    missing = [scope for scope in scopes if isinstance(granted, list) and scope not in granted]
    if missing:
        ui.report(f"The provider did not grant: {short(', '.join(missing), _SHOWN)}")
    if not document["refresh_token"] and document["expires_at"] is not None:
        ui.report("The provider gave no token to renew it with, so you will have to sign in again when it expires.")
