"""A security key made of software, which signs whatever a test tells it to."""

import base64
import hashlib
import json
import secrets
import struct
from collections.abc import Callable
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from aileron_tui.core.decision import challenge, pae
from aileron_tui.signing.assertion import CONSOLE_ORIGIN, Assertion
from aileron_tui.signing.envelope import Envelope, Signable, asserted
from aileron_tui.signing.security_key import EDDSA, ES256, RS256, SecurityKey

PAGE: Final = "http://localhost:8765"
PRESENT: Final = 0x01
VERIFIED: Final = 0x04
ELIGIBLE: Final = 0x08
BACKED_UP: Final = 0x10
ATTESTED: Final = 0x40
EXTENDED: Final = 0x80

Private = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey

_MAKERS: Final[dict[int, Callable[[], Private]]] = {
    ES256: lambda: ec.generate_private_key(ec.SECP256R1()),
    EDDSA: ed25519.Ed25519PrivateKey.generate,
    RS256: lambda: rsa.generate_private_key(65537, 2048),
}


def spki_of(private: Private) -> bytes:
    return private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


class SoftwareKey:
    """A security key. It counts its signatures, and says what it is told about the rest."""

    def __init__(self, algorithm: int = ES256, *, counts: bool = True) -> None:
        self.private = _MAKERS[algorithm]()
        self.public = SecurityKey(secrets.token_bytes(32), algorithm, spki_of(self.private))
        self.counter = 0
        self.counts = counts

    def signature(self, data: bytes) -> bytes:
        match self.private:
            case ec.EllipticCurvePrivateKey():
                return self.private.sign(data, ec.ECDSA(SHA256()))
            case rsa.RSAPrivateKey():
                return self.private.sign(data, padding.PKCS1v15(), SHA256())
        return self.private.sign(data)

    def assertion(  # all that a test may spoil
        self,
        challenged: bytes,
        *,
        origin: str = CONSOLE_ORIGIN,
        rp_id: str = "localhost",
        flags: int = PRESENT | VERIFIED,
        counter: int | None = None,
        more: bytes = b"",
        client: bytes | None = None,
        **fields: Any,
    ) -> tuple[Assertion, bytes]:
        """An assertion over a challenge, and its signature. `fields` are added to the client data; None removes one."""
        self.counter += self.counts
        count = self.counter if counter is None else counter
        said = hashlib.sha256(rp_id.encode()).digest() + struct.pack(">BI", flags, count) + more
        text = base64.urlsafe_b64encode(challenged).decode().rstrip("=")
        about = {"type": "webauthn.get", "challenge": text, "origin": origin, "crossOrigin": False} | fields
        if client is None:
            client = json.dumps({name: value for name, value in about.items() if value is not None}).encode()
        return Assertion(said, client), self.signature(said + hashlib.sha256(client).digest())

    def sign(self, statement: Signable, nonce: bytes = b"n" * 32, **options: Any) -> Envelope:
        """The envelope of a statement, signed as options say."""
        signed = pae(statement.payload_type, statement.payload())
        assertion, signature = self.assertion(options.pop("challenged", challenge(signed, nonce)), **options)
        return asserted(statement, self.public.fingerprint, signature, assertion)
