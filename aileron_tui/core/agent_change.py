"""Changes to the agents of a gate: adding one, giving it a new token, or revoking it.

The body of the ledger entry has these fields. `token` is the SHA-256 of the token, never the token itself; it is empty
if the agent is revoked. Tokens are 256 random bits, so a plain hash does not help anyone to guess them.

    name, token    the agent, and its token from now on
    envelope       DSSE object: the same change, signed by an approver over the head of the ledger just before it

The head binds the signature to one place in one ledger, so it cannot be used again. Only the first agent of a ledger,
`default`, is added without a signature: the gate adds it when it starts, and nobody is there to sign.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from aileron_tui.core.agent_names import DEFAULT_AGENT, is_agent_name
from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, canonical, kind, read_object
from aileron_tui.core.times import TIME
from aileron_tui.core.values import dataclass

AGENT_CHANGES: Final = frozenset({EntryKind.AGENT_ADDED, EntryKind.AGENT_ROTATED, EntryKind.AGENT_REVOKED})
PAYLOAD_TYPE: Final = "application/vnd.aileron.agent.v1+json"
"""The type under which a change is signed. It has the format version, and another type is refused."""

_LIMITS: Final = JsonLimits(size=4096, depth=2, count=20)
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_FIELDS: Final = ("change", "name", "token", "head", "time")


@dataclass(frozen=True, slots=True)
class AgentChange:
    """One change to an agent, as an approver signs it. `head` and `time` are empty if the change is not signed."""

    change: EntryKind
    name: str
    token: str
    head: str = ""
    time: str = ""

    @property
    def payload_type(self) -> str:
        """The type under which the payload is signed."""
        return PAYLOAD_TYPE

    def payload(self) -> bytes:
        """The canonical JSON that is signed."""
        return canonical({name: getattr(self, name) for name in _FIELDS})

    def body(self, envelope: JsonObject | None = None) -> JsonObject:
        """The body of the ledger entry."""
        body: JsonObject = {"name": self.name, "token": self.token}
        return body | {"envelope": envelope} if envelope else body


def token_hash(token: str) -> str:
    """What the ledger keeps of a token."""
    return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def read_signed_change(payload: bytes) -> AgentChange:
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


def read_change(entry: Entry) -> tuple[AgentChange, Json]:
    """The change in an entry and its envelope, None if it is not signed. Nothing is verified. Raises JsonError."""
    body = entry.body
    if body.keys() - {"envelope"} != {"name", "token"}:
        raise JsonError("a change to an agent needs a name and a token")
    plain = _checked(entry.kind, _text(body, "name"), _text(body, "token"))
    envelope = body.get("envelope")
    if envelope is None:
        return plain, None
    match envelope:
        case {"payload": str() as payload}:
            try:
                signed = read_signed_change(from_base64(payload))
            except ValueError:
                raise JsonError("damaged base64", "$.body.envelope.payload") from None
        case _:
            raise JsonError("not a signed envelope", "$.body.envelope")
    if (signed.change, signed.name, signed.token) != (plain.change, plain.name, plain.token):
        raise JsonError("the signed change differs from the fields around it")
    return signed, envelope


def objection(latest: Mapping[str, EntryKind], change: AgentChange, *, signed: bool) -> str:
    """Why a change cannot follow the latest change of each agent, in words, or "" if it can."""
    before = latest.get(change.name)
    if not signed and (latest or change.change is not EntryKind.AGENT_ADDED or change.name != DEFAULT_AGENT):
        return f"only the first agent, {DEFAULT_AGENT}, can be added without a signature"
    if change.change is EntryKind.AGENT_ADDED:
        return f"an agent named {change.name} was already added" if before else ""
    if before is None:
        return f"there is no agent named {change.name}"
    return f"{change.name} was revoked" if before is EntryKind.AGENT_REVOKED else ""


def _checked(change: str, name: str, token: str, head: str = "", time: str = "") -> AgentChange:
    if change not in AGENT_CHANGES:
        raise JsonError("not a change to an agent", "$.change")
    if not is_agent_name(name):
        raise JsonError("not a valid agent name", "$.name")
    revoked = change == EntryKind.AGENT_REVOKED
    if not (token == "" if revoked else _HASH.fullmatch(token)):
        raise JsonError("not the hash of a token", "$.token")
    return AgentChange(EntryKind(change), name, token, head, time)


def _text(fields: JsonObject, name: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise JsonError(f"expected a string, found {kind(value)}", f"$.{name}")
    return value
