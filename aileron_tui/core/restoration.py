"""Restoring a ledger from a backup, as an approver signs it. It is the first entry after those of the backup.

replaced    the head of the ledger that was replaced, as `history head` prints it; "" if there was none
envelope    DSSE object: the same, signed by an approver over the last entry of the backup
"""

import re
from typing import Final

from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, canonical, read_object
from aileron_tui.core.times import TIME
from aileron_tui.core.values import dataclass

PAYLOAD_TYPE: Final = "application/vnd.aileron.restoration.v1+json"
"""The type under which it is signed. It has the format version, and another type is refused."""

_LIMITS: Final = JsonLimits(size=4096, depth=2, count=10)
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_REPLACED: Final = re.compile(r"(?:[0-9]{1,18}:sha256:[0-9a-f]{64})?", re.ASCII)
_SHAPES: Final = {"head": _HASH, "replaced": _REPLACED, "time": TIME}


@dataclass(frozen=True, slots=True)
class Restoration:
    """A restoration. `head` is the hash of the last entry of the backup."""

    head: str
    replaced: str
    time: str

    @property
    def payload_type(self) -> str:
        """The type under which the payload is signed."""
        return PAYLOAD_TYPE

    def payload(self) -> bytes:
        """The canonical JSON that is signed."""
        return canonical({name: getattr(self, name) for name in _SHAPES})

    def body(self, envelope: JsonObject) -> JsonObject:
        """The body of the ledger entry."""
        return {"replaced": self.replaced, "envelope": envelope}


def read_restoration(entry: Entry) -> tuple[Restoration, Json]:
    """The restoration in an entry and its envelope. Nothing is verified. Raises JsonError."""
    match entry.body:
        case {"replaced": str() as replaced, "envelope": {"payload": str() as payload} as envelope, **rest} if not rest:
            signed = _read_signed(payload)
        case _:
            raise JsonError("a restoration needs a signed envelope", "$.body.envelope")
    if signed.replaced != replaced:
        raise JsonError("what was signed differs from the fields around it")
    return signed, envelope


def _read_signed(text: str) -> Restoration:
    try:
        payload = from_base64(text)
    except ValueError:
        raise JsonError("damaged base64", "$.body.envelope.payload") from None
    fields = read_object(payload, _LIMITS)
    if odd := fields.keys() ^ set(_SHAPES):
        raise JsonError("this field is missing or unknown", f"$.{min(odd)}")
    texts: dict[str, str] = {}
    for name, shape in _SHAPES.items():
        value = fields[name]
        if not isinstance(value, str) or not shape.fullmatch(value):
            raise JsonError("not valid", f"$.{name}")
        texts[name] = value
    restoration = Restoration(**texts)
    if restoration.payload() != payload:
        raise JsonError("the restoration is not in canonical form")
    return restoration
