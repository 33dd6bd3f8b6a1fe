"""The public part of a security key or passkey (WebAuthn), its fingerprint, and verifying its signatures."""

import base64
import struct
from functools import cached_property
from typing import TYPE_CHECKING, Final

from aileron_tui.core.values import dataclass
from aileron_tui.signing.errors import KeyFault
from aileron_tui.signing.small_order import has_small_order

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

KEY_TYPE: Final = "webauthn"
FINGERPRINT_PREFIX: Final = "WEBAUTHN:"
RP_ID: Final = "localhost"

ES256: Final = -7
EDDSA: Final = -8
RS256: Final = -257
ALGORITHMS: Final = (ES256, EDDSA, RS256)
"""The signature algorithms that are accepted, as COSE numbers them, the preferred one first."""

LONGEST_CREDENTIAL: Final = 1023
LARGEST_SPKI: Final = 1024

_SPKI_STARTS: Final = {
    ES256: bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004"),
    EDDSA: bytes.fromhex("302a300506032b6570032100"),
}
_SPKI_SIZES: Final = {ES256: 91, EDDSA: 44}
_RSA_SIZES: Final = range(2048, 4097)
_RSA_EXPONENT: Final = 65537
_NOT_ONE: Final = "not the public part of a security key"


@dataclass(frozen=True)
class SecurityKey:
    """The public part of a security key or passkey.

    `credential` is the id by which the key finds its secret, `algorithm` a COSE number, `spki` the public key in DER,
    and `rp_id` the site for which it signs.
    """

    credential: bytes
    algorithm: int
    spki: bytes
    rp_id: str = RP_ID

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise KeyFault("this security key uses an algorithm that is not supported", str(self.algorithm))
        if not 1 <= len(self.credential) <= LONGEST_CREDENTIAL:
            raise KeyFault(_NOT_ONE, f"its credential has {len(self.credential)} bytes")
        if self.rp_id != RP_ID:
            raise KeyFault("this security key was made for another site", repr(self.rp_id))
        if len(self.spki) > LARGEST_SPKI or len(self.spki) != _SPKI_SIZES.get(self.algorithm, len(self.spki)):
            raise KeyFault(_NOT_ONE, f"its public key has {len(self.spki)} bytes")
        if not self.spki.startswith(_SPKI_STARTS.get(self.algorithm, b"\x30")):
            raise KeyFault(_NOT_ONE, "its public key is not of its algorithm")
        if self.algorithm == EDDSA and has_small_order(self.spki[-32:]):
            raise KeyFault(_NOT_ONE, "it would accept forged signatures")

    @cached_property
    def _wire(self) -> bytes:
        parts = (self.rp_id.encode(), struct.pack(">i", self.algorithm), self.credential, self.spki)
        return b"".join(struct.pack(">I", len(part)) + part for part in parts)

    @cached_property
    def fingerprint(self) -> str:
        """`WEBAUTHN:…`, the hash of everything in the public part."""
        import hashlib  # noqa: PLC0415  # rarely needed

        return FINGERPRINT_PREFIX + base64.b64encode(hashlib.sha256(self._wire).digest()).decode().rstrip("=")

    def line(self, name: str = "") -> str:
        """The key as one line."""
        return f"{KEY_TYPE} {base64.b64encode(self._wire).decode()} {name}".rstrip()

    def check(self) -> None:
        """Raises KeyFault if the public key cannot be used to verify signatures."""
        _ = self._verifier

    @cached_property
    def _verifier(self) -> "PublicKeyTypes":
        from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  # only needed to verify
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import load_der_public_key  # noqa: PLC0415

        try:
            found = load_der_public_key(self.spki)
        except (ValueError, UnsupportedAlgorithm):
            raise KeyFault(_NOT_ONE, "its public key is not valid") from None
        if self.algorithm == RS256 and not (
            isinstance(found, RSAPublicKey)
            and found.key_size in _RSA_SIZES
            and found.public_numbers().e == _RSA_EXPONENT
        ):
            raise KeyFault(_NOT_ONE, "its public key is not an RSA key of 2048 to 4096 bits")
        return found

    def accepts(self, signature: bytes, data: bytes) -> bool:
        """Whether this key made the signature over exactly these bytes."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  # only needed to verify
        from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415

        try:
            match self._verifier:
                case EllipticCurvePublicKey() as key:
                    key.verify(signature, data, ECDSA(SHA256()))
                case Ed25519PublicKey() as key:
                    key.verify(signature, data)
                case RSAPublicKey() as key:
                    key.verify(signature, data, PKCS1v15(), SHA256())
                case _:
                    return False
        except (InvalidSignature, KeyFault):
            return False
        return True


def read_security_key(encoded: str) -> SecurityKey:
    """Reads a key from the middle of its line. Raises KeyFault."""
    try:
        wire = base64.b64decode(encoded, validate=True)
        parts: list[bytes] = []
        start = 0
        while start < len(wire):
            (size,) = struct.unpack_from(">I", wire, start)
            parts.append(wire[start + 4 : start + 4 + size])
            start += 4 + size
        rp_id, algorithm, credential, spki = parts
        key = SecurityKey(credential, struct.unpack(">i", algorithm)[0], spki, rp_id.decode())
    except (ValueError, struct.error):
        raise KeyFault(_NOT_ONE, "its line cannot be read") from None
    if key.line() != f"{KEY_TYPE} {encoded}":
        raise KeyFault(_NOT_ONE, "its line is not in its only form")
    return key
