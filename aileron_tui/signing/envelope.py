"""Decisions in DSSE envelopes: signed as opaque bytes, and parsed only after the signature was verified."""

import base64
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol

from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.decision import PAYLOAD_TYPE, Statement, pae, read_statement, statement_version
from aileron_tui.core.formats import NewerFormat
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, canonical, read
from aileron_tui.core.times import moment
from aileron_tui.core.values import dataclass
from aileron_tui.signing.approvers import Approver
from aileron_tui.signing.assertion import PAGE_SURFACE, Assertion, CheckedAssertion, check_assertion
from aileron_tui.signing.errors import EnvelopeRefused, RefusalReason
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.security_key import SecurityKey

SKEW: Final = timedelta(seconds=5)
LONGEST_LIFE: Final = timedelta(minutes=15)

_LIMITS: Final = JsonLimits(size=2 * 1024 * 1024, depth=8, count=100)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload and its type, with exactly one signature that covers both.

    A security key signs them inside an `assertion`, which is None for other keys.
    """

    payload: bytes
    type: str
    keyid: str
    signature: bytes
    assertion: Assertion | None = None

    def fields(self) -> JsonObject:
        """The envelope as DSSE's JSON object."""
        signature: JsonObject = {"keyid": self.keyid, "sig": _encoded(self.signature)}
        if self.assertion:
            signature["authenticatorData"] = _encoded(self.assertion.authenticator_data)
            signature["clientDataJSON"] = _encoded(self.assertion.client_data)
        return {"payload": _encoded(self.payload), "payloadType": self.type, "signatures": [signature]}

    def encode(self) -> bytes:
        """The envelope as it is sent."""
        return canonical(self.fields())


class Signable(Protocol):
    """Something that can be signed: its bytes, and their type."""

    @property
    def payload_type(self) -> str:
        """The type under which the payload is signed."""

    def payload(self) -> bytes:
        """The bytes that are signed."""


def sign(statement: Signable, key: UnlockedKey) -> Envelope:
    """Signs a statement."""
    payload, type_ = statement.payload(), statement.payload_type
    return Envelope(payload, type_, key.public.fingerprint, key.sign(pae(type_, payload)))


def asserted(statement: Signable, keyid: str, signature: bytes, assertion: Assertion) -> Envelope:
    """The envelope of a statement over whose challenge a security key made an assertion."""
    return Envelope(statement.payload(), statement.payload_type, keyid, signature, assertion)


def read_envelope(data: bytes | Json) -> Envelope:
    """Reads an envelope from bytes, or from JSON that was already parsed. Nothing in it is verified yet."""
    if isinstance(data, bytes):
        try:
            data = read(data, _LIMITS)
        except JsonError as error:
            raise EnvelopeRefused(RefusalReason.MALFORMED, str(error)) from None
    match data:
        case {
            "payload": str() as payload,
            "payloadType": str() as kind,
            "signatures": [{"keyid": str() as keyid, "sig": str() as signature} as fields],
        }:
            return Envelope(_decoded(payload), kind, keyid, _decoded(signature), _assertion(fields))
        case {"signatures": list() as signatures} if len(signatures) != 1:
            raise EnvelopeRefused(RefusalReason.MALFORMED, f"{len(signatures)} signatures instead of one")
        case _:
            raise EnvelopeRefused(
                RefusalReason.MALFORMED, "payload, payloadType or the signature with its keyid is missing"
            )


def opened(envelope: Envelope, keys: Mapping[str, Approver]) -> Statement:
    """The statement in an envelope, after checking type, key and signature. Time, request and nonce are not checked."""
    return opened_decision(envelope, keys)[0]


def opened_decision(envelope: Envelope, keys: Mapping[str, Approver]) -> tuple[Statement, CheckedAssertion | None]:
    """The same, with what a security key says, None for another key. Its nonce and its counter are not checked."""
    version = _version(envelope)
    checked = check_envelope(envelope, keys)[1]
    try:
        statement = read_statement(envelope.payload)
    except NewerFormat as error:
        raise EnvelopeRefused(RefusalReason.NEWER_FORMAT, str(error), error.hint) from None
    except JsonError as error:
        raise EnvelopeRefused(RefusalReason.MALFORMED, str(error)) from None
    if statement.version != version:
        detail = f"the payload type is for version {version}, but the statement has version {statement.version}"
        raise EnvelopeRefused(RefusalReason.WRONG_TYPE, detail)
    if checked and checked.on_page != (statement.surface == PAGE_SURFACE):
        raise EnvelopeRefused(RefusalReason.WRONG_ORIGIN, f"made on {checked.origin}, but says {statement.surface!r}")
    return statement, checked


def check_signature(envelope: Envelope, keys: Mapping[str, Approver]) -> Approver:
    """The approver who signed an envelope. Raises EnvelopeRefused if there is none, or if the key was revoked."""
    return check_envelope(envelope, keys)[0]


