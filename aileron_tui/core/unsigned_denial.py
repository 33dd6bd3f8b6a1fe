"""Denials without a signature, as the ledger records them: given where no key is at hand, never an approval.

The body of the ledger entry has these fields, all text:

    digest       of the prompt that was shown
    reason       why it was denied, or ""
    surface      where it was denied, such as "page"
    session      the public id of the session in which it was denied
    opened_by    the fingerprint of the approver who opened the session, or "" if nobody did
"""

import re
from typing import Final

from aileron_tui.core.jsontext import JsonError, JsonObject, kind
from aileron_tui.core.values import dataclass

LONGEST_REASON: Final = 4000

_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_SURFACE: Final = re.compile(r"[a-z][a-z-]{0,31}", re.ASCII)
_LONGEST_SESSION: Final = 200


@dataclass(frozen=True, slots=True)
class UnsignedDenial:
    """One denial without a signature."""

    digest: str
    reason: str
    surface: str
    session: str
    opened_by: str

    def body(self) -> JsonObject:
        """The body of the ledger entry."""
        return {name: getattr(self, name) for name in _FIELDS}


_FIELDS: Final = tuple(UnsignedDenial.__dataclass_fields__)


def read_unsigned_denial(body: JsonObject) -> UnsignedDenial:
    """Reads the body of a ledger entry. Raises JsonError."""
    if odd := body.keys() ^ set(_FIELDS):
        raise JsonError("this field is missing or unknown", f"$.body.{min(odd)}")
    texts: dict[str, str] = {}
    for name in _FIELDS:
        value = body[name]
        if not isinstance(value, str):
            raise JsonError(f"expected a string, found {kind(value)}", f"$.body.{name}")
        texts[name] = value
    if not _HASH.fullmatch(texts["digest"]):
        raise JsonError("expected a hash such as sha256:… with 64 hex digits", "$.body.digest")
    if not _SURFACE.fullmatch(texts["surface"]):
        raise JsonError("expected the name of a surface", "$.body.surface")
    if len(texts["reason"]) > LONGEST_REASON:
        raise JsonError(f"longer than {LONGEST_REASON:,} characters", "$.body.reason")
    if not 0 < len(texts["session"]) <= _LONGEST_SESSION:
        raise JsonError("expected the id of a session", "$.body.session")
    return UnsignedDenial(**texts)
