"""Base64 in the fields of a DSSE envelope."""

import base64
from typing import Final

_FROM_URL_SAFE: Final = str.maketrans("-_", "+/")


def from_base64(text: str) -> bytes:
    """The bytes in standard or URL-safe base64, or a ValueError; DSSE requires readers to accept both."""
    return base64.b64decode(text.translate(_FROM_URL_SAFE), validate=True)
