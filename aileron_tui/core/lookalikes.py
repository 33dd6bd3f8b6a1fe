"""Remarks about hosts and addresses that are not what they look like.

The data is Unicode's own list of confusables and scripts, as a small table (`lookalike_table`), because a library for
two lookups would be one more dependency. Scripts may be mixed as UTS 39 allows at its level "highly restrictive": Latin
with Japanese, Korean or Chinese. Everything that a remark quotes has been made visible.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Final
from urllib.parse import unquote

from aileron_tui.core.host_remarks import (
    DOTS,
    PUNYCODE,
    Remark,
    about_capitals,
    about_host,
    about_name,
    ascii_like,
    idna,
    imitated,
    labels,
    quoted,
    top_level_domains,
)
from aileron_tui.core.html_references import html_note
from aileron_tui.core.skeletons import MAX_REMEMBERED, KnownNames
from aileron_tui.core.values import dataclass

# Limits. A warning is added when one is reached.
MAX_CHARACTERS = 1_000_000
MAX_HOSTS = 500
MAX_ASCII_HOSTS = 20_000
MAX_WARNINGS = 8
_LONGEST_KEPT = 320
_LONGEST_REMEMBERED = 16 * 1024
_MAX_PARENTS = 5
_HOST_END = f"{DOTS}-"
_TOO_MANY = f"only the first {MAX_HOSTS} hosts and addresses were checked for look-alikes"
_MORE = "there are more warnings of this kind"

# A host may contain anything but whitespace, control characters and ASCII punctuation.
_LETTER = r"[^\s\x00-\x2c\x2e\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\xa0\u3002\uff0e\uff61\uff20]"
_HOST = rf"{_LETTER}{{1,255}}(?:[{DOTS}]{_LETTER}{{1,255}}){{1,20}}"
_BEFORE_AT = r"[^\s\x00-\x20\"(),:;<>@\[\\\]\x7f-\xa0\uff20]"

_URL = re.compile(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:[/\\]{2,8}([^\s/?#<>\"]{1,512})", re.IGNORECASE)
_ADDRESS = re.compile(rf"(?<!{_BEFORE_AT})({_BEFORE_AT}{{1,255}})[@\uff20]({_HOST})")
_BARE = re.compile(rf"(?<!{_LETTER}){_HOST}")
_BRACKETED = re.compile(r"<\s{0,99}(?:mailto:)?([^<>\s@]{1,255}@[^<>\s@]{1,255})\s{0,99}>", re.IGNORECASE)
_DISPLAY_NAME = re.compile(r"\"([^\"\n]*)\"[^<>,;\"\n]*\Z|([^<>,;\"\n]+)\Z")
_LAST_LABEL = re.compile(r"[a-z]{2,63}|xn--[a-z0-9-]{1,59}", re.IGNORECASE)
_ASCII_HOST = re.compile(
    r"(?<![a-z0-9\u00c0-\u024f\u1e00-\u1eff-])[a-z0-9-]{1,255}+(?:\.[a-z0-9-]{1,255}+){1,20}+", re.IGNORECASE | re.ASCII
)


@dataclass(frozen=True, slots=True)
class Remarks:
    """Warnings, which must be read before an approval, and notes, which only inform."""

    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


_NO_REMARKS: Final = Remarks()


def warnings(text: str, known: KnownNames | None = None) -> tuple[str, ...]:
    """Warnings about the hosts and addresses in a value."""
    return remarks(text, known).warnings


def remarks(text: str, known: KnownNames | None = None) -> Remarks:
    """Remarks about the hosts and addresses in a value, and a note if it is HTML-escaped.

    `known` has the hosts and addresses that were seen.
    """
    escaped = html_note(text[:MAX_CHARACTERS])
    if _names_nothing(text):
        return Remarks(notes=(escaped,)) if escaped else _NO_REMARKS
    found: dict[str, None] = {}
    notes: dict[str, None] = {}
    for remark in _remarks(text[:MAX_CHARACTERS], known):
        kind = notes if remark.is_note else found
        if len(kind) < MAX_WARNINGS:
            kind[remark.text] = None
        elif remark.text not in kind and not remark.is_note:
            found[_MORE] = None
            break
    if len(text) > MAX_CHARACTERS:
        found[f"only the first {MAX_CHARACTERS} characters were checked for look-alikes"] = None
    return Remarks(tuple(found), (*notes, escaped) if escaped else tuple(notes))


def _names_nothing(text: str) -> bool:
    """Whether a value has none of the characters of which every host, address and URL has one."""
    return len(text) <= MAX_CHARACTERS and text.isascii() and not ("." in text or "@" in text or ":" in text)


def _addresses(text: str) -> Iterator[str]:
    """The mail addresses in a value."""
    return (f"{address[1]}@{address[2].rstrip(_HOST_END)}" for address in _ADDRESS.finditer(text))


def _url_hosts(text: str) -> Iterator[str]:
    """The hosts of the URLs in a value, as programs read them."""
    return (idna(unquote(_url_host(url), errors="replace")).rstrip(_HOST_END) for url in _URL.finditer(text))


def names_in(text: str) -> Iterator[str]:
    """The mail addresses and the hosts of addresses and URLs in a value, of at most `MAX_HOSTS` each.

    Those that cause a warning are left out: nothing is compared with an imitation. So are hosts without an address or a
    URL, because names of files look like them.
    """
    if _names_nothing(text):
        return
    text = text[:MAX_CHARACTERS]
    for address in islice(_addresses(text), MAX_HOSTS):
        if not warnings(address):
            yield address
            yield from _with_parents(address.rpartition("@")[2])
    for host in islice(_url_hosts(text), MAX_HOSTS):
        if not warnings(f"https://{host}"):
            yield from _with_parents(host)


def names_to_remember(texts: Iterable[str]) -> list[str]:
    """The first names in the values of one prompt, of long values only from the beginning."""
    found: dict[str, None] = {}
    for name in (name for text in texts for name in names_in(text[:_LONGEST_REMEMBERED])):
        found[name] = None
        if len(found) == MAX_REMEMBERED:
            break
    return list(found)


def known_names(texts: Iterable[str], before: KnownNames | None = None) -> KnownNames:
    """The names in several values that are shown together, and those seen `before`."""
    return KnownNames((name for text in texts for name in names_in(text)), before)


def _with_parents(host: str) -> Iterator[str]:
    """A host and the domains that it belongs to: `mail.corp.example`, `corp.example`."""
    names = labels(host)
    first = max(len(names) - _MAX_PARENTS, 0)
    yield from dict.fromkeys((host, *(".".join(names[start:]) for start in range(first, len(names) - 1))))


def _remarks(text: str, known: KnownNames | None) -> Iterator[Remark]:
    is_short = len(text) <= _LONGEST_KEPT
    yield from _ascii_remarks_of_short(text) if is_short else _ascii_remarks(text)
    if known is not None:
        yield from _resembling(text, known)
    yield from _other_remarks_of_short(text) if is_short else _other_remarks(text)


@lru_cache(maxsize=256)
def _ascii_remarks_of_short(text: str) -> tuple[Remark, ...]:
    """The same, kept: the value of a row is often one address, which is looked at both alone and as a value."""
    return tuple(_ascii_remarks(text))


@lru_cache(maxsize=256)
def _other_remarks_of_short(text: str) -> tuple[Remark, ...]:
    return tuple(_other_remarks(text))


def _ascii_remarks(text: str) -> Iterator[Remark]:
    for sentence in (*_disguised_addresses(text), *_misleading_urls(text)):
        yield Remark(sentence)
    yield from _ascii_hosts(text)


def _other_remarks(text: str) -> Iterator[Remark]:
    """Remarks about hosts and addresses that are not plain ASCII."""
    if text.isascii() and not PUNYCODE.search(text):
        return
    seen: set[tuple[str, str]] = set()
    for number, (host, before_at) in enumerate(_candidates(text)):
        if number == MAX_HOSTS:
            yield Remark(_TOO_MANY)
            return
        if (host, before_at) in seen:
            continue
        seen.add((host, before_at))
        if before_at:
            yield from about_name(before_at, f"{before_at}@{host}")
        # Without a top-level domain it may be the name of a file, which needs no note.
        is_host = labels(idna(host))[-1].lower() in top_level_domains() or PUNYCODE.search(host)
        yield from (remark for remark in about_host(host) if is_host or before_at or not remark.is_note)


def _ascii_hosts(text: str) -> Iterator[Remark]:
    """Remarks about plain hosts: imitations of often imitated names, and capitals in addresses and URLs."""
    seen: set[str] = set()
    for found in _ASCII_HOST.finditer(text):
        host = found[0]
        in_address = text.endswith(("@", "//"), 0, found.start())
        if host in seen or PUNYCODE.search(host):
            continue
        if len(seen) == MAX_ASCII_HOSTS:
            yield Remark(f"only the first {MAX_ASCII_HOSTS} hosts were checked for imitations")
            return
        seen.add(host)
        if not in_address and labels(host)[-1] not in top_level_domains():
            continue
        if name := imitated(host):
            yield Remark(f'"{quoted(host)}" looks like "{name}", but is not')
        if in_address:
            yield from about_capitals(host)


def _resembling(text: str, known: KnownNames) -> Iterator[Remark]:
    """Warnings about addresses and hosts that are close to a known one."""
    for number, address in enumerate(_addresses(text)):
        if number == MAX_HOSTS:
            yield Remark(_TOO_MANY)
            break
        yield from _about_resemblance((address, *_with_parents(address.rpartition("@")[2])), known)
    hosts = chain(islice(_url_hosts(text), MAX_HOSTS), islice(_bare_hosts(text), MAX_ASCII_HOSTS))
    for host in dict.fromkeys(hosts):
        yield from _about_resemblance(_with_parents(host), known)


def _about_resemblance(names: Iterable[str], known: KnownNames) -> Iterator[Remark]:
    """A warning about the first of these names that is close to a known one."""
    for name in names:
        if other := known.resembled_by(name):
            seen = "is in a request you approved" if known.is_approved(other) else "was also seen"
            yield Remark(f'"{quoted(name)}" is easily mistaken for "{quoted(other)}", which {seen}')
            return


def _bare_hosts(text: str) -> Iterator[str]:
    """What may be hosts in a text, other than those of addresses."""
    for pattern in (_ASCII_HOST,) if text.isascii() else (_ASCII_HOST, _BARE):
        for found in pattern.finditer(text):
            if not text.endswith(("@", "\uff20"), 0, found.start()):
                yield found[0].rstrip(_HOST_END)


def _disguised_addresses(text: str) -> Iterator[str]:
    """Warns about display names that look like another address."""
    for number, bracketed in enumerate(_BRACKETED.finditer(text)):
        if number == MAX_HOSTS:
            yield _TOO_MANY
            return
        name = _DISPLAY_NAME.search(text[max(bracketed.start() - 256, 0) : bracketed.start()])
        for claimed in _ADDRESS.finditer((name[1] or name[2] or "") if name else ""):
            address = claimed[0].strip("'‘’“”" + DOTS)
            if address.casefold() == bracketed[1].casefold():
                continue
            if ascii_like(address).casefold() == ascii_like(bracketed[1]).casefold() != "":
                yield f'the address only looks like "{quoted(address)}"'
            else:
                yield f'the address is {quoted(bracketed[1])}, not "{quoted(address)}"'


def _misleading_urls(text: str) -> Iterator[str]:
    """Warns about URLs that seem to go to one host but go to another."""
    for number, url in enumerate(_URL.finditer(text)):
        if number == MAX_HOSTS:
            yield _TOO_MANY
            return
        user, at, host = url[1].rpartition("@")
        # One word only, because foreign text of several words could look like a warning of this program.
        claimed = next((word for word in idna(unquote(user, errors="replace")).split() if "." in word), "")
        if "\\" in url[1]:
            yield f'"{quoted(url[0])}" has a backslash, and programs disagree about which host that means'
        elif at and claimed:
            yield f"the link goes to {quoted(host)}, not {quoted(claimed)}"


def _candidates(text: str) -> Iterator[tuple[str, str]]:
    """Yields the hosts to check, each with the part of the address before the @, if any."""
    for address in _ADDRESS.finditer(text):
        if _needs_check(address[0]):
            yield address[2], address[1]
    for url in _URL.finditer(text):
        host = _url_host(url)
        if _needs_check(host):
            yield host, ""
    for bare in _BARE.finditer(text):
        host = _after_prose(bare[0])
        if _needs_check(host) and _is_host(idna(host)):
            yield host, ""


def _url_host(url: re.Match[str]) -> str:
    return re.split(r"[@\\]", url[1])[-1].partition(":")[0]


def _needs_check(name: str) -> bool:
    return not name.isascii() or bool(PUNYCODE.search(name))


def _after_prose(host: str) -> str:
    """Removes a Chinese or Japanese sentence whose full stop touches the host."""
    sentence, stop, rest = host.rpartition("\u3002")
    return rest if stop and not idna(sentence).isascii() else host


def _is_host(name: str) -> bool:
    """Returns whether a name looks like a host, and not like two words around a full stop."""
    top_level = labels(name)[-1]
    if top_level.lower() in top_level_domains() and not top_level.isascii():
        return True
    if not _LAST_LABEL.fullmatch(ascii_like(top_level)):
        return False
    return any("a" <= letter.lower() <= "z" for letter in name) or bool(ascii_like(name))
