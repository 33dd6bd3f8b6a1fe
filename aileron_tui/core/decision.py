"""The content of a decision, its exact bytes, and the bytes that its signature covers (DSSE v1).

The format version is in the payload and in the payload type, and the signature covers both. A payload whose version
differs from that of its type is refused.
"""

import re
from enum import StrEnum
from typing import Final

from aileron_tui.core.formats import VERSION, NewerFormat, version_of
from aileron_tui.core.frozen_json import frozen_object
from aileron_tui.core.jsontext import JsonError, JsonLimits, JsonObject, canonical, kind, read_object
from aileron_tui.core.times import TIME
from aileron_tui.core.values import dataclass

PAYLOAD_TYPES: Final = {
    1: "application/vnd.aileron.decision+json",
    2: "application/vnd.aileron.decision.v2+json",
}
PAYLOAD_TYPE: Final = PAYLOAD_TYPES[VERSION]

CHALLENGE_NONCE_SIZE: Final = 32
CHALLENGE_SIZE: Final = 64
"""The size of what a security key is asked to sign, in bytes: a nonce and a hash."""

_ANY_TYPE: Final = re.compile(r"application/vnd\.aileron\.decision\.v([1-9][0-9]{0,8})\+json", re.ASCII)
_LIMITS: Final = JsonLimits(size=1024 * 1024, depth=32, count=20_000)
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")
_OPTIONAL_HASH: Final = re.compile(f"(?:{_HASH.pattern})?")
_NONCE: Final = re.compile(r"[0-9a-f]{32}")


class Verdict(StrEnum):
    """What the operator answered."""

    APPROVE = "approve"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Statement:
    """Everything a decision is bound to, so that it is valid for nothing else.

    `connector` is the hash of the connector that would run, "" if a daemon does not report it; `edits` are the inputs
    that the operator changed (merged over the agent's), or None; `head` is the ledger's head when the decision was
    made; `nonce` makes each decision single-use; `version` is the format version, which is signed like everything else.
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
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.edits is not None:
            object.__setattr__(self, "edits", frozen_object(self.edits))

    def payload(self) -> bytes:
        """The canonical JSON that is signed."""
        return canonical({name: getattr(self, name) for name in _FIELDS[self.version]})

    @property
    def payload_type(self) -> str:
        """The type under which the payload is signed."""
        return PAYLOAD_TYPES[self.version]


_NAMES: Final = tuple(Statement.__dataclass_fields__)
_FIELDS: Final = {1: tuple(name for name in _NAMES if name != "version"), 2: _NAMES}
_NOT_TEXT: Final = frozenset({"edits", "version"})
_SHAPES: Final = {
    "connector": (_OPTIONAL_HASH, "an empty string or a hash such as sha256:… with 64 hex digits"),
    "digest": (_HASH, "a hash such as sha256:… with 64 hex digits"),
    "head": (_HASH, "a hash such as sha256:… with 64 hex digits"),
    "nonce": (_NONCE, "32 hex digits"),
    "time": (TIME, "a UTC time such as 2026-05-12T10:15:30.000000Z"),
    "expires": (TIME, "a UTC time such as 2026-05-12T10:15:30.000000Z"),
}


def statement_version(payload_type: str) -> int | None:
    """The statement version of a payload type, or None for any other type. Raises NewerFormat for a later version."""
    for version, known in PAYLOAD_TYPES.items():
        if payload_type == known:
            return version
    if (newer := _ANY_TYPE.fullmatch(payload_type)) and int(newer[1]) > VERSION:
        raise NewerFormat("the decision", int(newer[1]))
    return None


def read_statement(payload: bytes) -> Statement:
    """Parses a statement. Raises JsonError if it is not valid or not in canonical form."""
    fields = read_object(payload, _LIMITS)
    version = version_of(fields, "the decision")
    expected = _FIELDS[version]
    for name in expected:
        if name not in fields:
            raise JsonError(f'"{name}" is missing', f"$.{name}")
    if unknown := sorted(set(fields) - set(expected)):
        raise JsonError(f'"{unknown[0]}" is not a field of a decision', f"$.{unknown[0]}")
    edits = fields["edits"]
    if edits is not None and not isinstance(edits, dict):
        raise JsonError(f"expected an object or null, found {kind(edits)}", "$.edits")
    texts: dict[str, str] = {}
    for name in expected:
        if name in _NOT_TEXT:
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
    statement = Statement(edits=edits, verdict=Verdict(texts.pop("verdict")), version=version, **texts)
    if statement.payload() != payload:
        raise JsonError("the decision is not in canonical form")
    return statement


def pae(payload_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding. It includes both lengths, so type and payload cannot be confused."""
    name = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)


def challenge(signed: bytes, nonce: bytes) -> bytes:
    """What a security key is asked to sign: a nonce of 32 bytes, and the hash of the bytes that other keys sign.

    `signed` is what `pae` returns, so the hash covers the type, the verdict and everything else in the statement.
    """
    if len(nonce) != CHALLENGE_NONCE_SIZE:
        raise ValueError(f"a nonce of {len(nonce)} bytes")
    import hashlib  # noqa: PLC0415  # loads OpenSSL, which the first frame does not need

    return nonce + hashlib.sha256(signed).digest()
