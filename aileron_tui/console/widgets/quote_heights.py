"""How several quotes share the rows of a screen."""

from collections.abc import Sequence
from typing import Final

# The head and foot of the quote, and one row of the prompt around it that should stay visible.
_ROWS_AROUND_TEXT: Final = 3
_MIN_HEIGHT: Final = 3
_READABLE_HEIGHT: Final = 8


def share_height(needs: Sequence[int], room: int, window: int) -> list[int]:
    """A height for each quote: what it needs if all fit, else a fair share of the room.

    No quote is taller than the window, so that it can be read without scrolling the prompt. None is too small to read,
    even if the prompt then has to be scrolled.
    """
    highest = max(1, window - _ROWS_AROUND_TEXT)
    lowest = min(highest, max(_MIN_HEIGHT, min(_READABLE_HEIGHT, window // 2)))
    heights = [0] * len(needs)
    by_need = sorted(range(len(needs)), key=lambda index: needs[index])
    for position, index in enumerate(by_need):
        fair = max(lowest, (room - sum(heights)) // (len(by_need) - position))
        heights[index] = max(1, min(needs[index], fair, highest))
    # A quote that lacks only one row gets it: the foot is then not needed, so no room is lost.
    return [need if need == rows + 1 else rows for need, rows in zip(needs, heights, strict=True)]
