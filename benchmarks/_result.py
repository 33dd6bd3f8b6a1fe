"""The result of a measurement."""

from typing import Final

Result = tuple[str, float, float, str]
"""A title, the ratio, its limit, and a note with both raw numbers."""

LONGEST_STALL: Final = 50.0
"""Milliseconds for which the event loop of a screen or a server may be blocked."""


def against(title: str, ours: float, base: float, limit: float, note: str = "") -> Result:
    """The ratio of our seconds to those of the base."""
    return title, ours / base, limit, f"{ours * 1e3:.1f} ms and {base * 1e3:.1f} ms{note and '; '}{note}"
