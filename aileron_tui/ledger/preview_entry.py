"""What the ledger keeps of a preview: its digest, or all of it if the configuration says so."""

import hashlib

from aileron_tui.core.jsontext import Json, JsonObject, canonical


def preview_body(preview: Json, *, keep: bool) -> JsonObject:
    """The body of a `preview.fetched` entry. The digest proves later what was shown without keeping it."""
    digest = f"sha256:{hashlib.sha256(canonical(preview)).hexdigest()}"
    return {"digest": digest, "preview": preview} if keep else {"digest": digest}
