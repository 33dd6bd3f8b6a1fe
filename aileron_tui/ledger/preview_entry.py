"""The part of a preview that the ledger keeps: its digest, or all of it if the configuration says so."""

import hashlib

from aileron_tui.core.jsontext import Json, JsonObject, canonical


def preview_body(preview: Json, *, keep: bool) -> JsonObject:
    """The body of a `preview.fetched` entry. The digest can prove later what was shown, without keeping the text."""
    digest = f"sha256:{hashlib.sha256(canonical(preview)).hexdigest()}"
    return {"digest": digest, "preview": preview} if keep else {"digest": digest}
