"""Extensions of a request's deadline: five more minutes at a time, each signed by an approver.

An extension names the deadline that it replaces, so it can be used only once: after it, the deadline is another one.
The body of the ledger entry has one field:

    envelope    DSSE object with the signed extension

It extends nothing but the time to answer. What is approved is signed by the decision alone.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.jsontext import JsonError, JsonLimits, canonical, kind, read_object
from aileron_tui.core.times import TIME, moment, timestamp
from aileron_tui.core.values import dataclass

EXTENSION: Final = timedelta(minutes=5)
"""How much time one extension adds."""

PAYLOAD_TYPE: Final = "application/vnd.aileron.extension.v1+json"
"""The type under which an extension is signed. It has the format version, and another type is refused."""

_LIMITS: Final = JsonLimits(size=4096, depth=2, count=20)
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_TIMES: Final = frozenset({"before", "expires", "time"})


@dataclass(frozen=True, slots=True)
class Extension:
    """An extension as an approver signs it: the deadline `before` becomes `expires`.

    `instance` is the run of the gate, `head` the ledger's head, and `time` the time when it was signed.
    """

    request: str
    instance: str
    before: str
    expires: str
    surface: str
    time: str
    head: str

    @property
    def payload_type(self) -> str:
        """The type under which the payload is signed."""
        return PAYLOAD_TYPE

    def payload(self) -> bytes:
        """The canonical JSON that is signed."""
        return canonical({name: getattr(self, name) for name in _FIELDS})


_FIELDS: Final = tuple(Extension.__dataclass_fields__)


def next_deadline(expires: datetime, latest: datetime) -> datetime:
    """The deadline after one more extension; not after `latest`."""
    return min(expires + EXTENSION, latest)


def objection(extension: Extension, request: str, expires: datetime, latest: datetime | None) -> str:
    """Why an extension does not fit a request with this deadline, in words, or "" if it does."""
    if extension.request != request:
        return f"it was signed for request {extension.request}"
    if latest is None:
        return "this request cannot be extended"
    if expires >= latest:
        return f"the request already waits as long as it may, until {timestamp(latest)}"
    if extension.before != timestamp(expires):
        return f"it replaces the deadline {extension.before}, but the deadline is {timestamp(expires)}"
    if extension.expires != timestamp(next_deadline(expires, latest)):
        return f"the next deadline is {timestamp(next_deadline(expires, latest))}, not {extension.expires}"
    return ""


def extended_words(names: Sequence[str]) -> str:
    """How often a deadline was extended and by whom, from the name of each approver, or "" if it was not."""
    if not names:
        return ""
    often = {1: "once", 2: "twice"}.get(len(names), f"{len(names)} times")
    *others, last = dict.fromkeys(names)
    return f"{often}, by {', '.join(others)} and {last}" if others else f"{often}, by {last}"


def read_extension(payload: bytes) -> Extension:
    """Parses the payload of an envelope. Raises JsonError if it is not valid or not in canonical form."""
    fields = read_object(payload, _LIMITS)
    if odd := fields.keys() ^ set(_FIELDS):
        raise JsonError("this field is missing or unknown", f"$.{min(odd)}")
    texts: dict[str, str] = {}
    for name in _FIELDS:
        value = fields[name]
        if not isinstance(value, str):
            raise JsonError(f"expected a string, found {kind(value)}", f"$.{name}")
        if name in _TIMES and not _is_time(value):
            raise JsonError("expected a UTC time such as 2026-05-12T10:15:30.000000Z", f"$.{name}")
        texts[name] = value
    if not _HASH.fullmatch(texts["head"]):
        raise JsonError("expected a hash such as sha256:… with 64 hex digits", "$.head")
    extension = Extension(**texts)
    if extension.payload() != payload:
        raise JsonError("the extension is not in canonical form")
    return extension


def recorded_extension(entry: Entry) -> tuple[Extension, str]:
    """The extension in a ledger entry, and the key that its envelope names. Nothing is verified. Raises JsonError."""
    match entry.body:
        case {
            "envelope": {
                "payload": str() as payload,
                "payloadType": str() as type_,
                "signatures": [{"keyid": str() as signer}],
            }
        } if type_ == PAYLOAD_TYPE:
            try:
                return read_extension(from_base64(payload)), signer
            except ValueError:
                raise JsonError("damaged base64", "$.body.envelope.payload") from None
    raise JsonError("not a signed extension", "$.body.envelope")


def _is_time(text: str) -> bool:
    try:
        return bool(TIME.fullmatch(text)) and bool(moment(text))
    except ValueError:
        return False
