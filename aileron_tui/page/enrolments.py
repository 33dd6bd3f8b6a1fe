"""Registering a passkey on the page. What is registered here may approve only once an approver has signed for it."""

import asyncio
import base64
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.gate.approver_sessions import Session
from aileron_tui.gate.http_request import Refusal, invalid_body
from aileron_tui.page.base64url import from_base64url, to_base64url
from aileron_tui.signing.security_key import ALGORITHMS, RP_ID, SecurityKey

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate
    from aileron_tui.surface.security_key_registration import RegisteredKey

ENROLMENT_SECONDS: Final = 300

_TOUCH_SECONDS: Final = 120
_MAX_ENROLMENTS: Final = 32
_LARGEST: Final = 64 * 1024
_CLIENT_LIMITS: Final = JsonLimits(size=4096, depth=4, count=100)


@dataclass(slots=True, eq=False)
class Enrolment:
    """A passkey that is being registered under a name, for the holder of a key.

    `challenge` is what the browser must sign next, b"" if nothing. `registered` is the key once it is there, and
    `ended` is why there will be none.
    """

    name: str
    keyid: str
    expires_at: float
    changed: asyncio.Event
    challenge: bytes = b""
    registered: "RegisteredKey | None" = None
    ended: str = ""


class Enrolments:
    """The enrolments of this run of the gate."""

    def __init__(self, gate: "Gate", origin: str, clock: Callable[[], float]) -> None:
        self._gate = gate
        self._origin = origin
        self._clock = clock
        self._enrolments: dict[str, Enrolment] = {}

    def begin(self, name: str, session: Session) -> str:
        """Begins an enrolment; returns its id."""
        now = self._clock()
        self._enrolments = {id_: one for id_, one in self._enrolments.items() if one.expires_at > now}
        while len(self._enrolments) >= _MAX_ENROLMENTS:
            del self._enrolments[next(iter(self._enrolments))]
        id_ = f"enrol-{secrets.token_hex(8)}"
        self._enrolments[id_] = Enrolment(name, session.keyid, now + ENROLMENT_SECONDS, asyncio.Event())
        return id_

    def name(self, id_: str) -> str:
        """The name under which a passkey is being registered, "" if there is no such enrolment."""
        return self._enrolments[id_].name if id_ in self._enrolments else ""

    def end(self, id_: str, why: str) -> None:
        """Ends an enrolment, also one whose passkey is registered."""
        if (found := self._enrolments.get(id_)) is not None:
            found.registered, found.ended = None, why
            found.changed.set()

    async def wait(self, id_: str, keyid: str, seconds: int) -> JsonObject | None:
        """What is known about an enrolment, after waiting for it; None if this key has begun no such enrolment."""
        found = self._enrolments.get(id_)
        if found is None or found.keyid != keyid:
            return None
        if found.registered is None and not found.ended and seconds:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(seconds, max(0.0, found.expires_at - self._clock()))):
                    await found.changed.wait()
        if found.registered is None:
            late = id_ not in self._enrolments or found.expires_at <= self._clock()
            why = found.ended or ("nothing was registered in time" if late else "")
            more: JsonObject = {"reason": why} if why else {}
            return {"status": "ended" if why else "waiting", "name": found.name, **more}
        key = found.registered.public
        return {
            "status": "registered",
            "name": found.name,
            "credential": base64.b64encode(key.credential).decode(),
            "algorithm": key.algorithm,
            "spki": base64.b64encode(key.spki).decode(),
            "backup_eligible": found.registered.backup_eligible,
        }

    def options(self, id_: str) -> JsonObject:
        """What the browser passes to `navigator.credentials.create`."""
        enrolment = self._open(id_)
        enrolment.challenge = secrets.token_bytes(32)
        known: list[Json] = [
            {"type": "public-key", "id": to_base64url(approver.public.credential)}
            for approver in self._gate.approvers().security_keys
            if isinstance(approver.public, SecurityKey)
        ]
        user: JsonObject = {
            "id": to_base64url(secrets.token_bytes(32)),
            "name": enrolment.name,
            "displayName": enrolment.name,
        }
        return {
            "publicKey": {
                "challenge": to_base64url(enrolment.challenge),
                "rp": {"id": RP_ID, "name": "aileron-tui"},
                "user": user,
                "pubKeyCredParams": [{"type": "public-key", "alg": algorithm} for algorithm in ALGORITHMS],
                "timeout": _TOUCH_SECONDS * 1000,
                "excludeCredentials": known,
                "authenticatorSelection": {"residentKey": "discouraged", "userVerification": "required"},
                "attestation": "none",
            }
        }

    def register(self, id_: str, credential: Json) -> JsonObject:
        """Keeps the public part of a new passkey, once."""
        enrolment = self._open(id_)
        expected, enrolment.challenge = enrolment.challenge, b""
        if not expected:
            raise Refusal(403, "unknown_attempt", "this page did not ask for a new passkey; try again")
        attestation, client_data = _read_credential(credential)
        self._check_client_data(client_data, expected)
        registered = _registered(attestation)
        for approver in self._gate.approvers().active:
            if isinstance(approver.public, SecurityKey) and approver.public.credential == registered.public.credential:
                raise Refusal(409, "known_key", "this passkey is already enrolled")
        enrolment.registered = registered
        enrolment.changed.set()
        return {
            "status": "registered",
            "message": "Registered. Go back to the terminal to confirm it.",
            "fingerprint": registered.public.fingerprint,
        }

    def _open(self, id_: str) -> Enrolment:
        found = self._enrolments.get(id_)
        if found is None or found.ended or found.expires_at <= self._clock():
            raise Refusal(403, "enrolment_ended", "this has ended; run `aileron-tui key security-key add` again")
        if found.registered is not None:
            raise Refusal(409, "registered", "a passkey is already registered; go back to the terminal")
        return found

    def _check_client_data(self, data: bytes, challenge: bytes) -> None:
        try:
            fields = read_object(data, _CLIENT_LIMITS)
        except JsonError as error:
            raise invalid_body(error) from None
        expected = {"type": "webauthn.create", "challenge": to_base64url(challenge), "origin": self._origin}
        for name, value in expected.items():
            if fields.get(name) != value:
                raise Refusal(403, "foreign_credential", f"the passkey was made for another {name}")
        if fields.get("crossOrigin", False) is not False or "topOrigin" in fields:
            raise Refusal(403, "foreign_credential", "the passkey was made inside a frame of another page")


def _registered(attestation: bytes) -> "RegisteredKey":
    """The public part in an attestation object, of which only the authenticator data counts."""
    from fido2.webauthn import AttestationObject  # noqa: PLC0415  # only if a passkey is registered

    from aileron_tui.surface.security_key_registration import read_registration  # noqa: PLC0415  # as above

    try:
        data = bytes(AttestationObject(attestation).auth_data)
    except (ValueError, TypeError, KeyError, IndexError):
        raise invalid_body(JsonError("not an attestation object", "$")) from None
    try:
        return read_registration(data)
    except AileronError as error:
        raise Refusal(403, "invalid_credential", str(error)) from None


def _read_credential(value: Json) -> tuple[bytes, bytes]:
    """The attestation object and the client data of what a browser's `toJSON` returns."""
    match value:
        case {
            "type": "public-key",
            "response": {"attestationObject": str() as attestation, "clientDataJSON": str() as client_data},
        } if len(attestation) <= _LARGEST and len(client_data) <= _LARGEST:
            try:
                return from_base64url(attestation), from_base64url(client_data)
            except ValueError as error:
                raise invalid_body(JsonError(str(error), "$")) from None
    raise invalid_body(JsonError("not a new credential", "$"))
