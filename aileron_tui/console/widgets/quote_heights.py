"""How several quotes share the rows of a screen."""

from collections.abc import Sequence
from typing import Final

# Besides its text a quote has a head and a foot, and a row of what surrounds it should stay in view.
_AROUND: Final = 3
_SMALLEST: Final = 3
_USEFUL: Final = 8


def shared(needs: Sequence[int], room: int, window: int) -> list[int]:
    """A height for each: what it needs if all fit, else a fair share of the room.

    None is higher than the window, so that it can be read without moving anything else, and none is so low that
    reading becomes a labour, even if the prompt as a whole then has to be scrolled.
    """
    highest = max(1, window - _AROUND)
    lowest = min(highest, max(_SMALLEST, min(_USEFUL, window // 2)))
    given = [0] * len(needs)
    waiting = sorted(range(len(needs)), key=lambda index: needs[index])
    for position, index in enumerate(waiting):
        fair = max(lowest, (room - sum(given)) // (len(waiting) - position))
        given[index] = max(1, min(needs[index], fair, highest))
    # One row more makes the foot needless, and so takes no room.
    return [need if need == rows + 1 else rows for need, rows in zip(needs, given, strict=True)]
