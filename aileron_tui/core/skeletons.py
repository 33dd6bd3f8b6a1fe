"""Skeletons: names that look alike have the same skeleton, as in UTS 39, with pairs such as `rn` and `m` added."""

import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final

from aileron_tui.core import lookalike_table

MAX_KNOWN: Final = 5000
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


def _skeleton(name: str) -> str:
    if not name.isascii():
        bases = _bases()
        name = unicodedata.normalize("NFKD", name)
        name = "".join(
            letter if letter.isascii() else bases.get(letter) or bases.get(letter.lower(), letter)
            for letter in name
            if unicodedata.category(letter) not in ("Mn", "Me", "Cf")
        )
    name = name.translate(_ASCII_SHAPES).lower()
    for pair, single in _PAIRS:
        name = name.replace(pair, single)
    return name


_short_skeleton: Final = lru_cache(maxsize=1024)(_skeleton)
"""The same, kept: a known name is compared with itself in every value that has it, and most are seen again."""


class KnownNames:
    """Hosts and addresses seen before, at most `MAX_KNOWN`; the oldest are forgotten first."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names: dict[str, str] = {}
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        """Remembers a host or an address, and the host of an address."""
        for one in {name, name.rpartition("@")[2]}:
            self._names.setdefault(skeleton(one), one.casefold())
        while len(self._names) > MAX_KNOWN:
            del self._names[next(iter(self._names))]

    def resembled_by(self, name: str) -> str:
        """The known name that this one looks like without being the same, or ""."""
        known = self._names.get(skeleton(name), "")
        return known if known != name.casefold() else ""


def resembles(address: str, known: Iterable[str]) -> str:
    """The known address, or else the known host, that this address looks like without being the same, or ""."""
    names = KnownNames(known)
    return names.resembled_by(address) or names.resembled_by(address.rpartition("@")[2])
