"""The part of a preview that the ledger keeps: its digest, or all of it if the configuration says so."""

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import PreviewResult


def preview_body(preview: PreviewResult, *, keep: bool) -> JsonObject:
    """The body of a `preview.fetched` entry. The digest can prove later what was shown, without keeping the text."""
    body: JsonObject = {"digest": preview.digest}
    return body | {"preview": preview.recorded} if keep else body
