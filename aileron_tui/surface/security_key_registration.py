"""Making a credential on a security key that is plugged in, so that it can be enrolled."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from aileron_tui.core.values import dataclass
from aileron_tui.signing.approvers import Approver
from aileron_tui.signing.assertion import CONSOLE_ORIGIN
from aileron_tui.signing.security_key import ALGORITHMS, EDDSA, ES256, RP_ID, RS256, SecurityKey
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
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from fido2.ctap import CtapDevice
    from fido2.webauthn import RegistrationResponse

_TOUCH: Final = "Touch the security key that you want to add."
_USER: Final = b"aileron-tui"


@dataclass(frozen=True, slots=True)
class RegisteredKey:
    """A new credential: its public part, and whether it may be copied to other devices of its owner."""

    public: SecurityKey
    backup_eligible: bool


def registered(
    name: str,
    known: Sequence[Approver],
    person: TouchDialog,
    *,
    cancelled: Event | None = None,
    devices: Devices = usb_devices,
) -> RegisteredKey:
    """Makes a credential on the only security key that is plugged in, unless it has one of the `known`. Blocks."""
    cancelled = cancelled or Event()
    check_installed()
    timer = TouchTimer(cancelled)
    with opened_devices(devices) as found, plain_faults(cancelled, timer):
        if len(found) > 1:
            detail = f"{len(found)} are plugged in"
            raise TouchFault("it is not certain which security key you mean", detail, "Unplug the others.")
        response = _made(found[0], name, known, person, cancelled, timer)
        if cancelled.is_set():
            raise TouchCancelled("cancelled")
        return read_registration(bytes(response.response.attestation_object.auth_data))


def read_registration(authenticator_data: bytes) -> RegisteredKey:
    """The public part of a new credential. Raises TouchFault unless it is for this site and its user was verified."""
    from fido2.webauthn import AuthenticatorData  # noqa: PLC0415  # only if a security key is added

    try:
        data = AuthenticatorData(authenticator_data)
        credential = data.credential_data
        if credential is None:
            raise ValueError("it contains no key")
        key = SecurityKey(credential.credential_id, credential.public_key[3], _spki(credential.public_key), RP_ID)
        key.check()
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise TouchFault("the security key sent an invalid reply", str(error), "Use another one.") from None
    if data.rp_id_hash != hashlib.sha256(RP_ID.encode()).digest():
        raise TouchFault("the credential was made for another site")
    if not (data.is_user_present() and data.is_user_verified()):
        hint = "Set a PIN with its own program or in a browser's settings."
        raise TouchFault("the security key did not check who touched it", hint=hint)
    eligible, backed_up = data.is_backup_eligible(), bool(data.flags & AuthenticatorData.FLAG.BS)
    if backed_up and not eligible:
        raise TouchFault("the security key contradicts itself", "it has a copy, but says that it cannot have one")
    return RegisteredKey(key, eligible)


def _made(  # noqa: PLR0913, PLR0917  # what a touch needs
    device: "CtapDevice",
    name: str,
    known: Sequence[Approver],
    person: TouchDialog,
    cancelled: Event,
    timer: TouchTimer,
) -> "RegistrationResponse":
    from fido2.client import ClientError  # noqa: PLC0415  # only if a security key is added
    from fido2.webauthn import (  # noqa: PLC0415
        AuthenticatorSelectionCriteria,
        PublicKeyCredentialCreationOptions,
        PublicKeyCredentialDescriptor,
        PublicKeyCredentialParameters,
        PublicKeyCredentialRpEntity,
        PublicKeyCredentialType,
        PublicKeyCredentialUserEntity,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    def blinks() -> None:
        timer.start()
        person.say(_TOUCH)

    kind = PublicKeyCredentialType.PUBLIC_KEY
    excluded = [key.public.credential for key in known if isinstance(key.public, SecurityKey)]
    options = PublicKeyCredentialCreationOptions(
        rp=PublicKeyCredentialRpEntity(name="aileron-tui", id=RP_ID),
        user=PublicKeyCredentialUserEntity(name=name, id=_USER, display_name=name),
        challenge=os.urandom(32),
        pub_key_cred_params=[PublicKeyCredentialParameters(type=kind, alg=algorithm) for algorithm in ALGORITHMS],
        exclude_credentials=[PublicKeyCredentialDescriptor(type=kind, id=one) for one in excluded] or None,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.DISCOURAGED,
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
    )
    speaker = client(device, CONSOLE_ORIGIN, person, blinks)
    while True:
        try:
            return speaker.make_credential(options, cancelled)
        except ClientError as error:
            if cancelled.is_set() or not is_wrong_pin(error):
                raise


def _spki(cose: Mapping[int, Any]) -> bytes:
    """A COSE key as DER."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415  # as above

    return _public(cose).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _public(cose: Mapping[int, Any]) -> "EllipticCurvePublicKey | Ed25519PublicKey | RSAPublicKey":
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicNumbers  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers  # noqa: PLC0415

    match cose:
        case {1: 2, 3: algorithm, -1: 1, -2: bytes() as x, -3: bytes() as y} if algorithm == ES256:
            numbers = EllipticCurvePublicNumbers(int.from_bytes(x, "big"), int.from_bytes(y, "big"), SECP256R1())
            return numbers.public_key()
        case {1: 1, 3: algorithm, -1: 6, -2: bytes() as raw} if algorithm == EDDSA:
            return Ed25519PublicKey.from_public_bytes(raw)
        case {1: 3, 3: algorithm, -1: bytes() as n, -2: bytes() as e} if algorithm == RS256:
            return RSAPublicNumbers(int.from_bytes(e, "big"), int.from_bytes(n, "big")).public_key()
    raise ValueError("its algorithm is not accepted here")
