"""Warnings about hosts and addresses that are not what they look like.

The data is Unicode's own list of confusables and scripts, as a small table (`lookalike_table`), because a library for
two lookups would be one more dependency. Scripts may be mixed as UTS 39 allows at its level "highly restrictive": Latin
with Japanese, Korean or Chinese. Everything that a warning quotes has been made visible.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from urllib.parse import unquote

from aileron_tui.core import lookalike_table
from aileron_tui.core.visible_text import clip, inline

# Limits. A warning is added when one is reached.
MAX_CHARACTERS = 1_000_000
MAX_HOSTS = 500
MAX_WARNINGS = 8
MAX_QUOTE = 60
MAX_LETTERS = 3
_TOO_MANY = f"only the first {MAX_HOSTS} hosts and addresses were checked for look-alikes"

# IDNA treats the last three dots like the first, and ignores the characters below.
_DOTS = ".\u3002\uff0e\uff61"
_IDNA = {
    **dict.fromkeys(map(ord, _DOTS), "."),
    **dict.fromkeys([0xAD, 0x34F, 0x200B, 0x2060, 0xFEFF, *range(0x180B, 0x180E), *range(0xFE00, 0xFE10)]),
}
_SLASHES = "\u2044\u2215\u2571\u27cb\u29f8\u3033\uff0f"

# A host may contain anything but whitespace, control characters and ASCII punctuation.
_LETTER = r"[^\s\x00-\x2c\x2e\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\xa0\u3002\uff0e\uff61\uff20]"
_HOST = rf"{_LETTER}{{1,255}}(?:[{_DOTS}]{_LETTER}{{1,255}}){{1,20}}"
_BEFORE_AT = r"[^\s\x00-\x20\"(),:;<>@\[\\\]\x7f-\xa0\uff20]"

_URL = re.compile(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:[/\\]{2,8}([^\s/?#<>\"]{1,512})", re.IGNORECASE)
_ADDRESS = re.compile(rf"(?<!{_BEFORE_AT})({_BEFORE_AT}{{1,255}})[@\uff20]({_HOST})")
_BARE = re.compile(rf"(?<!{_LETTER}){_HOST}")
_BRACKETED = re.compile(r"<\s{0,99}(?:mailto:)?([^<>\s@]{1,255}@[^<>\s@]{1,255})\s{0,99}>", re.IGNORECASE)
_DISPLAY_NAME = re.compile(r"\"([^\"\n]*)\"[^<>,;\"\n]*\Z|([^<>,;\"\n]+)\Z")
_LAST_LABEL = re.compile(r"[a-z]{2,63}|xn--[a-z0-9-]{1,59}", re.IGNORECASE)
_PUNYCODE = re.compile(r"xn--", re.IGNORECASE)
_SEPARATORS = re.compile(r"[-_+.]")

_TOGETHER = (
    frozenset({"Latin", "Han", "Hiragana", "Katakana"}),
    frozenset({"Latin", "Han", "Bopomofo"}),
    frozenset({"Latin", "Han", "Hangul"}),
)


def warnings(text: str) -> tuple[str, ...]:
    """Returns warnings about the hosts and addresses in a value."""
    found: dict[str, None] = {}
    for sentence in _sentences(text[:MAX_CHARACTERS]):
        if len(found) == MAX_WARNINGS and sentence not in found:
            return (*found, "there are more warnings of this kind")
        found[sentence] = None
    if len(text) > MAX_CHARACTERS:
        found[f"only the first {MAX_CHARACTERS} characters were checked for look-alikes"] = None
    return tuple(found)


def _sentences(text: str) -> Iterator[str]:
    yield from _disguised_addresses(text)
    yield from _misleading_urls(text)
    if text.isascii() and not _PUNYCODE.search(text):
        return
    for number, (host, before_at) in enumerate(_candidates(text)):
        if number == MAX_HOSTS:
            yield _TOO_MANY
            return
        if before_at:
            yield from _about(before_at, f"{before_at}@{host}")
        yield from _about_host(host)


def _disguised_addresses(text: str) -> Iterator[str]:
    """Warns about display names that look like another address."""
    for number, bracketed in enumerate(_BRACKETED.finditer(text)):
        if number == MAX_HOSTS:
            yield _TOO_MANY
            return
        name = _DISPLAY_NAME.search(text[max(bracketed.start() - 256, 0) : bracketed.start()])
        for claimed in _ADDRESS.finditer((name[1] or name[2] or "") if name else ""):
            address = claimed[0].strip("'‘’“”" + _DOTS)
            if address.casefold() == bracketed[1].casefold():
                continue
            if _ascii_like(address).casefold() == _ascii_like(bracketed[1]).casefold() != "":
                yield f'the address only looks like "{_quoted(address)}"'
            else:
                yield f'the address is {_quoted(bracketed[1])}, not "{_quoted(address)}"'


def _misleading_urls(text: str) -> Iterator[str]:
    """Warns about URLs that seem to go to one host but go to another."""
    for number, url in enumerate(_URL.finditer(text)):
        if number == MAX_HOSTS:
            yield _TOO_MANY
            return
        user, at, host = url[1].rpartition("@")
        # One word only, because foreign text of several words could look like a warning of this program.
        claimed = next((word for word in _idna(unquote(user, errors="replace")).split() if "." in word), "")
        if "\\" in url[1]:
            yield f'"{_quoted(url[0])}" has a backslash, and programs disagree about which host that means'
        elif at and claimed:
            yield f"the link goes to {_quoted(host)}, not {_quoted(claimed)}"


def _candidates(text: str) -> Iterator[tuple[str, str]]:
    """Yields the hosts to check, each with the part of the address before the @, if any."""
    for address in _ADDRESS.finditer(text):
        if _needs_check(address[0]):
            yield address[2], address[1]
    for url in _URL.finditer(text):
        host = re.split(r"[@\\]", url[1])[-1].partition(":")[0]
        if _needs_check(host):
            yield host, ""
    for bare in _BARE.finditer(text):
        host = _after_prose(bare[0])
        if _needs_check(host) and _is_host(_idna(host)):
            yield host, ""


def _needs_check(name: str) -> bool:
    return not name.isascii() or bool(_PUNYCODE.search(name))


def _after_prose(host: str) -> str:
    """Removes a Chinese or Japanese sentence whose full stop touches the host."""
    sentence, stop, rest = host.rpartition("\u3002")
    return rest if stop and not _idna(sentence).isascii() else host


def _is_host(name: str) -> bool:
    """Returns whether a name looks like a host, and not like two words around a full stop."""
    if not _LAST_LABEL.fullmatch(_ascii_like(_labels(name)[-1])):
        return False
    return any("a" <= letter.lower() <= "z" for letter in name) or bool(_ascii_like(name))


def _about_host(host: str) -> Iterator[str]:
    host = host.rstrip(_DOTS + "-")
    if any(slash in host for slash in _SLASHES):
        yield f'"{_quoted(host)}" contains a character that looks like a slash'
        return
    plain = _idna(host)
    if plain.isascii() and not host.isascii():
        yield f'"{_quoted(host)}" is really {_quoted(plain)}'
    names = _labels(plain)
    decoded = [_decoded(name) for name in names]
    if None in decoded:
        yield f"{_quoted(plain)} is not a valid international domain name"
    real = ".".join(name if label is None else label for name, label in zip(names, decoded, strict=True))
    if real != ".".join(names):
        yield f'{_quoted(plain)} is really "{_quoted(real)}"'
    for label in _labels(real):
        yield from _about(label, real)


def _about(label: str, whole: str) -> Iterator[str]:
    """Warns about the letters of one label; parts between hyphens are checked separately."""
    whole = _idna(whole)
    for part in _SEPARATORS.split(_idna(label)):
        if part.isascii():
            continue
        scripts = sorted({_script(letter) for letter in part} - {""}, key=lambda name: (name != "Latin", name))
        if len(scripts) > 1 and not any(together.issuperset(scripts) for together in _TOGETHER):
            odd = [f"{letter}=U+{ord(letter):04X}" for letter in dict.fromkeys(part) if _script(letter) in scripts[1:]]
            more = f" and {len(odd) - MAX_LETTERS} more" if len(odd) > MAX_LETTERS else ""
            letters = ", ".join(odd[:MAX_LETTERS]) + more
            yield f'"{_quoted(whole)}" mixes {", ".join(scripts[:-1])} and {scripts[-1]} letters: {letters}'
        elif like := _ascii_like(part):
            written = f"is written in {scripts[0]} but " if scripts and scripts[0] != "Latin" else ""
            looks = _ascii_like(whole) or whole.replace(part, like)
            yield f'"{_quoted(whole)}" {written}looks like "{_quoted(looks)}"'


def _idna(name: str) -> str:
    """Normalises a name as IDNA does: replaces compatibility forms, unifies dots, drops ignored characters."""
    return unicodedata.normalize("NFKC", name.translate(_IDNA))


def _labels(host: str) -> list[str]:
    return host.rstrip(".").split(".")


def _decoded(label: str) -> str | None:
    """Returns a label as it is displayed, or None for an invalid `xn--` label."""
    if not _PUNYCODE.match(label):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except (ValueError, OverflowError):
        return None


def _script(character: str) -> str:
    """Returns the script of a letter, or "" for a character that all scripts share."""
    if not character.isalpha():
        return ""
    place = bisect_right(lookalike_table.STARTS, character) - 1
    name = lookalike_table.NAMES[lookalike_table.SCRIPTS[place]]
    return "" if name == "Common" else name


@cache
def _shapes() -> dict[str, str]:
    return dict(zip(lookalike_table.ALIKE, lookalike_table.ASCII, strict=True))


def _ascii_like(text: str) -> str:
    """Returns the ASCII text that a text looks like, or "" if one of its letters looks like no ASCII letter."""
    shapes = _shapes()
    letters = [letter if letter.isascii() else shapes.get(letter) or shapes.get(letter.lower(), "") for letter in text]
    return "".join(letters) if all(letters) else ""


def _quoted(text: str) -> str:
    return clip(inline(text), MAX_QUOTE)
