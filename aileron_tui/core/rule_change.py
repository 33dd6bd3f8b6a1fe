"""Changes to the rules of a gate: making one, or ending one before its time.

The body of the ledger entry has these fields:

    rule         for `rule.made`, the rule (`core/rule.py`)
    id           for `rule.ended`, the id of the rule
    envelope     DSSE object: the same change, signed by an approver over a recent head of the ledger
    deadline     for `rule.made`, the end of the rule by a clock that nobody can set; not signed, it can only be earlier

The head binds the signature to one ledger. A rule's id is used once, so a signed change cannot be used again, and one
that was signed too long ago is refused.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Final

from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, canonical, kind, read_object
from aileron_tui.core.rule import Rule, RuleVerdict, is_rule_id
from aileron_tui.core.rule_reader import read_rule
from aileron_tui.core.times import TIME, moment
from aileron_tui.core.values import dataclass

RULE_CHANGES: Final = frozenset({EntryKind.RULE_MADE, EntryKind.RULE_ENDED})
PAYLOAD_TYPE: Final = "application/vnd.aileron.rule.v1+json"
"""The type under which a change is signed. It has the format version, and another type is refused."""

LARGEST: Final = 64 * 1024
"""How many bytes a signed change may have."""

LONGEST: Final = {
    RuleVerdict.DENY: timedelta(days=366),
    RuleVerdict.ASK: timedelta(days=366),
    RuleVerdict.ALLOW: timedelta(days=30),
}
"""How long a rule may be in force."""

SIGNED_BEFORE: Final = timedelta(minutes=5)
"""How long before its entry a change may have been signed."""

HEAD_WINDOW: Final = 2**15
"""How many entries old the head in a signed change may be."""

_SKEW: Final = timedelta(minutes=1)
_LIMITS: Final = JsonLimits(size=LARGEST, depth=40, count=10_000)
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_FIELDS: Final = ("change", "id", "rule", "head", "time")
_MOST_COMPARED: Final = 256


@dataclass(frozen=True, slots=True)
class RuleChange:
    """One change to the rules, as an approver signs it. `rule` is None if the rule is ended."""

    change: EntryKind
    id: str
    rule: Rule | None
    head: str
    time: str

    @property
    def payload_type(self) -> str:
        """The type under which the payload is signed."""
        return PAYLOAD_TYPE

    def payload(self) -> bytes:
        """The canonical JSON that is signed."""
        rule = self.rule.fields() if self.rule else None
        fields: JsonObject = {"change": self.change, "id": self.id, "rule": rule, "head": self.head, "time": self.time}
        return canonical(fields)

    def body(self, envelope: JsonObject) -> JsonObject:
        """The body of the ledger entry."""
        about: JsonObject = {"rule": self.rule.fields()} if self.rule else {"id": self.id}
        return about | {"envelope": envelope}


_compared: Final[dict[int, tuple[Entry, RuleChange]]] = {}
"""Entries, which never change, whose fields are those that were signed. A ledger reads a rule for each of its calls."""


def made(rule: Rule, head: str, time: str) -> RuleChange:
    """The change that makes a rule."""
    return RuleChange(EntryKind.RULE_MADE, rule.id, rule, head, time)


def ended(id_: str, head: str, time: str) -> RuleChange:
    """The change that ends a rule."""
    return RuleChange(EntryKind.RULE_ENDED, id_, None, head, time)


@lru_cache(maxsize=256)
def read_signed_change(payload: bytes) -> RuleChange:
    """Parses the payload of an envelope. Raises JsonError if it is not valid or not in canonical form.

    The last ones are kept, because the ledger reads a rule again for each call that it answers.
    """
    fields = read_object(payload, _LIMITS)
    if odd := fields.keys() ^ set(_FIELDS):
        raise JsonError("this field is missing or unknown", f"$.{min(odd)}")
    texts = {name: _text(fields[name], name) for name in ("change", "id", "head", "time")}
    if texts["change"] not in RULE_CHANGES:
        raise JsonError("not a change to a rule", "$.change")
    if not is_rule_id(texts["id"]):
        raise JsonError("not the id of a rule", "$.id")
    if not _HASH.fullmatch(texts["head"]) or not TIME.fullmatch(texts["time"]):
        raise JsonError("the head or the time of the change is not valid")
    made_ = texts["change"] == EntryKind.RULE_MADE
    if not made_ and fields["rule"] is not None:
        raise JsonError("a change that ends a rule has only its id", "$.rule")
    rule = read_rule(fields["rule"], "$.rule") if made_ else None
    if rule and rule.id != texts["id"]:
        raise JsonError("the rule has another id", "$.id")
    change = RuleChange(EntryKind(texts["change"]), texts["id"], rule, texts["head"], texts["time"])
    if why := length_problem(change):
        raise JsonError(why, "$.rule.ends")
    if change.payload() != payload:
        raise JsonError("the change is not in canonical form")
    return change


def length_problem(change: RuleChange) -> str:
    """Why a new rule ends too early or too late, in words, or "" if it does not."""
    if change.rule is None:
        return ""
    try:
        length = moment(change.rule.ends) - moment(change.time)
    except (ValueError, OverflowError):
        return "the end of the rule is not a valid time"
    if length <= timedelta(0):
        return "the rule must end after it is made"
    most = LONGEST[change.rule.verdict]
    return f"a rule that says {change.rule.verdict} can last at most {most.days} days" if length > most else ""


def read_change(entry: Entry) -> tuple[RuleChange, Json]:
    """The change in an entry and its envelope. Nothing is verified. Raises JsonError."""
    body = entry.body
    envelope = body.get("envelope")
    known = _compared.get(id(entry))
    if known and known[0] is entry:
        return known[1], envelope
    match envelope:
        case {"payload": str() as payload}:
            try:
                change = read_signed_change(from_base64(payload))
            except ValueError:
                raise JsonError("damaged base64", "$.body.envelope.payload") from None
        case _:
            raise JsonError("a change to a rule needs its signed envelope", "$.body.envelope")
    plain = {name: item for name, item in body.items() if name not in ("envelope", "deadline")}
    expected: JsonObject = {"rule": change.rule.fields()} if change.rule else {"id": change.id}
    if entry.kind != change.change or canonical(plain) != canonical(expected):
        raise JsonError("the signed change differs from the fields around it")
    if len(_compared) >= _MOST_COMPARED:
        _compared.clear()
    _compared[id(entry)] = entry, change
    return change, envelope


def signer_of(entry: Entry) -> str:
    """The key that the envelope of an entry names, or "". The signature is not verified."""
    match entry.body.get("envelope"):
        case {"signatures": [{"keyid": str() as signer}]}:
            return signer
    return ""


def objection(latest: Mapping[str, EntryKind], change: RuleChange, time: str) -> str:
    """Why a change cannot follow the latest change of each rule at this time, in words, or "" if it can."""
    before = latest.get(change.id)
    if change.change is EntryKind.RULE_MADE and before:
        return f"{change.id} was already made"
    if change.change is EntryKind.RULE_ENDED and before is not EntryKind.RULE_MADE:
        return f"{change.id} was already ended" if before else f"there is no rule {change.id}"
    try:
        age = moment(time) - moment(change.time)
    except (ValueError, OverflowError):
        return "the time of the change is not valid"
    if age > SIGNED_BEFORE:
        return f"it was signed at {change.time}, too long ago"
    return f"it was signed at {change.time}, in the future" if age < -_SKEW else ""


def _text(value: Json, name: str) -> str:
    if not isinstance(value, str):
        raise JsonError(f"expected a string, found {kind(value)}", f"$.{name}")
    return value
