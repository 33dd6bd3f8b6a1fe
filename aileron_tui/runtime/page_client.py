"""The client of an approver who opens a gate's page, or registers a passkey there."""

from typing import Final
from urllib.parse import quote

from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.errors import InvalidReply
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.signing.security_key import SecurityKey

_WAIT: Final = 20


@dataclass(frozen=True, slots=True)
class PageCode:
    """What opens the page once: its address with a code that works for a few seconds. `enrolment` is its id, or ""."""

    url: str
    enrolment: str


@dataclass(frozen=True, slots=True)
class RegisteredPasskey:
    """A passkey that was registered on the page. It may approve only once an approver has signed for it."""

    public: SecurityKey
    backup_eligible: bool


class PageClient(ApproverClient):
    """An approver who also opens the page."""

    def page_code(self, name: str = "") -> PageCode:
        """A code that opens the page; with a name, only to register a passkey under it."""
        body: JsonObject = {"purpose": "enroll", "name": name} if name else {"purpose": "open"}
        match self._ask("POST", "/v1/page/codes", body):
            case {"url": str() as url, **rest}:
                enrolment = rest.get("enrolment")
                return PageCode(url, enrolment if isinstance(enrolment, str) else "")
        raise InvalidReply("the gate's reply contains no address of a page")

    def registered_passkey(self, enrolment: str) -> RegisteredPasskey | None:
        """The passkey that was registered, None if there is none yet. Waits some seconds for it.

        Raises InvalidReply if the enrolment has ended without one.
        """
        headers, path = {**self._headers, "Prefer": f"wait={_WAIT}"}, f"/v1/page/enrolments/{quote(enrolment, safe='')}"
        reply = self._connection.ask("GET", path, headers=headers, seconds=_WAIT + 10.0)
        match reply:
            case {"status": "waiting"}:
                return None
            case {
                "status": "registered",
                "credential": str() as credential,
                "algorithm": int() as algorithm,
                "spki": str() as spki,
                "backup_eligible": bool() as eligible,
            }:
                try:
                    return RegisteredPasskey(
                        SecurityKey(from_base64(credential), algorithm, from_base64(spki)), eligible
                    )
                except ValueError:
                    raise InvalidReply("the gate sent a passkey that cannot be read") from None
        reason = reply.get("reason")
        raise InvalidReply("no passkey was registered", reason if isinstance(reason, str) else "", "Try again.")
