"""Skeletons: names that look alike have the same skeleton, as in UTS 39, with pairs such as `rn` and `m` added."""

import sys
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import islice
from typing import Final

from aileron_tui.core import lookalike_table

MAX_KNOWN: Final = 5000
MAX_REMEMBERED: Final = 500
_LONGEST_KEPT: Final = 256

_ASCII_SHAPES: Final = str.maketrans("I|10", "lllo")
_PAIRS: Final = (("rn", "m"), ("vv", "w"), ("cl", "d"))


@cache
def shapes() -> dict[str, str]:
    """Characters outside ASCII, each with the one ASCII character that it looks like."""
    return dict(zip(lookalike_table.ALIKE, lookalike_table.ASCII, strict=True))


@cache
def _bases() -> dict[str, str]:
    return dict(zip(lookalike_table.MARKED, lookalike_table.BASES, strict=True)) | shapes()


def skeleton(name: str) -> str:
    """The skeleton of a name. Marks, strokes and hooks do not count."""
    return _short_skeleton(name) if len(name) <= _LONGEST_KEPT else _skeleton(name)


def plain_letters(name: str) -> str:
    """The name with the ASCII letters that its letters look like, where there are such."""
    bases = _bases()
    return "".join(
        letter if letter.isascii() else bases.get(letter) or bases.get(letter.lower(), letter)
        for letter in unicodedata.normalize("NFKD", name)
        if unicodedata.category(letter) not in ("Mn", "Me", "Cf")
    )


def _skeleton(name: str) -> str:
    if not name.isascii():
        name = plain_letters(name)
    name = name.translate(_ASCII_SHAPES).lower()
    for pair, single in _PAIRS:
        name = name.replace(pair, single)
    return name


_short_skeleton: Final = lru_cache(maxsize=1024)(_skeleton)
"""The same, kept: a known name is compared with itself in every value that has it, and most are seen again."""


class _Names:
    """The most recent names by their skeletons, at most `most` skeletons. Two of each show that there are several."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._names: dict[str, tuple[str, ...]] = {}

    def add(self, name: str) -> None:
        """Remembers a name, as the most recent one."""
        shape, name = skeleton(name), name.casefold()
        others = (other for other in self._names.pop(shape, ()) if other != name)
        self._names[shape] = (name, *others)[:2]
        if len(self._names) > self._most:
            del self._names[next(iter(self._names))]

    def other(self, name: str) -> str:
        """A name that looks like this one without being the same, or ""."""
        folded = name.casefold()
        return next((other for other in self._names.get(skeleton(name), ()) if other != folded), "")

    def __contains__(self, name: str) -> bool:
        return name.casefold() in self._names.get(skeleton(name), ())

    def copy(self) -> "_Names":
        """The same names, for another thread."""
        copied = _Names(self._most)
        copied._names = self._names.copy()
        return copied


class KnownNames:
    """Hosts and addresses that were seen: in one prompt, and with `before`, on one surface until now.

    Two names that are easily mistaken for each other are both suspicious, whichever came first, unless only one of them
    was in a request that was approved. Names that were only shown never displace those.
    """

    def __init__(self, names: Iterable[str] = (), before: "KnownNames | None" = None) -> None:
        self._here = _Names(sys.maxsize)
        self._shown: _Names = before._shown if before else _Names(MAX_KNOWN)
        self._approved: _Names = before._approved if before else _Names(MAX_KNOWN)
        for name in names:
            self._here.add(name)

    def remember(self, names: Iterable[str], *, approved: bool = False) -> None:
        """Remembers names of one prompt, which was shown or `approved`: at most `MAX_REMEMBERED`."""
        for name in islice(names, MAX_REMEMBERED):
            (self._approved if approved else self._shown).add(name)

    def resembled_by(self, name: str) -> str:
        """The known name that this one is easily mistaken for, or ""."""
        if other := self._approved.other(name):
            return other
        return "" if name in self._approved else self._here.other(name) or self._shown.other(name)

    def is_approved(self, name: str) -> bool:
        """Whether the name was in a request that was approved."""
        return name in self._approved

    def copy(self) -> "KnownNames":
        """What is remembered, for another thread."""
        copied = KnownNames()
        copied._shown, copied._approved = self._shown.copy(), self._approved.copy()
        return copied
