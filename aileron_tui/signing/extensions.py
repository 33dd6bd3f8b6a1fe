"""Extensions of deadlines in DSSE envelopes, parsed only after the signature was verified."""

from collections.abc import Mapping

from aileron_tui.core.deadline_extension import PAYLOAD_TYPE, Extension, read_extension
from aileron_tui.core.jsontext import Json, JsonError
from aileron_tui.signing.approvers import Approver
from aileron_tui.signing.assertion import CheckedAssertion
from aileron_tui.signing.envelope import Envelope, check_envelope, read_envelope
from aileron_tui.signing.errors import EnvelopeRefused, RefusalReason

Opened = tuple[Extension, Approver, CheckedAssertion | None]
"""An extension, its signer, and what the signer says about itself if it is a security key."""


def opened_extension(envelope: Envelope, keys: Mapping[str, Approver]) -> Opened:
    """The extension in an envelope and its signer, after checking type, key and signature, but not its request."""
    if envelope.type != PAYLOAD_TYPE:
        raise EnvelopeRefused(RefusalReason.WRONG_TYPE, f"{envelope.type!r} instead of {PAYLOAD_TYPE!r}")
    approver, said = check_envelope(envelope, keys)
    try:
        return read_extension(envelope.payload), approver, said
    except JsonError as error:
        raise EnvelopeRefused(RefusalReason.MALFORMED, str(error)) from None


def verify_extension(data: Json, keys: Mapping[str, Approver], *, instance: str, request: str) -> Opened:
    """The extension in an envelope that was signed for this request and this run of the gate, and its signer."""
    extension, approver, said = opened_extension(read_envelope(data), keys)
    if extension.instance != instance:
        raise EnvelopeRefused(RefusalReason.WRONG_INSTANCE, f"it names {extension.instance!r} instead of {instance!r}")
    if extension.request != request:
        raise EnvelopeRefused(RefusalReason.WRONG_REQUEST, f"it names {extension.request!r} instead of {request!r}")
    return extension, approver, said
