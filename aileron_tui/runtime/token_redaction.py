"""Taking a token out of what the other side says: a daemon or a gate may repeat it, and spell it in many ways."""

import base64
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from aileron_tui.core.values import dataclass

TOKEN: Final = "⟨token⟩"  # noqa: S105  # what stands in its place

_LONGEST: Final = 64 * 1024
_PIECE: Final = 12
"""How many of its letters and digits in a row are too many: a piece of a token is not to be told either."""

_SHORTEST: Final = 6
_SPELLED: Final = re.compile(
    # A run of backslashes is read once, whatever follows it: looked at from each of them it would cost its square.
    r"\\++(?:u(?P<json>[0-9a-f]{4})|u\{0*(?P<braced>[0-9a-f]{1,4})\}|x(?P<byte>[0-9a-f]{2}))?"
    r"|%(?:25)*(?P<percent>[0-9a-f]{2})|&\#x0*(?P<hex>[0-9a-f]{1,4});|&\#0*(?P<number>[0-9]{1,5});|(?P<plain>\S)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Sign:
    """A letter or digit, and the part of the text that spells it."""

    letter: str
    start: int
    end: int


class TokenRedactor:
    """Replaces tokens, and pieces of them, in text.

    Found are other cases, escapes (percent, JSON, HTML), base64, hexadecimal, and anything but letters and digits put
    in between: blanks, line ends, invisible characters, punctuation. Not found is what takes more than reading to undo.
    """

    def __init__(self, *tokens: str) -> None:
        self._tokens: tuple[str, ...] = ()
        self._pieces: dict[int, set[str]] = {}
        for token in tokens:
            self.add(token)

    def add(self, token: str) -> None:
        """One more that is not to be told."""
        if not token or token in self._tokens:
            return
        self._tokens = (*self._tokens, token)
        for spelling in _spellings(token):
            plain = "".join(sign.letter for sign in _signs(spelling))
            size = min(_PIECE, len(plain))
            if size >= _SHORTEST:
                self._pieces.setdefault(size, set()).update(
                    plain[at : at + size] for at in range(len(plain) - size + 1)
                )

    def __call__(self, text: str) -> str:
        """The text without them; one that is too long to be looked at is cut, and says so."""
        if not self._tokens:
            return text
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}… ({len(text):,} characters)"
        spans = [found.span() for token in self._tokens for found in re.finditer(re.escape(token), text)]
        spans += self._found(list(_signs(text)))
        spans += self._found(list(_spelled(text)))
        for start, end in _merged(spans):
            text = text[:start] + TOKEN + text[end:]
        return text

    def _found(self, signs: list[_Sign]) -> list[tuple[int, int]]:
        plain = "".join(sign.letter for sign in signs)
        return [
            (signs[at].start, signs[at + size - 1].end)
            for size, pieces in self._pieces.items()
            for at in range(len(plain) - size + 1)
            if plain[at : at + size] in pieces
        ]


def _spellings(token: str) -> Iterator[str]:
    """The token as it is and as encodings write it; in base64 it depends on what comes before it."""
    data = token.encode()
    yield token
    yield data.hex()
    for before in range(3):
        whole = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        # The first and the last letters are also made of what is beside it.
        yield whole[(0, 2, 3)[before] : len(whole) - 1]


def _signs(text: str) -> Iterator[_Sign]:
    """The letters and digits of a text, small."""
    for at, character in enumerate(text):
        for letter in _letters(character):
            yield _Sign(letter, at, at + 1)


def _spelled(text: str) -> Iterator[_Sign]:
    """The same with escapes read as what they stand for."""
    for found in _SPELLED.finditer(text):
        if (kind := found.lastgroup) is None:
            continue
        character = found[kind] if kind == "plain" else chr(int(found[kind], 10 if kind == "number" else 16))
        for letter in _letters(character):
            yield _Sign(letter, found.start(), found.end())


def _letters(character: str) -> str:
    """What a character is to somebody who reads it, if that is a letter or a digit."""
    if not character.isascii():
        character = unicodedata.normalize("NFKC", character)
    return "".join(letter for letter in character.lower() if letter.isascii() and letter.isalnum())


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that touch or overlap as one, the last first."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged[::-1]