def check_envelope(envelope: Envelope, keys: Mapping[str, Approver]) -> tuple[Approver, CheckedAssertion | None]:
    """The approver who signed an envelope, and what a security key says with it, None for another key.

    Raises EnvelopeRefused if there is no such approver, or if the key was revoked.
    """
    approver = keys.get(envelope.keyid)
    if approver is None:
        hint = "Enroll it with `aileron-tui key enroll`."
        raise EnvelopeRefused(RefusalReason.UNKNOWN_KEY, f"{envelope.keyid!r} is not enrolled here", hint)
    checked = _check_key(envelope, approver)
    if approver.revoked:
        raise EnvelopeRefused(RefusalReason.REVOKED_KEY, f"{approver.name} was revoked at {approver.revoked}")
    return approver, checked


def _check_key(envelope: Envelope, approver: Approver) -> CheckedAssertion | None:
    """Checks that a key signed an envelope in the way in which such keys sign."""
    key, signed = approver.public, pae(envelope.type, envelope.payload)
    if isinstance(key, SecurityKey):
        if envelope.assertion is None:
            raise EnvelopeRefused(RefusalReason.BAD_SIGNATURE, f"{approver.name} signs only assertions")
        return check_assertion(key, envelope.assertion, envelope.signature, signed)
    if envelope.assertion is not None:
        raise EnvelopeRefused(RefusalReason.BAD_SIGNATURE, f"{approver.name} is not a security key")
    if not key.accepts(envelope.signature, signed):
        raise EnvelopeRefused(RefusalReason.BAD_SIGNATURE, f"it was not made by {approver.name}")
    return None


def _version(envelope: Envelope) -> int:
    """The format version in the payload type."""
    try:
        version = statement_version(envelope.type)
    except NewerFormat as error:
        raise EnvelopeRefused(RefusalReason.NEWER_FORMAT, str(error), error.hint) from None
    if version is None:
        raise EnvelopeRefused(RefusalReason.WRONG_TYPE, f"{envelope.type!r} instead of {PAYLOAD_TYPE!r}")
    return version


def verify(  # noqa: PLR0913  # everything a decision is bound to must be named by the caller
    data: bytes | Json,
    keys: Mapping[str, Approver],
    *,
    now: datetime,
    instance: str,
    request: str,
    digest: str,
    seen_nonce: Callable[[str], bool],
) -> Statement:
    """The statement of a decision that is valid now for this request. Raises EnvelopeRefused with the first reason."""
    statement = opened(read_envelope(data), keys)
    check_decision(statement, now=now, instance=instance, request=request, digest=digest, seen_nonce=seen_nonce)
    return statement


def check_decision(  # noqa: PLR0913  # everything a decision is bound to must be named by the caller
    statement: Statement,
    *,
    now: datetime,
    instance: str,
    request: str,
    digest: str,
    seen_nonce: Callable[[str], bool],
) -> None:
    """Raises EnvelopeRefused unless a statement whose signature was verified is valid now for this request."""
    if statement.instance != instance:
        raise EnvelopeRefused(RefusalReason.WRONG_INSTANCE, f"it names {statement.instance!r} instead of {instance!r}")
    if statement.request != request:
        raise EnvelopeRefused(RefusalReason.WRONG_REQUEST, f"it names {statement.request!r} instead of {request!r}")
    if statement.digest != digest:
        detail = f"it covers {statement.digest}, but the request has {digest}"
        raise EnvelopeRefused(RefusalReason.DIGEST_DIFFERS, detail, "Review the request again, then decide.")
    _check_time(statement, now)
    if seen_nonce(statement.nonce):
        raise EnvelopeRefused(RefusalReason.REPLAYED, f"nonce {statement.nonce}")


def _check_time(statement: Statement, now: datetime) -> None:
    try:
        made, end = moment(statement.time), moment(statement.expires)
    except ValueError:
        raise EnvelopeRefused(RefusalReason.MALFORMED, "invalid time") from None
    if made > now + SKEW:
        ahead = (made - now).total_seconds()
        hint = "Check the clocks of both machines."
        raise EnvelopeRefused(RefusalReason.NOT_YET_VALID, f"made {ahead:.0f} s in the future", hint)
    if end - made > LONGEST_LIFE or end <= made:
        raise EnvelopeRefused(RefusalReason.MALFORMED, f"valid from {statement.time} to {statement.expires}")
    if now >= end:
        raise EnvelopeRefused(RefusalReason.EXPIRED, f"at {statement.expires}", "Decide again.")


def _assertion(fields: Json) -> Assertion | None:
    """The assertion in the fields of a signature, or None if they have none."""
    if not isinstance(fields, dict) or ("authenticatorData" not in fields and "clientDataJSON" not in fields):
        return None
    match fields:
        case {"authenticatorData": str() as said, "clientDataJSON": str() as client}:
            return Assertion(_decoded(said), _decoded(client))
    raise EnvelopeRefused(RefusalReason.MALFORMED, "the assertion of the security key is not complete")


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decoded(text: str) -> bytes:
    try:
        return from_base64(text)
    except ValueError:
        raise EnvelopeRefused(RefusalReason.MALFORMED, "invalid base64") from None
