"""What signed changes of packages and bindings have in common: a recent head, a recent time, and their envelope.

An entry repeats the fields that were signed, so that they can be read without the envelope; both must agree.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Final, Protocol, TypeVar

from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, kind
from aileron_tui.core.times import TIME, moment

HEAD_WINDOW: Final = 2**15
"""How many entries old the head in a signed change may be."""

SIGNED_BEFORE: Final = timedelta(minutes=5)
"""How long before its entry a change may have been signed."""

_SKEW: Final = timedelta(minutes=1)
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


class SignedChange(Protocol):
    """A change that an approver signs."""

    @property
    def change(self) -> EntryKind:
        """The kind of its entry."""

    def body(self, envelope: JsonObject) -> JsonObject:
        """The body of the ledger entry."""


_Change = TypeVar("_Change", bound=SignedChange)


def read_signed_entry(entry: Entry, read: Callable[[bytes], _Change]) -> tuple[_Change, Json]:
    """The change in an entry, as it was signed, and its envelope. Nothing is verified. Raises JsonError."""
    envelope = entry.body.get("envelope")
    match envelope:
        case {"payload": str() as payload}:
            try:
                change = read(from_base64(payload))
            except ValueError:
                raise JsonError("damaged base64", "$.body.envelope.payload") from None
        case _:
            raise JsonError("the change needs its signed envelope", "$.body.envelope")
    plain = {name: item for name, item in entry.body.items() if name != "envelope"}
    expected = {name: item for name, item in change.body({}).items() if name != "envelope"}
    if entry.kind != change.change or canonical(plain) != canonical(expected):
        raise JsonError("the signed change differs from the fields around it")
    return change, envelope


def check_place(head: str, time: str) -> None:
    """Refuses a head or a time that is not valid. Raises JsonError."""
    if not _HASH.fullmatch(head) or not TIME.fullmatch(time):
        raise JsonError("the head or the time of the change is not valid")


def time_objection(signed: str, recorded: str) -> str:
    """Why a change that was signed at one time cannot be recorded at another, in words, or "" if it can."""
    try:
        age = moment(recorded) - moment(signed)
    except (ValueError, OverflowError):
        return "the time of the change is not valid"
    if age > SIGNED_BEFORE:
        return f"it was signed at {signed}, too long ago"
    return f"it was signed at {signed}, in the future" if age < -_SKEW else ""


def object_of(value: Json, names: frozenset[str], path: str) -> JsonObject:
    """An object with exactly these fields. Raises JsonError."""
    if not isinstance(value, dict):
        raise JsonError(f"expected an object, found {kind(value)}", path)
    if odd := value.keys() ^ names:
        raise JsonError("this field is missing or unknown", f"{path}.{min(odd)}")
    return value


def text_of(value: Json, path: str) -> str:
    """A string. Raises JsonError."""
    if not isinstance(value, str):
        raise JsonError(f"expected a string, found {kind(value)}", path)
    return value
