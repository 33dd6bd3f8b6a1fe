"""The digest of a request's id, which takes less room than the id where very many are kept."""

import hashlib
from typing import Final

DIGEST_SIZE: Final = 16


def id_digest(request: str) -> bytes:
    """The digest of an id. No two ids with the same one can be found."""
    return hashlib.blake2b(request.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE).digest()
