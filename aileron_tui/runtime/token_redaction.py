"""Removes tokens from text that a gate or a daemon sent, because the text may repeat a token in many encodings."""

import base64
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from aileron_tui.core.values import dataclass

TOKEN: Final = "⟨token⟩"  # noqa: S105  # the placeholder

_LONGEST_TEXT: Final = 64 * 1024
_PIECE_LENGTH: Final = 12
"""A piece of a token with this many letters and digits is removed too."""

_SHORTEST_PIECE: Final = 6
_ESCAPES: Final = re.compile(
    # A run of backslashes is matched once as a whole; matching from each backslash would take quadratic time.
    r"\\++(?:u(?P<json>[0-9a-f]{4})|u\{0*(?P<braced>[0-9a-f]{1,4})\}|x(?P<byte>[0-9a-f]{2}))?"
    r"|%(?:25)*(?P<percent>[0-9a-f]{2})|&\#x0*(?P<hex>[0-9a-f]{1,4});|&\#0*(?P<number>[0-9]{1,5});|(?P<plain>\S)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _EncodedLetter:
    """A letter or digit, and the part of the text that encodes it."""

    letter: str
    start: int
    end: int


class TokenRedactor:
    """Replaces tokens, and pieces of them, in text.

    Finds a token in upper or lower case, escaped (percent, JSON, HTML), in base64 or hexadecimal, and with other
    characters between its letters and digits: blanks, line breaks, invisible characters, punctuation. Does not find
    other encodings.
    """

    def __init__(self, *tokens: str) -> None:
        self._tokens: tuple[str, ...] = ()
        self._pieces: dict[int, set[str]] = {}
        for token in tokens:
            self.add(token)

    def add(self, token: str) -> None:
        """Adds a token to remove."""
        if not token or token in self._tokens:
            return
        self._tokens = (*self._tokens, token)
        for encoding in _encodings(token):
            plain = "".join(encoded.letter for encoded in _plain_letters(encoding))
            size = min(_PIECE_LENGTH, len(plain))
            if size >= _SHORTEST_PIECE:
                self._pieces.setdefault(size, set()).update(
                    plain[at : at + size] for at in range(len(plain) - size + 1)
                )

    def __call__(self, text: str) -> str:
        """Returns the text without the tokens. A text that is too long to search is truncated, and its length noted."""
        if not self._tokens:
            return text
        if len(text) > _LONGEST_TEXT:
            text = f"{text[:_LONGEST_TEXT]}… ({len(text):,} characters)"
        spans = [match.span() for token in self._tokens for match in re.finditer(re.escape(token), text)]
        spans += self._find_pieces(list(_plain_letters(text)))
        spans += self._find_pieces(list(_unescaped_letters(text)))
        for start, end in _merged(spans):
            text = text[:start] + TOKEN + text[end:]
        return text

    def _find_pieces(self, letters: list[_EncodedLetter]) -> list[tuple[int, int]]:
        plain = "".join(encoded.letter for encoded in letters)
        return [
            (letters[at].start, letters[at + size - 1].end)
            for size, pieces in self._pieces.items()
            for at in range(len(plain) - size + 1)
            if plain[at : at + size] in pieces
        ]


def _encodings(token: str) -> Iterator[str]:
    """The token and its encodings; base64 depends on the position of the token in the encoded text."""
    data = token.encode()
    yield token
    yield data.hex()
    for before in range(3):
        whole = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        # The first and the last letters also encode the bytes next to the token.
        yield whole[(0, 2, 3)[before] : len(whole) - 1]


def _plain_letters(text: str) -> Iterator[_EncodedLetter]:
    """The letters and digits of a text, in lower case."""
    for at, character in enumerate(text):
        for letter in _letters(character):
            yield _EncodedLetter(letter, at, at + 1)


def _unescaped_letters(text: str) -> Iterator[_EncodedLetter]:
    """The letters and digits of a text with its escapes decoded, in lower case."""
    for match in _ESCAPES.finditer(text):
        if (kind := match.lastgroup) is None:
            continue
        character = match[kind] if kind == "plain" else chr(int(match[kind], 10 if kind == "number" else 16))
        for letter in _letters(character):
            yield _EncodedLetter(letter, match.start(), match.end())


def _letters(character: str) -> str:
    """The ASCII letters and digits that a character looks like."""
    if not character.isascii():
        character = unicodedata.normalize("NFKC", character)
    return "".join(letter for letter in character.lower() if letter.isascii() and letter.isalnum())


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merges the spans that touch or overlap; returns them last first."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged[::-1]
