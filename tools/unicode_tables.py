"""Writes the two tables of characters in `aileron_tui/core`.

Run it as `python -m tools.unicode_tables` with Python 3.11, whose `unicodedata` is Unicode 14.0, the oldest
supported version. Such a table is correct for every later Python too: characters that newer versions of Unicode add are
shown by their number. It needs three packages that nothing else here needs: `regex` (which characters are pictographs),
`confusable-homoglyphs` (Unicode's look-alikes and scripts) and `publicsuffixlist` (top-level domains).
"""

import importlib
import importlib.resources
import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

CORE = Path(__file__).parent.parent / "aileron_tui" / "core"
OLDEST = "14.0.0"

# Default_Ignorable_Code_Point of Unicode 14.0: drawn as nothing, whatever their category.
IGNORABLE = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
# Blank by design although Unicode calls them symbols or marks: braille blank, object replacement, Khitan
# filler, musical null notehead.
BLANK = frozenset({0x2800, 0xFFFC, 0x16FE4, 0x1D159})
# Vowels and finals of conjoining Hangul: letters by category, yet terminals stack them on the letter before.
STACKED_JAMO = (range(0x1161, 0x1200), range(0xD7B0, 0xD7FC))
SKIN_TONES = range(0x1F3FB, 0x1F400)
HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})

CHARACTER_HEAD = f'''"""Which characters are ordinary, stack, or are wide, as insides of a regular expression's […].

Written by tools/unicode_tables.py; do not edit. From Unicode {OLDEST}, as in Python's unicodedata;
Copyright © Unicode, Inc., Unicode License v3.
"""
'''
LOOKALIKE_HEAD = f'''"""Characters that look like ASCII, and the scripts of letters.

Written by tools/unicode_tables.py; do not edit. From Unicode's confusables.txt and Scripts.txt (Unicode 15.1)
as carried by confusable-homoglyphs 3.3.1, limited to the characters of Unicode {OLDEST} that NFKC leaves alone;
Copyright © Unicode, Inc., Unicode License v3.
"""
'''


def shown(code: int) -> bool:
    """Returns whether a character must not be written to a terminal as it is."""
    if code in (0x09, 0x0A, 0x20):
        return False
    ignorable = code in BLANK or any(first <= code <= last for first, last in IGNORABLE)
    return ignorable or unicodedata.category(chr(code)) in HIDDEN_CATEGORIES


def stacked(code: int) -> bool:
    """Returns whether a character attaches to the one before it."""
    return unicodedata.category(chr(code))[0] == "M" or any(code in jamo for jamo in STACKED_JAMO)


def ranges(codes: Iterable[int]) -> list[tuple[int, int]]:
    """Yields ascending code points as inclusive ranges."""
    found: list[tuple[int, int]] = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def character_class(codes: Iterable[int]) -> str:
    """Returns the inside of a regular expression's […].

    Beyond the Basic Multilingual Plane `re` tries range after range, so the largest come first.
    """
    found = ranges(codes)
    low = [pair for pair in found if pair[1] <= 0xFFFF]
    high = sorted((pair for pair in found if pair[1] > 0xFFFF), key=lambda pair: pair[0] - pair[1])
    return "".join(escape(first) if first == last else f"{escape(first)}-{escape(last)}" for first, last in low + high)


