"""Signing by touching a security key: the key signs a challenge that covers the statement."""

import os
from collections.abc import Sequence
from threading import Event
from typing import TYPE_CHECKING, Final

from aileron_tui.core.decision import challenge, pae
from aileron_tui.core.values import dataclass
from aileron_tui.files.paths import paths
from aileron_tui.signing.approvers import Approver
from aileron_tui.signing.assertion import CONSOLE_ORIGIN, Assertion
from aileron_tui.signing.envelope import Envelope, Signable, asserted, check_signature
from aileron_tui.signing.security_key import RP_ID, SecurityKey
from aileron_tui.surface.key_enrolment import read_approvers
from aileron_tui.surface.security_key_device import (
    Devices,
    TouchCancelled,
    TouchDialog,
    TouchFault,
    TouchTimer,
    check_installed,
    client,
    is_wrong_pin,
    opened_devices,
    plain_faults,
    usb_devices,
)

if TYPE_CHECKING:
    from fido2.client import AssertionSelection
    from fido2.ctap import CtapDevice

ADD: Final = "Add one with `aileron-tui key security-key add`."
TOUCH: Final = "Touch your security key now."


@dataclass(frozen=True, slots=True)
class Touched:
    """What a touch signed, and the key that did."""

    envelope: Envelope
    approver: Approver


def home_security_keys() -> tuple[Approver, ...]:
    """The security keys that may approve on the gate of this home."""
    return read_approvers(paths().data).security_keys


def touched(
    statement: Signable,
    keys: Sequence[Approver],
    person: TouchDialog,
    *,
    cancelled: Event | None = None,
    devices: Devices = usb_devices,
) -> Touched:
    """Signs a statement with one of these keys, once it is touched. Blocks; setting `cancelled` ends that.

    Raises TouchFault, which says what to do, or TouchCancelled. What the key signed is verified before it is returned.
    """
    cancelled = cancelled or Event()
    known = {key.public.credential: key for key in keys if isinstance(key.public, SecurityKey)}
    if not known:
        raise TouchFault("no security key is enrolled here", hint=ADD)
    check_installed()
    timer = TouchTimer(cancelled)
    asked = challenge(pae(statement.payload_type, statement.payload()), os.urandom(32))
    with opened_devices(devices) as found, plain_faults(cancelled, timer):
        device = _chosen(found, tuple(known))
        response = _asserted(device, asked, tuple(known), person, cancelled, timer).get_response(0)
        if cancelled.is_set():
            raise TouchCancelled("cancelled")
        approver = known[bytes(response.raw_id)]
        parts = response.response
        assertion = Assertion(bytes(parts.authenticator_data), bytes(parts.client_data))
    fingerprint = approver.public.fingerprint
    envelope = asserted(statement, fingerprint, bytes(parts.signature), assertion)
    check_signature(envelope, {fingerprint: approver})
    return Touched(envelope, approver)


def _chosen(found: "Sequence[CtapDevice]", credentials: Sequence[bytes]) -> "CtapDevice":
    """The key that is enrolled among those that are plugged in. Nobody needs to touch anything for that."""
    from fido2.ctap import CtapError  # noqa: PLC0415  # only if a security key is used
    from fido2.ctap2.base import Ctap2  # noqa: PLC0415

    listed = [{"id": credential, "type": "public-key"} for credential in credentials]
    uncertain: list[CtapDevice] = []
    for device in found:
        try:
            ctap = Ctap2(device)
            for one in listed:  # many keys accept only one at a time
                try:
                    ctap.get_assertion(RP_ID, bytes(32), [one], options={"up": False})
                except CtapError as error:
                    if error.code != CtapError.ERR.NO_CREDENTIALS:
                        raise
                else:
                    return device
        except (CtapError, ValueError):
            uncertain.append(device)  # it does not say before its PIN is entered, or it is too old
    if uncertain:
        return uncertain[0]
    raise CtapError(CtapError.ERR.NO_CREDENTIALS)


def _asserted(  # noqa: PLR0913, PLR0917  # what a touch needs
    device: "CtapDevice",
    asked: bytes,
    credentials: Sequence[bytes],
    person: TouchDialog,
    cancelled: Event,
    timer: TouchTimer,
) -> "AssertionSelection":
    from fido2.client import ClientError  # noqa: PLC0415
    from fido2.webauthn import (  # noqa: PLC0415
        PublicKeyCredentialDescriptor,
        PublicKeyCredentialRequestOptions,
        PublicKeyCredentialType,
        UserVerificationRequirement,
    )

    def blinks() -> None:
        timer.start()
        person.say(TOUCH)

    kind = PublicKeyCredentialType.PUBLIC_KEY
    options = PublicKeyCredentialRequestOptions(
        challenge=asked,
        rp_id=RP_ID,
        allow_credentials=[PublicKeyCredentialDescriptor(type=kind, id=one) for one in credentials],
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    speaker = client(device, CONSOLE_ORIGIN, person, blinks)
    while True:
        try:
            return speaker.get_assertion(options, cancelled)
        except ClientError as error:
            if cancelled.is_set() or not is_wrong_pin(error):
                raise
