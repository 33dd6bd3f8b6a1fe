"""How several quotes share the rows of a screen."""

from collections.abc import Sequence
from typing import Final

# A quote has a head and a foot around its text, and one row of what surrounds it should stay visible.
_ROWS_AROUND_TEXT: Final = 3
_MIN_HEIGHT: Final = 3
_READABLE_HEIGHT: Final = 8


def share_height(needs: Sequence[int], room: int, window: int) -> list[int]:
    """A height for each quote: what it needs if all fit, else a fair share of the room.

    No quote is higher than the window, so that it can be read without scrolling the prompt, and none is too low to read
    comfortably, even if the prompt as a whole then has to be scrolled.
    """
    highest = max(1, window - _ROWS_AROUND_TEXT)
    lowest = min(highest, max(_MIN_HEIGHT, min(_READABLE_HEIGHT, window // 2)))
    heights = [0] * len(needs)
    by_need = sorted(range(len(needs)), key=lambda index: needs[index])
    for position, index in enumerate(by_need):
        fair = max(lowest, (room - sum(heights)) // (len(by_need) - position))
        heights[index] = max(1, min(needs[index], fair, highest))
    # With one more row the foot is not needed, so that row costs nothing.
    return [need if need == rows + 1 else rows for need, rows in zip(needs, heights, strict=True)]
