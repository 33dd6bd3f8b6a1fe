"""Changes to the keys that may approve, as an approver signs them.

The body of the ledger entry has these fields:

    name, key, fingerprint    of an enrolment: the key's name, its public part as a line without the name, its hash
    insecure                  true if the key is stored without a passphrase; otherwise absent
    backup_eligible           of a security key: whether it may be copied to other devices of its owner
    added_on                  of a security key: "page" or "usb"
    signed_changes            of the first enrolment: true, so that all changes after it must be signed
    temporary                 true if the key only exists while one program runs; otherwise absent
    name, fingerprint         of a revocation
    envelope                  DSSE object: the same change, signed by an approver over the head of the ledger

A change needs an envelope as soon as there is somebody who can sign it: a key of a person's own machine that may
approve and is not temporary. A security key or passkey can never be enrolled without one. Ledgers from before changes
were signed have no `signed_changes`; there, the first change that is signed begins this. The envelope is signed by a
key of a person's own machine, never by a security key: a security key shows nobody what it signs.
"""

import re
from collections.abc import Iterable
from typing import Final

from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonError, JsonLimits, JsonObject, canonical, kind, read_object
from aileron_tui.core.times import TIME
from aileron_tui.core.values import dataclass

KEY_CHANGES: Final = frozenset({EntryKind.KEY_ENROLLED, EntryKind.KEY_REVOKED})
PAYLOAD_TYPE: Final = "application/vnd.aileron.key-change.v1+json"
"""The type under which a change is signed. It has the format version, and another type is refused."""

SECURITY_KEY_LINE: Final = "webauthn "
"""How the line of a security key or passkey begins."""
SECURITY_KEY_FINGERPRINT: Final = "WEBAUTHN:"
"""How the fingerprint of a security key or passkey begins."""
ADDED_ON: Final = frozenset({"page", "usb"})

_LIMITS: Final = JsonLimits(size=8192, depth=2, count=30)
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_NONCE: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


def is_security_key(fingerprint: str) -> bool:
    """Whether a fingerprint is that of a security key or passkey."""
    return fingerprint.startswith(SECURITY_KEY_FINGERPRINT)


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One change to a key, as an approver signs it.

    `key` is the line of the public part without its name; of a revocation it is empty. `ledger` is the hash of the
    first entry of the ledger, `head` the hash of the entry just before the change, `nonce` 32 random hex digits.
    `added_on` is empty unless it is a security key.
    """

    change: EntryKind
    name: str
    key: str
    fingerprint: str
    ledger: str
    head: str
    time: str
    nonce: str
    backup_eligible: bool = False
    added_on: str = ""
    insecure: bool = False

    @property
    def payload_type(self) -> str:
        """The type under which the payload is signed."""
        return PAYLOAD_TYPE

    def payload(self) -> bytes:
        """The canonical JSON that is signed."""
        return canonical({name: getattr(self, name) for name in _FIELDS})

    @property
    def is_security_key(self) -> bool:
        """Whether the key is a security key or passkey."""
        return is_security_key(self.fingerprint)

    def body(self, envelope: JsonObject) -> JsonObject:
        """The body of the ledger entry."""
        return self.plain_body() | {"envelope": envelope}

    def plain_body(self) -> JsonObject:
        """The body without its envelope."""
        body: JsonObject = {"name": self.name, "fingerprint": self.fingerprint}
        if self.change is EntryKind.KEY_REVOKED:
            return body
        body["key"] = self.key
        if self.is_security_key:
            body |= {"backup_eligible": self.backup_eligible, "added_on": self.added_on}
        return body | {"insecure": True} if self.insecure else body


_FIELDS: Final = tuple(KeyChange.__dataclass_fields__)
_FLAGS: Final = frozenset({"backup_eligible", "insecure"})


def read_key_change(payload: bytes) -> KeyChange:
    """Parses the payload of an envelope. Raises JsonError if it is not valid or not in canonical form."""
    fields = read_object(payload, _LIMITS)
    if odd := fields.keys() ^ set(_FIELDS):
        raise JsonError("this field is missing or unknown", f"$.{min(odd)}")
    texts: dict[str, str] = {}
    flags: dict[str, bool] = {}
    for name in _FIELDS:
        value = fields[name]
        if name in _FLAGS and isinstance(value, bool):
            flags[name] = value
        elif name not in _FLAGS and isinstance(value, str):
            texts[name] = value
        else:
            raise JsonError(f"expected a {'boolean' if name in _FLAGS else 'string'}, found {kind(value)}", f"$.{name}")
    if not _HASH.fullmatch(texts["head"]) or not _HASH.fullmatch(texts["ledger"]):
        raise JsonError("the ledger or the head of the change is not valid")
    if not TIME.fullmatch(texts["time"]) or not _NONCE.fullmatch(texts["nonce"]):
        raise JsonError("the time or the nonce of the change is not valid")
    what = texts.pop("change")
    if what not in KEY_CHANGES:
        raise JsonError("not a change to a key", "$.change")
    change = KeyChange(
        EntryKind(what),
        name=texts["name"],
        key=texts["key"],
        fingerprint=texts["fingerprint"],
        ledger=texts["ledger"],
        head=texts["head"],
        time=texts["time"],
        nonce=texts["nonce"],
        backup_eligible=flags["backup_eligible"],
        added_on=texts["added_on"],
        insecure=flags["insecure"],
    )
    added = change.is_security_key and change.change is EntryKind.KEY_ENROLLED
    if (change.added_on in ADDED_ON) != added or bool(change.added_on) != added:
        raise JsonError('expected "page" or "usb" for a security key, and nothing for another key', "$.added_on")
    if change.payload() != payload:
        raise JsonError("the change is not in canonical form")
    return change


def begins_signed_changes(body: JsonObject) -> bool:
    """Whether this change of a key of a person's own machine means that later ones must be signed."""
    security_key = is_security_key(str(body.get("fingerprint", "")))
    return body.get("signed_changes") is True or ("envelope" in body and not security_key)


