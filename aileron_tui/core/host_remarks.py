"""Remarks about one host or one name before an @: warnings, and notes that only inform."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import Final

from aileron_tui.core import lookalike_table
from aileron_tui.core.ordinary_names import is_ordinary_name, is_ordinary_word, often_imitated, ordinary_letters
from aileron_tui.core.skeletons import shapes, skeleton
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import clip, inline

MAX_QUOTE: Final = 60
MAX_LETTERS: Final = 3
MAX_LABEL: Final = 63

# IDNA treats the last three dots like the first, and ignores the characters below.
DOTS: Final = ".\u3002\uff0e\uff61"
_IDNA: Final = {
    **dict.fromkeys(map(ord, DOTS), "."),
    **dict.fromkeys([0xAD, 0x34F, 0x200B, 0x2060, 0xFEFF, *range(0x180B, 0x180E), *range(0xFE00, 0xFE10)]),
}
_SLASH: Final = re.compile("[\u2044\u2215\u2571\u27cb\u29f8\u3033\uff0f]|(?<=[a-z0-9])[\u30ce\u4e3f\u31d3](?=[a-z0-9])")
PUNYCODE: Final = re.compile(r"xn--", re.IGNORECASE)
_SEPARATORS: Final = re.compile(r"[-_+.]")
_CAPITAL_I: Final = re.compile(r"[a-z0-9]I")
# Beside letters, marks and digits, IDNA allows these: Catalan, Greek, Hebrew and Japanese punctuation. The last one is
# the slash in ½; written by itself it is reported as a slash.
_ALLOWED: Final = frozenset("·͵׳״・\u200c\u200d゠〆〇\u2044")
# Scripts whose letters may need an invisible joiner or non-joiner.
_NO_JOINERS: Final = frozenset({"Latin", "Cyrillic", "Greek", "Armenian", "Georgian", "Cherokee", "Hebrew", "Han", ""})
_NO_MARKS: Final = frozenset({"Latin", "Cyrillic", "Greek", "Armenian", "Cherokee"})
# Ordinary letters that NFKC replaces: Armenian, Thai, Lao, and Korean letters by themselves.
_NOT_COMPATIBILITY: Final = frozenset("\u0587\u0e33\u0eb3\u0edc\u0edd") | frozenset(
    map(chr, (*range(0x3131, 0x3164), *range(0x3165, 0x318F)))
)
_TOGETHER: Final = (
    frozenset({"Latin", "Han", "Hiragana", "Katakana"}),
    frozenset({"Latin", "Han", "Bopomofo"}),
    frozenset({"Latin", "Han", "Hangul"}),
)


@dataclass(frozen=True, slots=True)
class Remark:
    """One sentence about a value. A note only informs; anything else is a warning."""

    text: str
    is_note: bool = False


def about_host(host: str) -> Iterator[Remark]:
    """Remarks about a host as it is written in a text."""
    host = host.rstrip(DOTS + "-")
    if _SLASH.search(host):
        yield Remark(f'"{quoted(host)}" contains a character that looks like a slash')
        return
    plain = idna(host)
    if not host.isascii() and (plain.isascii() or any(map(_stands_for_ascii, host))):
        yield Remark(f'"{quoted(host)}" is really {quoted(plain)}')
    names = labels(plain)
    decoded = [_decoded(name) for name in names]
    real = ".".join(name if label is None else label for name, label in zip(names, decoded, strict=True))
    if None in decoded:
        yield Remark(f"{quoted(plain)} is not a valid international domain name")
    if real != ".".join(names):
        yield Remark(f'{quoted(plain)} is "{quoted(real)}"', is_note=True)
    elif not real.isascii():
        yield _encoded(real)
    if not real.isascii():
        yield from _about_direction(real)
    top_level = labels(real)[-1].lower()
    found = [remark for label in labels(real) for remark in about_label(label, real, top_level)]
    yield from found
    if not found and (name := imitated(real)):
        yield Remark(f'"{quoted(real)}" looks like "{name}", but is not')


def about_name(name: str, address: str) -> Iterator[Remark]:
    """Remarks about the name before the @ of an address.

    Nothing normalises it as it does a host, so a letter that stands for another one makes it another address.
    """
    if _SLASH.search(name):
        yield Remark(f'"{quoted(address)}" contains a character that looks like a slash')
        return
    name = unicodedata.normalize("NFC", name)
    odd = [letter for letter in name if idna(letter) != letter and letter not in _NOT_COMPATIBILITY]
    if all(idna(letter) for letter in odd) and odd:
        yield Remark(f'"{quoted(address)}" looks like "{quoted(idna(address))}", but has other letters: {_listed(odd)}')
    elif odd:
        yield Remark(f'"{quoted(address)}" contains characters that are easily overlooked: {_listed(odd)}')
    else:
        yield from about_label(name, address)


def about_label(label: str, whole: str, top_level: str = "") -> Iterator[Remark]:
    """Remarks about the letters of one label of a host, or of the name before an @ if there is no `top_level`.

    Parts between hyphens are checked separately.
    """
    whole = idna(whole)
    for part in _SEPARATORS.split(idna(label)):
        if not part.isascii():
            yield from _about_part(part, whole, top_level)


def _about_part(part: str, whole: str, top_level: str) -> Iterator[Remark]:
    scripts = sorted({_script(letter) for letter in part} - {""}, key=lambda name: (name != "Latin", name))
    if len(scripts) > 1 and not any(together.issuperset(scripts) for together in _TOGETHER):
        odd = [letter for letter in part if _script(letter) in scripts[1:]]
        mixed = f"{', '.join(scripts[:-1])} and {scripts[-1]}"
        yield Remark(f'"{quoted(whole)}" mixes {mixed} letters: {_listed(odd)}')
        return
    if odd := _odd_characters(part, scripts):
        yield Remark(f'"{quoted(whole)}" contains characters that are easily overlooked: {_listed(odd)}')
        return
    if top_level and (odd := [letter for letter in part if not _is_valid(letter)]):
        yield Remark(f'"{quoted(whole)}" is not a valid international domain name: {_listed(odd)}')
        return
    if scripts == ["Latin"]:
        yield from _about_latin(part, whole, top_level)
    elif not _is_same_script(top_level, scripts) and (like := ascii_like(part)):
        written = f"is written in {scripts[0]} but " if scripts else ""
        looks = ascii_like(whole) or whole.replace(part, like)
        yield Remark(f'"{quoted(whole)}" {written}looks like "{quoted(looks)}"')


def _about_latin(part: str, whole: str, top_level: str) -> Iterator[Remark]:
    small = part.lower()
    odd = [letter for letter in small if not letter.isascii() and letter.isalpha() and letter not in ordinary_letters()]
    if like := ascii_like(part) if odd else "":
        yield Remark(f'"{quoted(whole)}" looks like "{quoted(ascii_like(whole) or whole.replace(part, like))}"')
    elif odd:
        yield Remark(f'"{quoted(whole)}" has unusual letters: {_listed(odd)}')
    elif top_level == small and small not in top_level_domains():
        yield Remark(f'"{quoted(whole)}" ends in "{quoted(part)}", which is not a top-level domain')
    elif not (is_ordinary_word(small, top_level) if top_level else is_ordinary_name(small, labels(whole)[-1].lower())):
        odd = [letter for letter in small if not letter.isascii()]
        yield Remark(f'"{quoted(whole)}" has letters that are easily missed: {_listed(odd)}')


def _odd_characters(part: str, scripts: list[str]) -> list[str]:
    """Characters that do not belong in a name of these scripts: marks, invisible characters and digits of others."""
    script = scripts[0] if scripts else ""
    has_ascii = any(letter.isascii() for letter in part)
    odd: list[str] = []
    for letter in part:
        kind = unicodedata.category(letter)
        if (
            (kind in ("Mn", "Me") and (script in _NO_MARKS or not script))
            or (kind == "Nd" and not letter.isascii() and (has_ascii or not script or script in _NO_MARKS))
            or (kind == "Cf" and (letter not in _ALLOWED or script in _NO_JOINERS))
            or (kind != "Cf" and kind[0] != "M" and inline(letter) != letter)
        ):
            odd.append(letter)
    return odd


def _is_valid(letter: str) -> bool:
    return letter.isascii() or unicodedata.category(letter)[0] in "LM" or letter.isdecimal() or letter in _ALLOWED


def _is_same_script(top_level: str, scripts: list[str]) -> bool:
    """Whether the top-level domain shows that a name is written in another script than Latin."""
    return top_level in top_level_domains() and {_script(letter) for letter in top_level} - {""} == set(scripts)


def _about_direction(host: str) -> Iterator[Remark]:
    """Remarks about labels that are written from right to left."""
    names = [name for name in labels(host) if any(letter.isalpha() for letter in name)]
    turned = [any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in name) for name in names]
    if all(turned) and turned:
        yield Remark(f'"{quoted(host)}" is written from right to left', is_note=True)
    elif any(turned):
        name = names[turned.index(True)]
        yield Remark(f'"{quoted(name)}" is written from right to left, so parts of the host may seem out of order')


def about_capitals(host: str) -> Iterator[Remark]:
    """A remark about the capitals of an ASCII host, which hide what a letter is: `paypaI.com`."""
    small = host.lower()
    if small == host:
        return
    hidden = any(_CAPITAL_I.search(label) and label.lower() not in often_imitated() for label in labels(host))
    yield Remark(f'"{quoted(host)}" is {quoted(small)} in lowercase', is_note=not hidden)


@cache
def _imitated_skeletons() -> dict[str, str]:
    """The names by their skeletons, and by those with an l for each i: `linkedln` is written for `linkedin`."""
    names = {skeleton(name): name for name in often_imitated()}
    return {shape.replace("i", "l"): name for shape, name in names.items()} | names


def imitated(host: str) -> str:
    """The often imitated name that a label of the host looks like without being the same, or ""."""
    skeletons = _imitated_skeletons()
    for label in labels(host)[:-1]:
        for part in {label, *label.split("-")}:
            shape = skeleton(part)
            name = skeletons.get(shape) or skeletons.get(shape.replace("i", "l"), "")
            # An i where the name has an l keeps its dot, so it is not mistaken: `appie` is not `apple`.
            dotted = any(letter == "i" != other for letter, other in zip(shape, skeleton(name), strict=False))
            if len(name) > 3 and name != part.lower() and not dotted:
                return name
    return ""


def _encoded(host: str) -> Remark:
    """The host as computers write it."""
    names = [_punycode(name) for name in labels(host.lower())]
    if any(len(name) > MAX_LABEL or not name for name in names):
        return Remark(f'"{quoted(host)}" is not a valid international domain name')
    return Remark(f'"{quoted(host)}" is {clip(inline(".".join(names)), 4 * MAX_QUOTE)}', is_note=True)


def _punycode(label: str) -> str:
    try:
        return label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}"
    except UnicodeError:
        return ""


def idna(name: str) -> str:
    """Normalises a name as IDNA does: replaces compatibility forms, unifies dots, drops ignored characters."""
    return unicodedata.normalize("NFKC", name.translate(_IDNA))


def _stands_for_ascii(letter: str) -> bool:
    plain = "" if letter.isascii() or not letter.isalpha() else idna(letter)
    return plain.isascii() and plain.isalnum()


def labels(host: str) -> list[str]:
    """The labels of a host."""
    return host.rstrip(".").split(".")


def _decoded(label: str) -> str | None:
    """A label as it is displayed, or None for an invalid `xn--` label."""
    if not PUNYCODE.match(label):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except (ValueError, OverflowError):
        return None


def _script(character: str) -> str:
    """The script of a letter, or "" for a character that all scripts share."""
    if not character.isalpha():
        return ""
    place = bisect_right(lookalike_table.STARTS, character) - 1
    name = lookalike_table.NAMES[lookalike_table.SCRIPTS[place]]
    return "" if name == "Common" else name


@cache
def top_level_domains() -> frozenset[str]:
    """All top-level domains, as they are displayed."""
    return frozenset(lookalike_table.TOP_LEVEL.split())


def ascii_like(text: str) -> str:
    """The ASCII text that a text looks like, or "" if one of its letters looks like no ASCII letter."""
    shape = shapes()
    letters = [letter if letter.isascii() else shape.get(letter) or shape.get(letter.lower(), "") for letter in text]
    return "".join(letters) if all(letters) else ""


def _listed(letters: list[str]) -> str:
    odd = [f"{inline(letter)}=U+{ord(letter):04X}" for letter in dict.fromkeys(letters)]
    more = f" and {len(odd) - MAX_LETTERS} more" if len(odd) > MAX_LETTERS else ""
    return ", ".join(odd[:MAX_LETTERS]) + more


def quoted(text: str) -> str:
    """Foreign text as a remark may contain it."""
    return clip(inline(text), MAX_QUOTE)
