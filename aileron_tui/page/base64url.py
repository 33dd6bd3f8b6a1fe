"""Bytes in the JSON of WebAuthn: Base64 for URLs without padding, in the only form that browsers write."""

import base64
import re
from typing import Final

_TEXT: Final = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)


def to_base64url(data: bytes) -> str:
    """Bytes as text."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def from_base64url(text: str) -> bytes:
    """Text as bytes. Raises ValueError."""
    if not _TEXT.fullmatch(text) or len(text) % 4 == 1:
        raise ValueError("not Base64 for URLs")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if to_base64url(data) != text:
        raise ValueError("not in its only form")
    return data
