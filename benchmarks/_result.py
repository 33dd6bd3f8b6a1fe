"""What a measurement comes to."""

from typing import Final

Result = tuple[str, float, float, str]
"""What was measured, the ratio, its limit, and both raw numbers with whatever else is worth knowing."""

LONGEST_STALL: Final = 50.0
"""For how many milliseconds the loop of a screen or a server may be kept from everything else."""


def against(title: str, ours: float, base: float, limit: float, note: str = "") -> Result:
    """Seconds of ours against seconds of what it is measured by."""
    return title, ours / base, limit, f"{ours * 1e3:.1f} ms and {base * 1e3:.1f} ms{note and '; '}{note}"
