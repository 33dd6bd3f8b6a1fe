"""Private keys as PKCS#8 PEM, encrypted with a key that scrypt derives from the passphrase.

`cryptography` writes encrypted PKCS#8 with only 2,048 rounds of PBKDF2, and needs another package for OpenSSH's format.
Passphrases of both are easier to guess with graphics cards than with scrypt, which needs 128 MiB for every guess. RFC
7914 defines scrypt for PKCS#8, so this is a standard file, and only the few bytes of DER around the ciphertext are
written here. (The `openssl` command cannot open it, because it uses at most 32 MiB; the OpenSSL library can.)
"""

import base64
import secrets
from typing import Final, cast

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from aileron_tui.signing.errors import KeyFault, WrongSecret
from aileron_tui.signing.secret_memory import wipe

WORK: Final = 2**17

_BLOCK: Final = 16
_R, _P = 8, 1
_PLAIN: Final = bytes.fromhex("302e020100300506032b657004220420")  # PrivateKeyInfo of Ed25519 up to the seed
_PBES2: Final = bytes.fromhex("06092a864886f70d01050d")
_SCRYPT: Final = bytes.fromhex("06092b06010401da47040b")
_AES256_CBC: Final = bytes.fromhex("060960864801650304012a")
_ENCRYPTED: Final = "ENCRYPTED PRIVATE KEY"
_OPEN: Final = "PRIVATE KEY"


def write(seed: bytearray, passphrase: bytearray | None, work: int = WORK) -> bytes:
    """Returns a 32-byte seed as a PEM file; `work` is scrypt's cost. The caller wipes both secrets."""
    plain = bytearray(_PLAIN) + seed
    try:
        if passphrase is None:
            return _pem(_OPEN, bytes(plain))
        return _pem(_ENCRYPTED, _encrypt(plain, passphrase, work))
    finally:
        wipe(plain)


def read(pem: bytes, passphrase: bytearray | None) -> Ed25519PrivateKey:
    """Returns the key in a PEM file. Raises WrongSecret or KeyFault."""
    try:
        # The function accepts any buffer, although its annotation says bytes, which could not be wiped.
        key = load_pem_private_key(pem, cast("bytes | None", passphrase))
    except TypeError:
        if passphrase is None:
            raise WrongSecret("the key needs its passphrase") from None
        raise KeyFault("a passphrase was given, but the key has none") from None
    except ValueError as error:
        # One wrong passphrase in 256 decrypts to bytes that look like a key until they are parsed.
        if "password" in str(error).lower() or (passphrase is not None and _is_locked(pem)):
            raise WrongSecret("wrong passphrase") from None
        raise KeyFault("the key file is damaged", "it is not a PKCS#8 private key") from None
    except (UnsupportedAlgorithm, MemoryError, OverflowError):
        raise KeyFault("the key file uses encryption that is not supported here") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFault("not an Ed25519 key", f"the file has a {type(key).__name__}")
    return key


def _is_locked(pem: bytes) -> bool:
    """Whether this is a complete encrypted key, which cannot be checked without its passphrase."""
    try:
        load_pem_private_key(pem, None)
    except TypeError:
        return True
    except (ValueError, UnsupportedAlgorithm):
        pass
    return False


def _encrypt(plain: bytearray, passphrase: bytearray, work: int) -> bytes:
    salt, vector = secrets.token_bytes(16), secrets.token_bytes(_BLOCK)
    padding = _BLOCK - len(plain) % _BLOCK
    padded = plain + bytes([padding]) * padding
    key = bytearray(32)
    try:
        Scrypt(salt=salt, length=32, n=work, r=_R, p=_P).derive_into(passphrase, key)
        cipher = Cipher(algorithms.AES256(key), modes.CBC(vector)).encryptor()
        sealed = cipher.update(padded) + cipher.finalize()
    finally:
        wipe(key)
        wipe(padded)
    numbers = b"".join(map(_integer, (work, _R, _P, 32)))
    derivation = _sequence(_SCRYPT + _sequence(_octets(salt) + numbers))
    scheme = _sequence(_PBES2 + _sequence(derivation + _sequence(_AES256_CBC + _octets(vector))))
    return _sequence(scheme + _octets(sealed))


def _pem(label: str, der: bytes) -> bytes:
    text = base64.b64encode(der).decode()
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""]).encode()


def _tagged(tag: int, content: bytes) -> bytes:
    size = len(content)
    return bytes([tag, size] if size < 128 else [tag, 0x81, size]) + content


def _sequence(content: bytes) -> bytes:
    return _tagged(0x30, content)


def _octets(content: bytes) -> bytes:
    return _tagged(0x04, content)


def _integer(number: int) -> bytes:
    return _tagged(0x02, number.to_bytes(number.bit_length() // 8 + 1))
