"""Chromium's virtual authenticator: a passkey that a test can touch, swap and look into."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.browser.opened_page import Tab


class Authenticator:
    """A platform authenticator with user verification in one tab."""

    def __init__(self, tab: "Tab") -> None:
        self._session = tab.context.new_cdp_session(tab.page)
        self._session.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": True,
            "automaticPresenceSimulation": True,
        }
        self.id: str = self._session.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"]

    def _send(self, method: str, **more: Any) -> Any:
        return self._session.send(f"WebAuthn.{method}", {"authenticatorId": self.id, **more})

    def credentials(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._send("getCredentials")["credentials"]
        return found

    def keep(self, credential: dict[str, Any]) -> None:
        """Puts a credential into this authenticator."""
        self._send("addCredential", credential=credential)

    def forget(self) -> None:
        self._send("clearCredentials")

    def verifies(self, is_verified: bool) -> None:
        self._send("setUserVerified", isUserVerified=is_verified)
