"""The robot's eyesight: letters that a person cannot tell apart are one letter to it.

Without this a robot would tell a Cyrillic `а` from a Latin `a`, which no person does. It has to rely on the console's
warnings, as a person does.
"""

import unicodedata
from typing import Final

_SAME: Final = {
    "а": "a", "е": "e", "о": "o", "р": "p", "с": "c", "х": "x", "у": "y", "і": "i", "ј": "j", "ѕ": "s", "ԁ": "d",
    "һ": "h", "ո": "n", "ս": "u", "α": "a", "ο": "o", "ν": "v", "ρ": "p", "ι": "i", "κ": "k", "ɡ": "g", "ɑ": "a",
    "ı": "i", "ᴀ": "a", "ᴄ": "c", "ᴏ": "o", "ᴠ": "v", "ᴢ": "z", "ᴡ": "w", "ꜱ": "s", "ӏ": "l", "ǃ": "!", "․": ".",
    "ⅼ": "l", "ꓲ": "l", "ꓳ": "o", "Α": "A", "Β": "B", "Ε": "E", "А": "A", "В": "B", "Е": "E", "М": "M", "Т": "T",
    "\u2800": " ",
}  # fmt: skip
_UNSEEN: Final = frozenset("\u0323\u0307\u0331\u0335\u0336\u0337\u0338")


def as_seen(text: str) -> str:
    """The text as a person sees it."""
    seen = "".join(_SAME.get(character, character) for character in text)
    parts = unicodedata.normalize("NFKD", seen) if not seen.isascii() else seen
    return "".join(_SAME.get(character, character) for character in parts if character not in _UNSEEN)


_PAIRS: Final = (("rn", "m"), ("vv", "w"), ("I", "l"), ("1", "l"), ("0", "o"), ("cl", "d"))


def as_seen_in_a_hurry(text: str) -> str:
    """The text as a person sees it who does not tell similar ASCII letters apart either."""
    text = as_seen(text)
    for one, other in _PAIRS:
        text = text.replace(one, other)
    return text