def escape(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def literal(name: str, text: str, raw: bool = True) -> str:
    """Returns the assignment of a long ASCII string, split into short lines."""
    mark = "r" if raw else ""
    lines = "\n".join(f'    {mark}"{line}"' for line in cut(text, 100))
    return f"{name} = (\n{lines}\n)\n"


def cut(text: str, width: int) -> Iterator[str]:
    """Yields pieces of at most `width` characters that do not end inside an escape."""
    while len(text) > width:
        end = text.rfind("\\", 1, width) if "\\" in text else width
        yield text[:end]
        text = text[end:]
    yield text


def character_table() -> str:
    every = range(0x110000)
    kept = [code for code in every if not shown(code)]
    regex: Any = importlib.import_module("regex")

    def having(prop: str) -> list[int]:
        pattern = regex.compile(rf"\p{{{prop}}}")
        return [code for code in kept if pattern.match(chr(code))]

    marks = [code for code in kept if stacked(code)]
    parts = [
        CHARACTER_HEAD,
        f'UNICODE = "{unicodedata.unidata_version}"\n',
        "# Ordinary characters that do not attach to another one, including tab and newline.",
        literal("PLAIN", character_class(code for code in kept if not stacked(code))),
        "# Ordinary characters that attach to the one before: combining marks, vowels and finals of Hangul.",
        literal("MARKS", character_class(marks)),
        "# Those of them that take no cell of their own.",
        literal("NARROWEST", character_class(c for c in marks if unicodedata.category(chr(c)) != "Mc")),
        "# Ordinary characters that take two cells.",
        literal("WIDE", character_class(c for c in kept if unicodedata.east_asian_width(chr(c)) in "WF")),
        "# What a zero-width joiner joins: pictographs and skin tones.",
        literal("PICTOGRAPHS", character_class([*having("Extended_Pictographic"), *SKIN_TONES])),
        "# What has an emoji form.",
        literal("EMOJI", character_class(having("Emoji"))),
    ]
    return "\n".join(parts)


ASCII = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-."
# Unicode lists the small palochka as an i; fonts draw it as an l. It lists the tone six only as a Cyrillic soft sign.
DRAWN = {0x04CF: "l", 0x0185: "b"}
SMALL_CAPITAL = re.compile(r"LATIN LETTER SMALL CAPITAL ([A-Z])")
BASE_LETTER = re.compile(r"LATIN (?:SMALL|CAPITAL) LETTER (?:DOTLESS |LONG |SCRIPT )?([A-Z])(?: WITH .+)?")
SPOKEN_NAMES = {"NKO": "N'Ko"}


def lookalikes() -> dict[int, str]:
    """Characters outside ASCII that Unicode lists as confusable with one ASCII letter, digit, '-' or '.'.

    Leaves out what compatibility normalisation changes, such as full-width and mathematical letters.
    """
    source: dict[str, list[dict[str, str]]] = json.loads(packaged("confusables.json"))
    found: dict[int, str] = {}
    for key, entries in source.items():
        character = key.strip("\u200e")
        if len(character) != 1 or character.isascii() or shown(ord(character)) or stacked(ord(character)):
            continue
        if unicodedata.normalize("NFKC", character) != character:
            continue
        like = [entry["c"] for entry in entries if len(entry["c"]) == 1 and entry["c"] in ASCII]
        if like:
            found[ord(character)] = min(like, key=ASCII.index).lower()
    return small_capitals() | found | DRAWN


def small_capitals() -> dict[int, str]:
    """Small capitals, which look like capitals. Unicode lists only some of them."""
    named = ((code, SMALL_CAPITAL.fullmatch(unicodedata.name(chr(code), ""))) for code in range(0x80, 0x20000))
    return {code: match[1].lower() for code, match in named if match}


def base_letters() -> dict[int, str]:
    """Latin letters with a stroke, a hook or the like, which do not decompose, and their base letters."""
    named = ((code, BASE_LETTER.fullmatch(unicodedata.name(chr(code), ""))) for code in range(0x80, 0x20000))
    return {
        code: match[1].lower()
        for code, match in named
        if match and unicodedata.normalize("NFKD", chr(code)) == chr(code)
    }


def top_level_domains() -> list[str]:
    """All top-level domains, with those of other scripts as they are displayed."""
    lines = (importlib.resources.files("publicsuffixlist") / "public_suffix_list.dat").read_text(encoding="utf-8")
    rules = lines.partition("===END ICANN DOMAINS===")[0].split("\n")
    names = {rule.strip().lstrip("*.") for rule in rules if rule.strip() and rule[0] not in "/!"}
    return sorted(name for name in names if "." not in name)


def scripts() -> tuple[list[str], list[tuple[int, int]]]:
    """Names of scripts, and (first code point, index of the name) of each stretch of letters of one script."""
    source: dict[str, list[Any]] = json.loads(packaged("categories.json"))
    aliases: list[str] = source["iso_15924_aliases"]
    stretches: list[tuple[int, str]] = []
    for first, last, alias, _ in sorted(source["code_points_ranges"]):
        letters = any(unicodedata.category(chr(code))[0] == "L" and not shown(code) for code in range(first, last + 1))
        name = aliases[alias]
        if letters and name != "INHERITED" and (not stretches or stretches[-1][1] != name):
            stretches.append((first, name))
    names = sorted({name for _, name in stretches})
    return names, [(first, names.index(name)) for first, name in stretches]


def packaged(name: str) -> str:
    return (importlib.resources.files("confusable_homoglyphs") / name).read_text(encoding="utf-8")


def lookalike_table() -> str:
    alike = sorted(lookalikes().items())
    names, stretches = scripts()
    spoken = [SPOKEN_NAMES.get(name, name.replace("_", " ").title()) for name in names]
    starts = "".join(escape(first) for first, _ in stretches)
    parts = [
        LOOKALIKE_HEAD,
        "# Each character of ALIKE looks like the one at the same index of ASCII.",
        literal("ALIKE", "".join(escape(code) for code, _ in alike), raw=False),
        literal("ASCII", "".join(ascii_ for _, ascii_ in alike)),
        "# Each Latin letter of MARKED is the letter at the same index of BASES with a stroke, a hook or the like.",
        literal("MARKED", "".join(escape(code) for code in base_letters()), raw=False),
        literal("BASES", "".join(base_letters().values())),
        "# Top-level domains, from the Public Suffix List (Mozilla Public License 2.0).",
        "TOP_LEVEL = (\n" + "".join(f"    {line + ' '!a}\n" for line in wrapped(top_level_domains())) + ")\n",
        "# From each character of STARTS on, letters are of the script that SCRIPTS has at the same place.",
        literal("STARTS", starts, raw=False),
        "SCRIPTS = bytes.fromhex(\n"
        + "\n".join(f'    "{line}"' for line in chunks("".join(f"{i:02x}" for _, i in stretches), 100))
        + "\n)\n",
        "NAMES = (\n" + "".join(f'    "{name}",\n' for name in spoken) + ")\n",
    ]
    return "\n".join(parts)


def wrapped(words: Iterable[str]) -> Iterator[str]:
    """Yields lines of words that fit the length of a line as escapes."""
    line = ""
    for word in words:
        if line and len(ascii(f"{line} {word}")) > 110:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


def chunks(text: str, width: int) -> Iterator[str]:
    for start in range(0, len(text), width):
        yield text[start : start + width]


def main() -> int:
    if unicodedata.unidata_version != OLDEST:
        print(f"needs a Python with Unicode {OLDEST} (3.11), not {unicodedata.unidata_version}", file=sys.stderr)
        return 1
    (CORE / "character_table.py").write_text(character_table(), encoding="utf-8")
    (CORE / "lookalike_table.py").write_text(lookalike_table(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
