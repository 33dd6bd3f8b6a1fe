"""Look-alike warnings for texts of any length, in slices, so that no search holds everything else up."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from aileron_tui.core.lookalikes import MAX_CHARACTERS, MAX_WARNINGS, warnings

AT_ONCE: Final = 4096
_SLICE: Final = 16 * 1024
_PAUSE: Final = 0.0005


def inspect(text: str, stopped: Callable[[], bool] = bool) -> tuple[str, ...]:
    """What a reader should know about hosts and addresses in the text; less when it was stopped.

    A long one is for a thread: it pauses often, as a thread that does not keeps the interpreter from all others.
    """
    if len(text) <= _SLICE:
        return warnings(text)
    found: dict[str, None] = {}
    for part in _slices(text[:MAX_CHARACTERS]):
        if stopped():
            break
        found.update(dict.fromkeys(warnings(part)))
        time.sleep(_PAUSE)
        if len(found) > MAX_WARNINGS:
            return (*list(found)[:MAX_WARNINGS], "there are more warnings of this kind")
    if len(text) > MAX_CHARACTERS:
        found[f"only the first {MAX_CHARACTERS} characters were checked for look-alikes"] = None
    return tuple(found)


def _slices(text: str) -> Iterator[str]:
    """Cut at blanks, so that no address is cut in two."""
    start = 0
    while start < len(text):
        end = start + _SLICE
        if end < len(text):
            blank = max(text.rfind("\n", start + 1, end), text.rfind(" ", start + 1, end))
            end = blank if blank > start else end
        yield text[start:end]
        start = end
