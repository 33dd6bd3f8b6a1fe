"""Public keys: reading them from text, their fingerprints, and verifying their signatures."""

import base64
import binascii
import struct
from functools import cached_property
from typing import TYPE_CHECKING, Final

from aileron_tui.core.values import dataclass
from aileron_tui.signing.errors import KeyFault
from aileron_tui.signing.security_key import KEY_TYPE, SecurityKey, read_security_key
from aileron_tui.signing.small_order import has_small_order

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_TYPE: Final = b"ssh-ed25519"
_SPKI: Final = bytes.fromhex("302a300506032b6570032100")  # SubjectPublicKeyInfo of Ed25519 up to the key itself
_LONGEST: Final = 4096
_HINT: Final = 'Give a line such as "ssh-ed25519 AAAA… name" (`aileron-tui key show` prints it) or a PEM public key.'


@dataclass(frozen=True)
class PublicKey:
    """An Ed25519 public key, 32 raw bytes."""

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != 32:
            raise KeyFault("not an Ed25519 public key", f"it has {len(self.raw)} bytes instead of 32", _HINT)
        if has_small_order(self.raw):
            raise KeyFault("this public key would accept forged signatures", "it is a point of small order")

    @property
    def _wire(self) -> bytes:
        return struct.pack(">I", len(_TYPE)) + _TYPE + struct.pack(">I", 32) + self.raw

    @property
    def fingerprint(self) -> str:
        """`SHA256:…` as `ssh-keygen -l` prints it."""
        import hashlib  # noqa: PLC0415  # rarely needed

        return "SHA256:" + base64.b64encode(hashlib.sha256(self._wire).digest()).decode().rstrip("=")

    def line(self, name: str = "") -> str:
        """The key as one line of an OpenSSH `.pub` file."""
        return f"{_TYPE.decode()} {base64.b64encode(self._wire).decode()} {name}".rstrip()

    @cached_property
    def _verifier(self) -> "Ed25519PublicKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415  # 25 ms

        return Ed25519PublicKey.from_public_bytes(self.raw)

    def accepts(self, signature: bytes, data: bytes) -> bool:
        """Whether this key made the signature over the data."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  # only needed to verify

        try:
            self._verifier.verify(signature, data)
        except InvalidSignature:
            return False
        return True


def read_public(text: str) -> PublicKey | SecurityKey:
    """Reads any key from its line, or an Ed25519 key from a PEM block. Raises KeyFault."""
    if text.lstrip().startswith(f"{KEY_TYPE} "):
        words = text.strip().split(None, 2)
        if len(text) > _LONGEST or "\n" in text.strip() or len(words) < 2:
            raise KeyFault("not a public key", hint=_HINT)
        return read_security_key(words[1])
    return read_ed25519(text)


def read_ed25519(text: str) -> PublicKey:
    """Reads an Ed25519 key from an OpenSSH line or a PEM block. Raises KeyFault."""
    text = text.strip()
    if len(text) > _LONGEST:
        raise KeyFault("not a public key", "the text is too long", _HINT)
    if "PRIVATE KEY" in text:
        raise KeyFault("this is a private key", hint="Give the public key. A private key never leaves its machine.")
    if text.startswith("-----BEGIN PUBLIC KEY-----"):
        body = "".join(text.splitlines()[1:-1])
        return PublicKey(_after(_SPKI, _decoded(body)))
    words = text.split(None, 2)
    if len(words) < 2 or words[0] != _TYPE.decode() or "\n" in text:
        raise KeyFault("not an Ed25519 public key", hint=_HINT)
    wire = _decoded(words[1])
    return PublicKey(_after(struct.pack(">I", len(_TYPE)) + _TYPE + struct.pack(">I", 32), wire))


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise KeyFault("not a public key", "its base64 is not valid", _HINT) from None


def _after(prefix: bytes, data: bytes) -> bytes:
    if not data.startswith(prefix):
        raise KeyFault("not an Ed25519 public key", hint=_HINT)
    return data[len(prefix) :]
