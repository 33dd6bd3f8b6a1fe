"""Assertions: what a security key or passkey signs in place of a statement, and checking it.

The key signs its own data (`AuthenticatorData`) and the hash of what the browser or the terminal says about the call
(`clientDataJSON`), which has the challenge: a nonce and the hash of the statement's signed bytes. Everything here can
be checked without the one who asked for it; that the nonce is the one that was issued, that the page was the right
one, and that the counter grew is up to the caller.
"""

import base64
import binascii
import hashlib
import hmac
import re
from typing import Final

from aileron_tui.core.authenticator_data import read_authenticator_data
from aileron_tui.core.decision import CHALLENGE_NONCE_SIZE, CHALLENGE_SIZE, challenge
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.signing.errors import EnvelopeRefused, RefusalReason
from aileron_tui.signing.security_key import SecurityKey

CONSOLE_ORIGIN: Final = "aileron-tui://terminal"
"""The origin in an assertion that was made in a terminal. No web page has it."""

PAGE_SURFACE: Final = "page"
"""The surface of a decision that was made on the gate's page."""

LARGEST_SIGNATURE: Final = 1024

_LARGEST_CLIENT_DATA: Final = 4096
_CLIENT_LIMITS: Final = JsonLimits(size=_LARGEST_CLIENT_DATA, depth=4, count=100)
_PAGE_ORIGIN: Final = re.compile(r"http://localhost:([1-9][0-9]{0,4})", re.ASCII)
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{86}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Assertion:
    """What a security key signed, apart from its signature: both parts exactly as they were signed."""

    authenticator_data: bytes
    client_data: bytes


@dataclass(frozen=True, slots=True)
class CheckedAssertion:
    """What a valid assertion says. `nonce` is the first half of its challenge."""

    origin: str
    nonce: bytes
    counter: int
    backup_eligible: bool
    backed_up: bool

    @property
    def on_page(self) -> bool:
        """Whether it was made on a page, not in a terminal."""
        return self.origin != CONSOLE_ORIGIN


def check_assertion(key: SecurityKey, assertion: Assertion, signature: bytes, signed: bytes) -> CheckedAssertion:
    """What a key says in a valid assertion over these signed bytes. Raises EnvelopeRefused with the first reason."""
    if len(signature) > LARGEST_SIGNATURE or len(assertion.client_data) > _LARGEST_CLIENT_DATA:
        raise EnvelopeRefused(RefusalReason.MALFORMED, "the assertion is too large")
    try:
        said = read_authenticator_data(assertion.authenticator_data)
    except ValueError as error:
        raise EnvelopeRefused(RefusalReason.MALFORMED, str(error)) from None
    if not key.accepts(signature, assertion.authenticator_data + hashlib.sha256(assertion.client_data).digest()):
        raise EnvelopeRefused(RefusalReason.BAD_SIGNATURE, "the security key did not sign this assertion")
    origin, nonce = _check_client_data(assertion.client_data, signed)
    if said.rp_id_hash != hashlib.sha256(key.rp_id.encode()).digest():
        raise EnvelopeRefused(RefusalReason.WRONG_ORIGIN, "the assertion was made for another site")
    if not said.user_present or not said.user_verified:
        detail = "nobody touched the security key" if not said.user_present else "it asked for no PIN or fingerprint"
        raise EnvelopeRefused(RefusalReason.NOT_VERIFIED, detail)
    if said.backed_up and not said.backup_eligible:
        raise EnvelopeRefused(RefusalReason.MALFORMED, "the security key says that it has a copy and cannot have one")
    return CheckedAssertion(origin, nonce, said.counter, said.backup_eligible, said.backed_up)


def _check_client_data(data: bytes, signed: bytes) -> tuple[str, bytes]:
    """The origin and the nonce in the client data, after checking it."""
    try:
        fields = read_object(data, _CLIENT_LIMITS)
    except JsonError as error:
        raise EnvelopeRefused(RefusalReason.MALFORMED, f"the client data: {error}") from None
    if fields.get("type") != "webauthn.get":
        raise EnvelopeRefused(RefusalReason.MALFORMED, "the assertion was made for another purpose")
    found = _challenge(fields.get("challenge"))
    nonce = found[:CHALLENGE_NONCE_SIZE]
    if not hmac.compare_digest(found, challenge(signed, nonce)):
        raise EnvelopeRefused(RefusalReason.BAD_SIGNATURE, "the security key signed something else")
    if fields.get("crossOrigin", False) is not False or "topOrigin" in fields:
        raise EnvelopeRefused(RefusalReason.WRONG_ORIGIN, "the assertion was made inside a frame of another page")
    origin = fields.get("origin")
    if not isinstance(origin, str) or not (origin == CONSOLE_ORIGIN or is_page_origin(origin)):
        raise EnvelopeRefused(RefusalReason.WRONG_ORIGIN, f"the assertion was made on {origin!r}")
    return origin, nonce


def is_page_origin(origin: str) -> bool:
    """Whether this can be the origin of a gate's page, on whatever port."""
    found = _PAGE_ORIGIN.fullmatch(origin)
    return found is not None and int(found[1]) < 2**16


def _challenge(text: Json) -> bytes:
    """The challenge in client data: 64 bytes, in the only form that browsers write."""
    if isinstance(text, str) and _CHALLENGE.fullmatch(text):
        try:
            found = base64.b64decode(f"{text}==", altchars=b"-_", validate=True)
        except binascii.Error:
            found = b""
        if len(found) == CHALLENGE_SIZE and base64.urlsafe_b64encode(found).decode().rstrip("=") == text:
            return found
    raise EnvelopeRefused(
        RefusalReason.MALFORMED, f"the challenge of the assertion does not have {CHALLENGE_SIZE} bytes"
    )
