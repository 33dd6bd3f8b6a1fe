"""The signed answer: what a decision says, its exact bytes, and the bytes a signature covers (DSSE v1)."""

import re
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final

from aileron_tui.core.jsontext import JsonError, JsonLimits, JsonObject, canonical, kind, read_object
from aileron_tui.core.values import dataclass

PAYLOAD_TYPE: Final = "application/vnd.aileron.decision+json"

_LIMITS: Final = JsonLimits(size=1024 * 1024, depth=32, count=20_000)
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")
_HASH_IF_TOLD: Final = re.compile(f"(?:{_HASH.pattern})?")
_NONCE: Final = re.compile(r"[0-9a-f]{32}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


class Verdict(StrEnum):
    """What the operator answered."""

    APPROVE = "approve"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Statement:
    """Everything a decision is bound to, so that it can serve for nothing else.

    `connector` is the hash of what would run, "" where a daemon does not tell it; `edits` are the inputs the operator
    changed (merged over the agent's), or None; `head` is the ledger's head when the decision was made; `nonce` makes
    each decision single-use.
    """

    request: str
    instance: str
    action: str
    connector: str
    digest: str
    verdict: Verdict
    edits: JsonObject | None
    reason: str
    surface: str
    time: str
    expires: str
    nonce: str
    head: str

    def payload(self) -> bytes:
        """The canonical JSON that is signed."""
        return canonical({name: getattr(self, name) for name in _FIELDS})


_FIELDS: Final = tuple(Statement.__dataclass_fields__)
_SHAPES: Final = {
    "connector": (_HASH_IF_TOLD, "nothing, or a hash such as sha256:… with 64 hex digits"),
    "digest": (_HASH, "a hash such as sha256:… with 64 hex digits"),
    "head": (_HASH, "a hash such as sha256:… with 64 hex digits"),
    "nonce": (_NONCE, "32 hex digits"),
    "time": (_TIME, "a UTC time such as 2026-05-12T10:15:30.000000Z"),
    "expires": (_TIME, "a UTC time such as 2026-05-12T10:15:30.000000Z"),
}


def read_statement(payload: bytes) -> Statement:
    """The statement in these bytes, or a JsonError; only the canonical spelling is accepted."""
    fields = read_object(payload, _LIMITS)
    for name in _FIELDS:
        if name not in fields:
            raise JsonError(f'"{name}" is missing', f"$.{name}")
    if unknown := sorted(set(fields) - set(_FIELDS)):
        raise JsonError(f'"{unknown[0]}" is not a field of a decision', f"$.{unknown[0]}")
    edits = fields["edits"]
    if edits is not None and not isinstance(edits, dict):
        raise JsonError(f"expected an object or null, found {kind(edits)}", "$.edits")
    texts: dict[str, str] = {}
    for name in _FIELDS:
        if name == "edits":
            continue
        value = fields[name]
        if not isinstance(value, str):
            raise JsonError(f"expected a string, found {kind(value)}", f"$.{name}")
        shape, words = _SHAPES.get(name, (None, ""))
        if shape and not shape.fullmatch(value):
            raise JsonError(f"expected {words}", f"$.{name}")
        texts[name] = value
    if texts["verdict"] not in set(Verdict):
        raise JsonError('expected "approve" or "deny"', "$.verdict")
    statement = Statement(edits=edits, verdict=Verdict(texts.pop("verdict")), **texts)
    if statement.payload() != payload:
        raise JsonError("not in canonical form")
    return statement


def pae(payload_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: type and payload with their lengths, so neither can pass for the other."""
    name = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)


def timestamp(moment: datetime) -> str:
    """A moment as decisions and ledger entries write it: UTC, microseconds, `Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@lru_cache(maxsize=4096)
def moment(text: str) -> datetime:
    """The moment a `timestamp` names. One that was written otherwise takes longer to read."""
    if _TIME.fullmatch(text):
        year, month, day, hour, minute, second, micro = map(int, re.split("[-T:.]", text[:-1]))
        return datetime(year, month, day, hour, minute, second, micro, UTC)
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
