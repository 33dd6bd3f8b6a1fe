"""Ledger entries and the hash chain over them, as pure functions over the stored bytes."""

import hashlib
from enum import StrEnum
from typing import Final

from aileron_tui.core.jsontext import JsonError, JsonLimits, JsonObject, canonical, kind, read_object
from aileron_tui.core.values import dataclass

GENESIS: Final = "sha256:" + "0" * 64

_DOMAIN: Final = b"aileron ledger v1\n"
_LIMITS: Final = JsonLimits(size=16 * 1024 * 1024)
_FIELDS: Final = {"seq": int, "time": str, "kind": str, "request": str, "body": dict}


class EntryKind(StrEnum):
    """What an entry records: each step of a request, and each change of the gate itself.

    `TOLD` is what another runtime says became of a request that it carries out itself; it is never an approval of ours.
    `EDITED` is its word that the answer it got elsewhere was to an edited call; how it was edited is not told.
    """

    REQUESTED = "request.made"
    PREVIEWED = "preview.fetched"
    SHOWN = "prompt.shown"
    DECIDED = "decision.made"
    REFUSED = "decision.refused"
    RUNNING = "op.started"
    EXECUTED = "op.executed"
    FAILED = "op.failed"
    EXPIRED = "request.expired"
    WITHDRAWN = "request.withdrawn"
    INTERRUPTED = "op.interrupted"
    TOLD = "runtime.told"
    EDITED = "runtime.edited"
    DELIVERED = "result.delivered"
    FELL_BACK = "surface.fell_back"
    KEY_ENROLLED = "key.enrolled"
    KEY_REVOKED = "key.revoked"
    CONFIG_CHANGED = "config.changed"
    STARTED = "gate.started"
    STOPPED = "gate.stopped"


@dataclass(frozen=True, slots=True)
class Entry:
    """One fact: its place in the chain, when, what kind, about which request (or ""), and the particulars."""

    seq: int
    time: str
    kind: str
    request: str
    body: JsonObject


def encode(entry: Entry) -> bytes:
    """The bytes that are stored and hashed: canonical JSON."""
    return canonical({name: getattr(entry, name) for name in _FIELDS})


def decode(data: bytes) -> Entry:
    """The entry in these bytes, or a JsonError."""
    fields = read_object(data, _LIMITS)
    if fields.keys() != _FIELDS.keys():
        odd = min(fields.keys() ^ _FIELDS.keys())
        raise JsonError(f'"{odd}" is missing or not a field of an entry', f"$.{odd}")
    for name, wanted in _FIELDS.items():
        if type(fields[name]) is not wanted:
            raise JsonError(f"found {kind(fields[name])}", f"$.{name}")
    return Entry(**fields)  # type: ignore[arg-type]  # checked field by field above


def link(previous: str, data: bytes) -> str:
    """The hash of an entry: over the hash before it and its own bytes."""
    digest = hashlib.sha256(_DOMAIN + bytes.fromhex(previous.removeprefix("sha256:")) + data)
    return f"sha256:{digest.hexdigest()}"


class Damage(StrEnum):
    """How a chain can be broken, in words for a person."""

    UNREADABLE = "the entry cannot be read"
    CHANGED = "the entry was changed after it was written"
    HASH = "the stored hash of the entry was changed"
    GAP = "an entry is missing here"
    ORDER = "the entry is out of order"
    CUT = "entries at the end are missing"
    REWRITTEN = "the chain is not the one whose head was kept"
    SIGNATURE = "the signed decision does not hold"
    HEAD = "the history before the decision is not the one that was signed"
    KEY = "the key was not allowed to decide at the time"
    REPEATED = "a request ran more than once, or without an approval"
    OTHER = "what ran is not what was approved"
    TOLD = "what a runtime told does not fit the request"
    INDEX = "the history shown differs from the entries"


@dataclass(frozen=True, slots=True)
class ChainFault:
    """The first bad entry of a chain and what is wrong with it."""

    seq: int
    damage: Damage
    detail: str


class ChainWalker:
    """Checks a chain entry by entry in constant memory; `head` is the hash of the last good one."""

    def __init__(self, head: str = GENESIS, seq: int = 0) -> None:
        self.head = head
        self.seq = seq

    def check(self, seq: int, data: bytes, stored: str) -> ChainFault | None:
        """Takes the next entry as stored; returns what is wrong with it, or None and moves on."""
        expected = self.seq + 1
        if seq != expected:
            damage = Damage.GAP if seq > expected else Damage.ORDER
            return ChainFault(seq, damage, f"expected entry {expected}, found {seq}")
        actual = link(self.head, data)
        if actual != stored:
            return ChainFault(seq, Damage.CHANGED, f"its hash is {stored}, its content gives {actual}")
        self.seq, self.head = seq, actual
        return None