def needs_signature(changes: Iterable[Entry]) -> bool:
    """Whether the next change after these must be signed."""
    begun, able = False, set[str]()
    for entry in changes:
        fingerprint = str(entry.body.get("fingerprint", ""))
        begun = begun or begins_signed_changes(entry.body)
        if entry.kind == EntryKind.KEY_REVOKED:
            able.discard(fingerprint)
        elif not is_security_key(fingerprint) and entry.body.get("temporary") is not True:
            able.add(fingerprint)
    return begun and bool(able)


def recorded_key_change(entry: Entry) -> tuple[KeyChange, str, bytes] | None:
    """The signed change in an entry, the key that its envelope names, and its signature.

    None if the entry has no envelope and needs none. The signature is not verified. Raises JsonError if the envelope is
    missing or does not fit the entry.
    """
    body = entry.body
    line, fingerprint = str(body.get("key", "")), str(body.get("fingerprint", ""))
    if "envelope" not in body:
        is_one = line.split()[:1] == [SECURITY_KEY_LINE.strip()] or is_security_key(fingerprint)
        if is_one and entry.kind == EntryKind.KEY_ENROLLED:
            raise JsonError("a security key can only be enrolled with the signature of an approver", "$.body.envelope")
        return None
    envelope = body["envelope"]
    match envelope:
        case {
            "payload": str() as payload,
            "payloadType": str() as type_,
            "signatures": [{"keyid": str() as signer, "sig": str() as signature, **rest}],
        } if isinstance(envelope, dict) and type_ == PAYLOAD_TYPE and not rest:
            plain = {name: value for name, value in body.items() if name != "envelope"}
        case _:
            raise JsonError("not a signed change to a key", "$.body.envelope")
    try:
        change, raw = read_key_change(from_base64(payload)), from_base64(signature)
    except ValueError:
        raise JsonError("damaged base64", "$.body.envelope") from None
    if change.change != entry.kind or change.plain_body() != plain:
        raise JsonError("the signed change differs from the fields around it")
    if is_security_key(signer):
        raise JsonError("a change to a key cannot be signed by a security key", "$.body.envelope")
    if line.startswith(SECURITY_KEY_LINE) != is_security_key(fingerprint) and line:
        raise JsonError("the fingerprint is not that of the key", "$.body.fingerprint")
    return change, signer, raw
