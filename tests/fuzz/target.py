"""What is fuzzed: a function of bytes with its first inputs, and inputs that resemble these."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from hypothesis import strategies as st

LONGEST: Final = 16 * 1024
"""Bytes of an input. What is too large for a reader is tested elsewhere."""


@dataclass(frozen=True)
class Target:
    """A function that raises only if something is wrong, and inputs to start from."""

    check: Callable[[bytes], None]
    seeds: Callable[[], Sequence[bytes]]


def inputs(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Random bytes, and mostly seeds in which parts were replaced, removed, repeated or taken from another seed."""
    numbers = st.integers(0, 2**32 - 1)
    return st.one_of(st.binary(max_size=200), *[numbers.map(lambda number: changed(seeds, Random(number)))] * 3)


def changed(seeds: Sequence[bytes], random: Random) -> bytes:
    """A seed with one to four changes."""
    data = random.choice(seeds)
    for _ in range(random.randint(1, 4)):
        at, length = random.randint(0, len(data)), random.choice((0, 1, 1, 2, 4, 20, len(data)))
        other = random.choice(seeds)
        place = random.randint(0, len(other))
        new = random.choice(
            (
                random.randbytes(random.randint(0, 4)),
                random.choice(_TELLING),
                random.choice(_TELLING),
                other[place : place + random.randint(1, 60)],
                data[at : at + length],
            )
        )
        data = (data[:at] + new + data[at + length :])[:LONGEST]
    return data


_TELLING: Final[tuple[bytes, ...]] = (
    *(bytes((byte,)) for byte in b'\0\n\r\t "\\{}[]:=,#+\x1b\x7f\x80\xff'),
    *(text.encode() for text in ("\u202e", "\u2028", "\x85", "\u0301", "⟨", "⏎", "\U000e0041", "é")),
    *(b"1e400", b"-0.0", b"9" * 399, b"9" * 5000, b"0x7f", b"NaN", b"null", b"true", b"\\ud800", b"[" * 100),
    *(
        b"2026-02-30",
        b"25:61:61Z",
        b"'''",
        b'"""',
        b"+++\n",
        b"[[a]]\n",
        b"a.b = 1\n",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
    ),
)
