"""The surfaces in words: where a request is being read, and where and by whom it was answered."""

from collections.abc import Mapping, Sequence
from typing import Final

from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline, quoted, short

_PLACES: Final[Mapping[str, str]] = {
    "console": "in another console",
    "page": "on the page",
    "prompt": "at a prompt",
    "cli": "on the command line",
    "notification": "in a notification",
}
_LONGEST_NAME: Final = 40
_LONGEST_SURFACE: Final = 20


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who has a request on screen at another surface. Both are foreign text."""

    surface: str
    name: str


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """The answer that a gate took. `by` is the name of the key, "" if it is not signed. Both texts are foreign."""

    approved: bool
    surface: str
    by: str


def place(surface: str) -> str:
    """Where a surface is, as part of a sentence."""
    return _PLACES.get(surface) or f"on {quoted(surface[:_LONGEST_SURFACE])}"


def brief_place(surface: str) -> str:
    """Where a surface is, in one word."""
    return surface if surface in _PLACES and surface != "console" else "elsewhere"


def reading_words(readers: Sequence[Reader]) -> tuple[str, ...]:
    """Who is reading a request elsewhere, from the longest form to the shortest; empty if nobody is."""
    if not readers:
        return ()
    first, more = readers[0], len(readers) - 1
    by = f" by {_name(first.name)}" if first.name else ""
    others = f" and {more} more" if more else ""
    where = place(first.surface)
    surface = [first.surface] if first.surface in _PLACES else []
    return (f"being read {where}{by}{others}", f"being read {where}", f"read {where}", *surface, "read")


def answer_words(answer: FirstAnswer) -> str:
    """Who was first to answer a request, and where."""
    verb = "approved" if answer.approved else "denied"
    who = f" by {_name(answer.by)}" if answer.by else ", without a signature"
    return f"{verb} {place(answer.surface)}{who}"


def _name(name: str) -> str:
    """The name of a key; in quotes if it could go on with the sentence, as in "approved by default"."""
    is_plain = inline(name) == name and " " not in name and name != "default"
    return short(name, _LONGEST_NAME) if is_plain else quoted(name[:_LONGEST_NAME])
