"""A passkey or security key in software: behind fido2's device interface as a USB key, and directly as a browser.

As a USB key it can have a PIN or a fingerprint reader, wait to be touched, and be unplugged. `registration` and
`assertion` give what a page gets from `navigator.credentials`; every part of an assertion can be changed for tests.
"""

import hashlib
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from threading import Event
from typing import Any, Final

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from fido2 import cbor
from fido2.cose import ES256, RS256, CoseKey, EdDSA
from fido2.ctap import STATUS, CtapDevice, CtapError
from fido2.ctap2.base import Ctap2
from fido2.ctap2.pin import ClientPin, PinProtocolV2
from fido2.hid import CAPABILITY, CTAPHID
from fido2.utils import websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData

PAGE_ORIGIN: Final = "http://localhost:8717"
RP_ID: Final = "localhost"
AAGUID: Final = bytes.fromhex("a11e70000000400080000000000000a1")

_FLAG: Final = AuthenticatorData.FLAG
_ERR: Final = CtapError.ERR
_KEY_AGREEMENT, _TOKEN, _RETRIES = 1, 2, 3

_PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey


class Touch(StrEnum):
    """What happens while the key waits to be touched."""

    TOUCHED = "touched"
    NEVER = "never"
    REFUSED = "refused"
    UNPLUGGED = "unplugged"


@dataclass
class Credential:
    """One credential of an authenticator. A counter of None is always sent as 0, as passkeys do."""

    id: bytes
    rp_id: str
    algorithm: int
    key: _PrivateKey
    counter: int | None = 0

    @property
    def spki(self) -> bytes:
        """The public key as DER."""
        encoding, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        return self.key.public_key().public_bytes(encoding, form)

    @property
    def cose(self) -> CoseKey:
        """The public key as COSE."""
        return _cose(self.algorithm, self.key.public_key())

    def sign(self, data: bytes) -> bytes:
        """The signature as authenticators encode it."""
        match self.key:
            case ec.EllipticCurvePrivateKey():
                return self.key.sign(data, ec.ECDSA(hashes.SHA256()))
            case ed25519.Ed25519PrivateKey():
                return self.key.sign(data)
            case _:
                return self.key.sign(data, padding.PKCS1v15(), hashes.SHA256())

    def next_counter(self) -> int:
        """Counts one signature."""
        if self.counter is None:
            return 0
        self.counter += 1
        return self.counter


@dataclass(frozen=True)
class SignedAssertion:
    """An assertion: the bytes that are verified, and as the JSON that a browser's `toJSON()` gives."""

    credential: bytes
    authenticator_data: bytes
    client_data: bytes
    signature: bytes

    def json(self) -> dict[str, Any]:
        """The assertion as `PublicKeyCredential.toJSON()`."""
        return _credential_json(
            self.credential,
            {
                "authenticatorData": websafe_encode(self.authenticator_data),
                "clientDataJSON": websafe_encode(self.client_data),
                "signature": websafe_encode(self.signature),
                "userHandle": websafe_encode(b"aileron"),
            },
        )


@dataclass(frozen=True)
class Registration:
    """A new credential: its public part, and as the JSON that a browser's `toJSON()` gives."""

    credential: Credential
    attestation_object: bytes
    authenticator_data: bytes
    client_data: bytes

    def json(self) -> dict[str, Any]:
        """The credential as `PublicKeyCredential.toJSON()`."""
        return _credential_json(
            self.credential.id,
            {
                "attestationObject": websafe_encode(self.attestation_object),
                "authenticatorData": websafe_encode(self.authenticator_data),
                "clientDataJSON": websafe_encode(self.client_data),
                "publicKey": websafe_encode(self.credential.spki),
                "publicKeyAlgorithm": self.credential.algorithm,
                "transports": ["internal"],
            },
        )


def _credential_json(id_: bytes, response: dict[str, Any]) -> dict[str, Any]:
    encoded = websafe_encode(id_)
    return {
        "id": encoded,
        "rawId": encoded,
        "type": "public-key",
        "authenticatorAttachment": "platform",
        "clientExtensionResults": {},
        "response": response,
    }


