"""Ledger entries and their hash chain, as pure functions on the stored bytes.

An entry is stored as canonical JSON. Its hash covers the previous entry's hash and, in version 1, the stored bytes.
Since version 2 it covers the entry's header instead, which has the SHA-256 digest of the body in place of the body:

    stored   {"body":{…},"kind":"request.made","request":"act-1","seq":7,"time":"…","version":2}
    header   {"body":"sha256:…","kind":"request.made","request":"act-1","seq":7,"time":"…","version":2}

So a body can be removed without breaking the chain: the header is stored instead of the entry, and the hash stays the
same. Only entries about requests may be without their body (`core/entry_kinds.py`). A chain may contain entries of
several versions.
"""

import hashlib
import re
from enum import StrEnum
from json.encoder import encode_basestring as quoted
from typing import Final

from aileron_tui.core.entry_kinds import REDUCIBLE
from aileron_tui.core.formats import VERSION, NewerFormat, version_of
from aileron_tui.core.frozen_json import frozen_object
from aileron_tui.core.jsontext import JsonError, JsonLimits, JsonObject, canonical, kind, read_object
from aileron_tui.core.values import dataclass

GENESIS: Final = "sha256:" + "0" * 64

_DOMAINS: Final = {1: b"aileron ledger v1\n", 2: b"aileron ledger v2\n"}
_BODY: Final = b'{"body":'
_REMOVED: Final = re.compile(rb'\{"body":"(sha256:[0-9a-f]{64})",')
_REST: Final = b',"kind":"'  # quotes inside strings are escaped, so the last match in the bytes is the field itself
_VERSION: Final = re.compile(rb',"version":([0-9]{1,9})\}\Z')
_END: Final = re.compile(
    rb',"kind":"([a-z_.]{1,40})","request":"([ !#-\[\]-~]{0,200})"'
    rb',"seq":[0-9]{1,18},"time":"([0-9TZ:.-]{1,40})"(?:,"version":2)?\}\Z'
)
_LIMITS: Final = JsonLimits(size=16 * 1024 * 1024)
_FIELDS: Final = {"seq": int, "time": str, "kind": str, "request": str, "body": dict}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the ledger: its number, time and kind, its request (or ""), and the details.

    If the body was removed, it is empty and `removed` is its digest.
    """

    seq: int
    time: str
    kind: str
    request: str
    body: JsonObject
    version: int = VERSION
    removed: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", frozen_object(self.body))

    def fields(self) -> JsonObject:
        """The entry as JSON. The field `removed` is there only if the body was removed."""
        fields: JsonObject = {name: getattr(self, name) for name in _FIELDS}
        if self.removed:
            fields["removed"] = self.removed
        return fields if self.version == 1 else fields | {"version": self.version}


class BodyRemoved(JsonError):
    """An entry without its body, of a kind that is never without it."""

    def __init__(self) -> None:
        super().__init__("the body of the entry was removed", "$.body")


def encode(entry: Entry) -> bytes:
    """The entry as it is stored, in canonical JSON."""
    if entry.version == 1:
        return canonical(entry.fields())
    body = f'"{entry.removed}"'.encode() if entry.removed else canonical(entry.body)
    return b"%b%b%b" % (_BODY, body, _after_body(entry))


def decode(data: bytes) -> Entry:
    """Parses a stored entry. Raises JsonError, or its subclasses NewerFormat and BodyRemoved."""
    fields = read_object(data, _LIMITS)
    version = version_of(fields, "the entry")
    expected = _FIELDS.keys() if version == 1 else {*_FIELDS, "version"}
    if fields.keys() != expected:
        odd = min(fields.keys() ^ expected)
        raise JsonError(f'"{odd}" is missing or not a field of an entry', f"$.{odd}")
    removed = _REMOVED.match(data) if version > 1 else None
    if removed:
        if fields["kind"] not in REDUCIBLE or fields["body"] != removed[1].decode():
            raise BodyRemoved
        fields["body"], fields["removed"] = {}, removed[1].decode()
    for name, wanted in _FIELDS.items():
        if type(fields[name]) is not wanted:
            raise JsonError(f"found {kind(fields[name])}", f"$.{name}")
    fields["version"] = version
    entry = Entry(**fields)  # type: ignore[arg-type]  # checked field by field above
    if version > 1 and not (data.startswith(_BODY) and data[data.rfind(_REST) :] == _after_body(entry)):
        raise JsonError("the entry is not in canonical form")
    return entry


def read_end(data: bytes) -> tuple[str, str, str] | None:
    """The kind, the request and the time of a stored entry, from the bytes after its body; None if they are not plain.

    The body is not looked at, so this is only for entries that are verified elsewhere.
    """
    found = _END.search(data, max(0, data.rfind(_REST)))
    if found is None:
        return None
    kind_, request, time = found.groups()
    return kind_.decode(), request.decode(), time.decode()


def _after_body(entry: Entry) -> bytes:
    """The stored bytes after the body. Canonical JSON sorts its keys, so the body comes first."""
    kind_, request, time = quoted(entry.kind), quoted(entry.request), quoted(entry.time)
    text = f',"kind":{kind_},"request":{request},"seq":{entry.seq},"time":{time},"version":{entry.version}}}'
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise JsonError("a lone surrogate") from None


def link(previous: str, data: bytes) -> str:
    """The hash of a stored entry, the same whether or not its body was removed. Raises NewerFormat."""
    version = _stored_version(data)
    hashed = data if version == 1 else header(data)
    digest = hashlib.sha256(_DOMAINS[version] + bytes.fromhex(previous.removeprefix("sha256:")) + hashed)
    return f"sha256:{digest.hexdigest()}"


def header(data: bytes) -> bytes:
    """The header of a stored entry: the entry with the digest of its body instead of the body.

    Since version 2 the hash of an entry covers its header, and if the body is removed, only the header is stored. The
    header of a header is the same bytes.
    """
    rest = data.rfind(_REST)
    if _REMOVED.match(data) or not data.startswith(_BODY) or rest < 0:
        return data
    digest = hashlib.sha256(memoryview(data)[len(_BODY) : rest])
    return b'%b"sha256:%b"%b' % (_BODY, digest.hexdigest().encode(), data[rest:])


def _stored_version(data: bytes) -> int:
    """The version at the end of the stored bytes. Nothing else in them has been checked yet."""
    found = _VERSION.search(data, max(0, len(data) - 24))
    version = int(found[1]) if found else 1
    if version > VERSION:
        raise NewerFormat("the entry", version)
    return max(1, version)


class Damage(StrEnum):
    """What can be wrong with a chain, in words for users."""

    UNREADABLE = "the entry cannot be read"
    NEWER = "the entry was written by a newer version of aileron-tui, or it was changed"
    REMOVED = "the body of the entry was removed"
    REDUCED = "bodies were removed from the ledger without a valid record of it"
    CHANGED = "the entry was changed after it was written"
    HASH = "the stored hash of the entry was changed"
    GAP = "an entry is missing here"
    ORDER = "the entry is out of order"
    CUT = "entries at the end are missing"
    REWRITTEN = "the chain does not have the expected head"
    SIGNATURE = "the signed decision is not valid"
    HEAD = "the decision was signed over another history"
    KEY = "the key was not allowed to decide at that time"
    KEY_CHANGE = "the keys that may approve were changed without a valid signature, or the entry is not valid"
    COPIED = "a security key signed that may have been copied"
    AGENT = "the agent was changed without a valid signature"
    RULE = "the rule was changed without a valid signature, or it does not answer this request"
    PUBLISHER = "the trusted publishers were changed without a valid signature"
    PACKAGE = "the installed packages were changed without a valid signature, or the entry is not valid"
    RESTORED = "the ledger was restored without a valid signature"
    BINDING = "the accounts of connectors were changed without a valid signature, or the entry is not valid"
    REPEATED = "a request ran more than once, or without an approval"
    OTHER = "what ran is not what was approved"
    TOLD = "the daemon's report does not match the request"
    INDEX = "the history list differs from the entries"


@dataclass(frozen=True, slots=True)
class ChainFault:
    """The first bad entry of a chain and what is wrong with it."""

    seq: int
    damage: Damage
    detail: str


class ChainWalker:
    """Checks a chain entry by entry in constant memory; `head` is the hash of the last good entry."""

    def __init__(self, head: str = GENESIS, seq: int = 0) -> None:
        self.head = head
        self.seq = seq

    def check(self, seq: int, data: bytes, stored: str) -> ChainFault | None:
        """Checks the next stored entry and returns what is wrong with it. If it is good, moves on and returns None.

        An entry whose body was removed is checked by its header, which has the digest of the body.
        """
        expected = self.seq + 1
        if seq != expected:
            damage = Damage.GAP if seq > expected else Damage.ORDER
            return ChainFault(seq, damage, f"expected entry {expected}, found {seq}")
        try:
            actual = link(self.head, data)
        except NewerFormat as error:
            return ChainFault(seq, Damage.NEWER, str(error))
        if actual != stored:
            return ChainFault(seq, Damage.CHANGED, f"its stored hash is {stored}, but its content has {actual}")
        self.seq, self.head = seq, actual
        return None
