"""Changes to the trusted publishers: trusting a key of a publisher, or no longer.

The body of the ledger entry has these fields. The keyring itself is Aileron's own file; the ledger says who changed it.

    authority, key    whom the key belongs to, such as github://owner, and the public key in base64
    envelope          DSSE object: the same change, signed by an approver over the head of the ledger just before it

The head binds the signature to one place in one ledger, so it cannot be used again.
"""

import base64
import re
from typing import Final

from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, canonical, kind, read_object
from aileron_tui.core.manifest_names import SCHEMES
from aileron_tui.core.times import TIME
from aileron_tui.core.values import dataclass

PUBLISHER_CHANGES: Final = frozenset({EntryKind.PUBLISHER_TRUSTED, EntryKind.PUBLISHER_REMOVED})
PAYLOAD_TYPE: Final = "application/vnd.aileron.publisher.v1+json"
"""The type under which a change is signed. It has the format version, and another type is refused."""

_LIMITS: Final = JsonLimits(size=4096, depth=2, count=20)
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_AUTHORITY: Final = re.compile(rf"(?:{'|'.join(SCHEMES)})://[A-Za-z0-9._~-]{{1,100}}(?:/[A-Za-z0-9._~-]{{1,100}})?")
_FIELDS: Final = ("change", "authority", "key", "head", "time")


@dataclass(frozen=True, slots=True)
class PublisherChange:
    """One change to the trusted publishers, as an approver signs it. `key` is the public key in standard base64."""

    change: EntryKind
    authority: str
    key: str
    head: str = ""
    time: str = ""

    @property
    def payload_type(self) -> str:
        """The type under which the payload is signed."""
        return PAYLOAD_TYPE

    def payload(self) -> bytes:
        """The canonical JSON that is signed."""
        return canonical({name: getattr(self, name) for name in _FIELDS})

    def body(self, envelope: JsonObject) -> JsonObject:
        """The body of the ledger entry."""
        return {"authority": self.authority, "key": self.key, "envelope": envelope}


def is_authority(text: str) -> bool:
    """Whether this names a publisher: `scheme://owner`, or one of its repositories."""
    return _AUTHORITY.fullmatch(text) is not None


def key_text(raw: bytes) -> str:
    """A public key of 32 bytes as keyrings and entries write it."""
    return base64.b64encode(raw).decode()


def read_signed_change(payload: bytes) -> PublisherChange:
    """Parses the payload of an envelope. Raises JsonError if it is not valid or not in canonical form."""
    fields = read_object(payload, _LIMITS)
    if odd := fields.keys() ^ set(_FIELDS):
        raise JsonError("this field is missing or unknown", f"$.{min(odd)}")
    texts = {name: _text(fields, name) for name in _FIELDS}
    if not _HASH.fullmatch(texts["head"]) or not TIME.fullmatch(texts["time"]):
        raise JsonError("the head or the time of the change is not valid")
    change = _checked(texts.pop("change"), **texts)
    if change.payload() != payload:
        raise JsonError("the change is not in canonical form")
    return change


def read_change(entry: Entry) -> tuple[PublisherChange, Json]:
    """The change in an entry and its envelope. Nothing is verified. Raises JsonError."""
    body = entry.body
    if body.keys() != {"authority", "key", "envelope"}:
        raise JsonError("a change to a publisher needs an authority, a key and an envelope")
    plain = _checked(entry.kind, _text(body, "authority"), _text(body, "key"))
    envelope = body["envelope"]
    match envelope:
        case {"payload": str() as payload}:
            try:
                signed = read_signed_change(from_base64(payload))
            except ValueError:
                raise JsonError("damaged base64", "$.body.envelope.payload") from None
        case _:
            raise JsonError("not a signed envelope", "$.body.envelope")
    if (signed.change, signed.authority, signed.key) != (plain.change, plain.authority, plain.key):
        raise JsonError("the signed change differs from the fields around it")
    return signed, envelope


def _checked(change: str, authority: str, key: str, head: str = "", time: str = "") -> PublisherChange:
    if change not in PUBLISHER_CHANGES:
        raise JsonError("not a change to a publisher", "$.change")
    if not is_authority(authority):
        raise JsonError("not a publisher such as github://owner", "$.authority")
    if not _is_key(key):
        raise JsonError("not a public key of 32 bytes in base64", "$.key")
    return PublisherChange(EntryKind(change), authority, key, head, time)


def _is_key(text: str) -> bool:
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return len(raw) == 32 and key_text(raw) == text


def _text(fields: JsonObject, name: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise JsonError(f"expected a string, found {kind(value)}", f"$.{name}")
    return value
