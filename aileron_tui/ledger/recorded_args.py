"""The inputs of an ungated call as the ledger keeps them: large ones by digest, so that nobody can fill the disk."""

import hashlib
from typing import Final

from aileron_tui.core.jsontext import JsonObject, canonical

LARGEST_ARGS: Final = 4 * 1024


def recorded_args(args: JsonObject) -> tuple[JsonObject, int]:
    """The part of an entry's body for these inputs, and its size in bytes.

    Nobody is shown these inputs, so their digest is enough to prove later what was sent.
    """
    data = canonical(args)
    if len(data) <= LARGEST_ARGS:
        return {"args": args}, len(data)
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    return {"cut": {"args": {"digest": digest, "bytes": len(data)}}}, len(digest)
