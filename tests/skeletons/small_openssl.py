"""Does what the openssl commands of the documents do: makes an Ed25519 key, and writes its public part."""

import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)


def main(words: list[str]) -> None:
    """Understands `genpkey -algorithm ed25519 -out FILE` and `pkey -in FILE -pubout -out FILE`."""
    match words:
        case ["genpkey", "-algorithm", "ed25519", "-out", file]:
            key = Ed25519PrivateKey.generate()
            data = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        case ["pkey", "-in", source, "-pubout", "-out", file]:
            private = load_pem_private_key(Path(source).read_bytes(), None)
            data = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        case _:
            raise SystemExit(f"openssl: cannot understand {words}")
    Path(file).write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1:])
