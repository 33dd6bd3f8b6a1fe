"""Deciding on the page with a passkey or security key: the challenge, and the assertion that answers it.

The challenge covers a statement that the gate makes: the request, the digest of what is shown, the verdict and the
reason. So a browser cannot answer for another request, and what it sends back has nothing but the signature.
"""

import hmac
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from aileron_tui.core.decision import Statement, Verdict, pae
from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.times import utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.gate.http_request import Refusal, invalid_body
from aileron_tui.page.base64url import from_base64url, to_base64url
from aileron_tui.page.sessions import PageSession
from aileron_tui.signing.assertion import PAGE_SURFACE, Assertion
from aileron_tui.signing.envelope import asserted
from aileron_tui.signing.security_key import RP_ID, SecurityKey

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

TOUCH_SECONDS: Final = 60
NO_PASSKEY: Final = (
    "there is no passkey or security key yet; run `aileron-tui key security-key add --page --name laptop` to add one"
)

_ATTEMPT_SECONDS: Final = 120
_MAX_ATTEMPTS: Final = 256
_LONGEST_FIELD: Final = 8192


@dataclass(frozen=True, slots=True)
class Attempt:
    """A challenge that waits for its assertion."""

    session: PageSession
    statement: Statement
    challenge: bytes
    expires_at: float


class Attempts:
    """The challenges that were issued to tabs. Each can be answered once, by the same tab."""

    def __init__(self, gate: "Gate", clock: Callable[[], float]) -> None:
        self._gate = gate
        self._clock = clock
        self._attempts: dict[str, Attempt] = {}

    def challenge(self, session: PageSession, request: Request, verdict: Verdict, reason: str) -> JsonObject:
        """What the browser passes to `navigator.credentials.get`, and the id of the attempt."""
        keys = self._gate.approvers().security_keys
        if not keys:
            raise Refusal(403, "no_passkey", NO_PASSKEY)
        statement = request.statement(verdict, reason=reason, surface=PAGE_SURFACE, now=utc_now())
        challenge = self._gate.issue_challenge(pae(statement.payload_type, statement.payload()))
        now = self._clock()
        self._attempts = {id_: one for id_, one in self._attempts.items() if one.expires_at > now}
        while len(self._attempts) >= _MAX_ATTEMPTS:
            del self._attempts[next(iter(self._attempts))]
        id_ = secrets.token_urlsafe(16)
        self._attempts[id_] = Attempt(session, statement, challenge, now + _ATTEMPT_SECONDS)
        allowed: list[Json] = [
            {"type": "public-key", "id": to_base64url(key.public.credential)}
            for key in keys
            if isinstance(key.public, SecurityKey)
        ]
        options: JsonObject = {
            "challenge": to_base64url(challenge),
            "rpId": RP_ID,
            "timeout": TOUCH_SECONDS * 1000,
            "userVerification": "required",
            "allowCredentials": allowed,
        }
        return {"attempt": id_, "publicKey": options}

    def answer(self, session: PageSession, id_: str, attempt_id: str, assertion: Json) -> JsonObject:
        """The body of the decision that an assertion makes. The gate checks everything in it again."""
        attempt = self._attempts.get(attempt_id)
        if attempt is None or attempt.session is not session or attempt.expires_at <= self._clock():
            raise Refusal(403, "unknown_attempt", "this answer was already used, or it took too long; try again")
        del self._attempts[attempt_id]
        statement = attempt.statement
        if statement.request != id_:
            raise Refusal(403, "unknown_attempt", "this answer is for another request")
        credential, parts = _read_assertion(assertion)
        keyid = self._signer(credential)
        signature, authenticator_data, client_data = parts
        envelope = asserted(statement, keyid, signature, Assertion(authenticator_data, client_data))
        body: JsonObject = {"approved": statement.verdict is Verdict.APPROVE, "envelope": envelope.fields()}
        return body | {"reason": statement.reason} if statement.reason else body

    def _signer(self, credential: bytes) -> str:
        """The fingerprint of the key that has this credential."""
        for approver in self._gate.approvers().values():
            public = approver.public
            if isinstance(public, SecurityKey) and hmac.compare_digest(public.credential, credential):
                return public.fingerprint
        raise Refusal(403, "unknown_key", "this passkey or security key is not enrolled here")


def _read_assertion(value: Json) -> tuple[bytes, tuple[bytes, bytes, bytes]]:
    """The credential, signature, authenticator data and client data of what a browser's `toJSON` returns."""
    match value:
        case {
            "type": "public-key",
            "rawId": str() as raw_id,
            "response": {
                "signature": str() as signature,
                "authenticatorData": str() as authenticator_data,
                "clientDataJSON": str() as client_data,
            },
        }:
            found = (raw_id, signature, authenticator_data, client_data)
        case _:
            raise invalid_body(JsonError("not an assertion", "$.assertion"))
    if any(len(text) > _LONGEST_FIELD for text in found):
        raise invalid_body(JsonError("too long", "$.assertion"))
    try:
        credential, *parts = map(from_base64url, found)
    except ValueError as error:
        raise invalid_body(JsonError(str(error), "$.assertion")) from None
    return credential, (parts[0], parts[1], parts[2])