@dataclass
class SoftwareAuthenticator(CtapDevice):
    """An authenticator. `pin` is its PIN; without one it verifies its user itself, if `verifies`.

    `touch` says what happens when it wants to be touched, and may change meanwhile. `backup_eligible` and `backed_up`
    are the flags of a passkey that is synced. `blinked` counts how often it asked to be touched.
    """

    pin: str = ""
    verifies: bool = True
    algorithm: int = -7
    counts: bool = True
    backup_eligible: bool = False
    backed_up: bool = False
    touch: Touch = Touch.TOUCHED
    pin_tries: int = 8
    product_name: str = "Software Key"
    credentials: list[Credential] = field(default_factory=list)
    blinked: int = 0
    closed: int = 0
    plugged_in: bool = True
    _token: bytes = b""
    _agreement: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    # as a browser

    def registration(
        self, challenge: bytes, origin: str = PAGE_ORIGIN, rp_id: str = RP_ID, *, flags: int | None = None
    ) -> Registration:
        """Makes a credential, as `navigator.credentials.create` does."""
        credential = self.credential(rp_id)
        data = self._attested(credential, self._flags(verified=True) if flags is None else flags)
        client = CollectedClientData.create("webauthn.create", challenge, origin)
        return Registration(credential, AttestationObject.create("none", data, {}), data, client)

    def assertion(
        self,
        challenge: bytes,
        origin: str = PAGE_ORIGIN,
        rp_id: str = RP_ID,
        *,
        credential: Credential | None = None,
        flags: int | None = None,
        counter: int | None = None,
        client: Mapping[str, Any] | None = None,
        client_data: bytes | None = None,
    ) -> SignedAssertion:
        """Signs a challenge, as `navigator.credentials.get` does.

        `client` adds or replaces members of the client data, and `client_data` all of it; the signature covers that.
        """
        credential = credential or self.credentials[-1]
        count = credential.next_counter() if counter is None else counter
        chosen = self._flags(verified=True) if flags is None else flags
        data = _sha256(rp_id.encode()) + struct.pack(">BI", chosen, count)
        if client_data is None:
            members = {"type": "webauthn.get", "challenge": challenge, "origin": origin} | dict(client or {})
            client_data = CollectedClientData.create(**members)
        return SignedAssertion(credential.id, data, bytes(client_data), credential.sign(data + _sha256(client_data)))

    def credential(self, rp_id: str = RP_ID) -> Credential:
        """Makes a credential."""
        key: _PrivateKey
        match self.algorithm:
            case -7:
                key = ec.generate_private_key(ec.SECP256R1())
            case -8:
                key = ed25519.Ed25519PrivateKey.generate()
            case _:
                key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        credential = Credential(os.urandom(32), rp_id, self.algorithm, key, 0 if self.counts else None)
        self.credentials.append(credential)
        return credential

    def clone(self) -> "SoftwareAuthenticator":
        """A copy with the same keys and counters, which then count separately."""
        return replace(self, credentials=[replace(credential) for credential in self.credentials])

    def _flags(self, *, verified: bool, present: bool = True) -> int:
        return (
            (_FLAG.UP if present else 0)
            | (_FLAG.UV if verified else 0)
            | (_FLAG.BE if self.backup_eligible else 0)
            | (_FLAG.BS if self.backed_up else 0)
        )

    @staticmethod
    def _attested(credential: Credential, flags: int) -> AuthenticatorData:
        attested = AttestedCredentialData.create(AAGUID, credential.id, credential.cose)
        count = credential.counter or 0
        head = _sha256(credential.rp_id.encode()) + struct.pack(">BI", flags | _FLAG.AT, count)
        return AuthenticatorData(head + attested)

    # as a USB key

    @property
    def capabilities(self) -> int:
        """CTAP2 only."""
        return CAPABILITY.CBOR | CAPABILITY.NMSG

    @classmethod
    def list_devices(cls) -> Iterator[CtapDevice]:
        """None are found; tests pass the devices they want."""
        return iter(())

    def close(self) -> None:
        """Counts how often it was closed."""
        self.closed += 1

    def call(
        self,
        cmd: int,
        data: bytes = b"",
        event: Event | None = None,
        on_keepalive: Callable[[STATUS], None] | None = None,
    ) -> bytes:
        """Answers one CTAP command."""
        if not self.plugged_in:
            raise OSError(19, "No such device")
        if cmd != CTAPHID.CBOR:
            return bytes([_ERR.INVALID_COMMAND])
        fields: Any = cbor.decode(data[1:]) if len(data) > 1 else {}
        try:
            reply = self._answer(data[0], fields, event or Event(), on_keepalive)
        except CtapError as error:
            return bytes([error.code])
        return b"\0" + (cbor.encode(reply) if reply else b"")

    def _answer(
        self, command: int, fields: Mapping[int, Any], event: Event, on_keepalive: Callable[[STATUS], None] | None
    ) -> Mapping[int, Any]:
        match command:
            case Ctap2.CMD.GET_INFO:
                return self._info()
            case Ctap2.CMD.CLIENT_PIN:
                return self._client_pin(fields)
            case Ctap2.CMD.SELECTION:
                self._wait_for_touch(event, on_keepalive)
                return {}
            case Ctap2.CMD.MAKE_CREDENTIAL:
                return self._make_credential(fields, event, on_keepalive)
            case Ctap2.CMD.GET_ASSERTION:
                return self._get_assertion(fields, event, on_keepalive)
            case _:
                raise CtapError(_ERR.INVALID_COMMAND)

    def _info(self) -> Mapping[int, Any]:
        options = {"rk": False, "up": True}
        if self.pin:
            options |= {"clientPin": True, "pinUvAuthToken": True}
        elif self.verifies:
            options |= {"uv": True}
        return {
            1: ["FIDO_2_0", "FIDO_2_1"],
            3: AAGUID,
            4: options,
            5: 1200,
            6: [2],
            7: 8,
            8: 64,
            10: [{"type": "public-key", "alg": self.algorithm}],
        }

    def _client_pin(self, fields: Mapping[int, Any]) -> Mapping[int, Any]:
        match fields[2]:
            case ClientPin.CMD.GET_PIN_RETRIES:
                return {_RETRIES: self.pin_tries}
            case ClientPin.CMD.GET_KEY_AGREEMENT:
                return {_KEY_AGREEMENT: dict(_cose(-7, self._agreement.public_key())) | {3: -25}}
            case ClientPin.CMD.GET_TOKEN_USING_PIN:
                return {_TOKEN: self._pin_token(fields)}
            case _:
                raise CtapError(_ERR.INVALID_SUBCOMMAND)

    def _pin_token(self, fields: Mapping[int, Any]) -> bytes:
        if self.pin_tries == 0:
            raise CtapError(_ERR.PIN_BLOCKED)
        protocol: Any = PinProtocolV2()
        peer = fields[3]
        numbers = ec.EllipticCurvePublicNumbers(
            int.from_bytes(peer[-2], "big"), int.from_bytes(peer[-3], "big"), ec.SECP256R1()
        )
        secret = protocol.kdf(self._agreement.exchange(ec.ECDH(), numbers.public_key()))
        if protocol.decrypt(secret, fields[6]) != _sha256(self.pin.encode())[:16]:
            self.pin_tries -= 1
            raise CtapError(_ERR.PIN_INVALID if self.pin_tries else _ERR.PIN_BLOCKED)
        self.pin_tries = 8
        self._token = os.urandom(32)
        encrypted: bytes = protocol.encrypt(secret, self._token)
        return encrypted

    def _verified(self, client_hash: bytes, proof: bytes | None, options: Mapping[str, bool]) -> bool:
        if self.pin and proof is not None:
            protocol: Any = PinProtocolV2()
            if not self._token or protocol.authenticate(self._token, client_hash) != proof:
                raise CtapError(_ERR.PIN_AUTH_INVALID)
            return True
        return self.verifies and not self.pin and bool(options.get("uv"))

    def _wait_for_touch(self, event: Event, on_keepalive: Callable[[STATUS], None] | None) -> None:
        self.blinked += 1
        if on_keepalive is not None:
            on_keepalive(STATUS.UPNEEDED)
        match self.touch:
            case Touch.NEVER:
                self._blink(event)
            case Touch.REFUSED:
                raise CtapError(_ERR.OPERATION_DENIED)
            case Touch.UNPLUGGED:
                self.plugged_in = False
                raise OSError(19, "No such device")

    def _blink(self, event: Event) -> None:
        """Waits until it is touched after all, at most for 30 seconds."""
        for _ in range(1500):
            if event.wait(0.02):
                raise CtapError(_ERR.KEEPALIVE_CANCEL)
            if self.touch is Touch.TOUCHED:
                return
        raise CtapError(_ERR.USER_ACTION_TIMEOUT)

    def _make_credential(
        self, fields: Mapping[int, Any], event: Event, on_keepalive: Callable[[STATUS], None] | None
    ) -> Mapping[int, Any]:
        if not any(params["alg"] == self.algorithm for params in fields[4]):
            raise CtapError(_ERR.UNSUPPORTED_ALGORITHM)
        verified = self._verified(fields[1], fields.get(8), fields.get(7, {}))
        self._wait_for_touch(event, on_keepalive)
        if self._among(fields[2]["id"], fields.get(5, [])):
            raise CtapError(_ERR.CREDENTIAL_EXCLUDED)
        data = self._attested(self.credential(fields[2]["id"]), self._flags(verified=verified))
        return {1: "none", 2: bytes(data), 3: {}}

    def _get_assertion(
        self, fields: Mapping[int, Any], event: Event, on_keepalive: Callable[[STATUS], None] | None
    ) -> Mapping[int, Any]:
        options = fields.get(5, {})
        present = options.get("up", True)
        verified = self._verified(fields[2], fields.get(6), options)
        if present:
            self._wait_for_touch(event, on_keepalive)
        credential = self._among(fields[1], fields.get(3, []))
        if credential is None:
            raise CtapError(_ERR.NO_CREDENTIALS)
        count = credential.next_counter() if present else credential.counter or 0
        flags = self._flags(verified=verified, present=present)
        data = _sha256(fields[1].encode()) + struct.pack(">BI", flags, count)
        return {1: {"id": credential.id, "type": "public-key"}, 2: data, 3: credential.sign(data + fields[2])}

    def _among(self, rp_id: str, listed: list[Mapping[str, Any]]) -> Credential | None:
        ids = {one["id"] for one in listed}
        return next((one for one in self.credentials if one.rp_id == rp_id and one.id in ids), None)


def _cose(algorithm: int, public: object) -> CoseKey:
    kind: Any = {-7: ES256, -8: EdDSA, -257: RS256}[algorithm]
    key: CoseKey = kind.from_cryptography_key(public)
    return key


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
