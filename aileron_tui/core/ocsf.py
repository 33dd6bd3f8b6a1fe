"""Entries of the ledger as events of OCSF 1.9, the Open Cybersecurity Schema Framework, with record integrity.

    API Activity (6003)             everything about a request or a call: asked, decided, run, ended
    Application Lifecycle (6002)    the gate started or stopped
    Entity Management (3004)        any other change: keys, agents, rules, packages, accounts, publishers, configuration

Every event has one attestation of the profile `record_integrity`: its fingerprint is the SHA-256 of the event in
canonical JSON (RFC 8785) without the fingerprint itself, and it names the fingerprint of the event before it. So the
events form a chain of their own. `unmapped` has the number and the hash of the entry, which are part of the event, so
the chain of the ledger can be compared with it. Envelopes are left out: the ledger and its own export have them.
"""

import hashlib
from typing import Final

from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.decision import Verdict, read_statement
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical
from aileron_tui.core.times import moment

VERSION: Final = "1.9.0"
PROFILE: Final = "record_integrity"

_PRODUCT: Final = "aileron-tui"
_API: Final = 6003
_LIFECYCLE: Final = 6002
_ENTITY: Final = 3004
_NAMES: Final = {_API: "API Activity", _LIFECYCLE: "Application Lifecycle", _ENTITY: "Entity Management"}
_CATEGORIES: Final = {3: "Identity & Access Management", 6: "Application Activity"}
_OTHER: Final = 99
_CREATE: Final = 1
_UPDATE: Final = 3
_DELETE: Final = 4
_CHANGES: Final = {
    "enrolled": _CREATE,
    "added": _CREATE,
    "made": _CREATE,
    "trusted": _CREATE,
    "rotated": _UPDATE,
    "changed": _UPDATE,
    "restored": _UPDATE,
    "revoked": _DELETE,
    "removed": _DELETE,
    "ended": _DELETE,
}
_ACTIVITY_NAMES: Final = {_CREATE: "Create", _UPDATE: "Update", _DELETE: "Delete"}
_SEVERITIES: Final = {"low": (2, "Low"), "normal": (3, "Medium"), "high": (4, "High")}
_INFORMATIONAL: Final = (1, "Informational")
_SUCCESS: Final = (1, "Success")
_FAILURE: Final = (2, "Failure")
_UNKNOWN: Final = (0, "Unknown")
_STATUSES: Final = {
    EntryKind.EXECUTED: _SUCCESS,
    EntryKind.FAILED: _FAILURE,
    EntryKind.DENIED_UNSIGNED: _FAILURE,
    EntryKind.REFUSED: _FAILURE,
    EntryKind.EXPIRED: _FAILURE,
    EntryKind.WITHDRAWN: _FAILURE,
    EntryKind.LIMITED: _FAILURE,
    EntryKind.INTERRUPTED: _UNKNOWN,
    EntryKind.UNKNOWN: _UNKNOWN,
}


class OcsfChain:
    """Makes the events of one ledger, in order. `ledger` is the hash of its first entry; `version` is the program's."""

    def __init__(self, ledger: str, version: str) -> None:
        self._ledger = ledger
        self._version = version
        self._previous: JsonObject | None = None

    def event(self, entry: Entry, hash_: str, record: HistoryRecord | None) -> JsonObject:
        """The event of the next entry, given its hash and the request that it belongs to, if there is one."""
        class_ = _class(entry)
        activity, activity_name = _activity(entry, class_)
        severity, severity_name = _severity(entry, record)
        status, status_name = _status(entry)
        uid, type_ = f"{self._ledger}:{entry.seq}", class_ * 100 + activity
        event: JsonObject = {
            "activity_id": activity,
            "activity_name": activity_name,
            "category_uid": class_ // 1000,
            "category_name": _CATEGORIES[class_ // 1000],
            "class_uid": class_,
            "class_name": _NAMES[class_],
            "type_uid": type_,
            "type_name": f"{_NAMES[class_]}: {activity_name if activity != _OTHER else 'Other'}",
            "time": _milliseconds(entry.time),
            "severity_id": severity,
            "severity": severity_name,
            "status_id": status,
            "status": status_name,
            "metadata": self._metadata(entry, uid),
            "actor": _actor(entry, record),
            **_details(entry, class_, record, self._version),
            "unmapped": {"entry": entry.seq, "hash": hash_, **({"reduced": True} if entry.removed else {})},
        }
        if detail := _text(entry.body, "error") or _text(entry.body, "reason"):
            event["status_detail"] = detail
        return self._attested(event, uid, type_)

    def _metadata(self, entry: Entry, uid: str) -> JsonObject:
        metadata: JsonObject = {
            "version": VERSION,
            "product": {"name": _PRODUCT, "vendor_name": _PRODUCT, "version": self._version},
            "profiles": [PROFILE],
            "uid": uid,
            "event_code": entry.kind,
            "log_name": "ledger",
            "original_time": entry.time,
            "sequence": entry.seq,
        }
        return metadata | {"correlation_uid": entry.request} if entry.request else metadata

    def _attested(self, event: JsonObject, uid: str, type_: int) -> JsonObject:
        """The event with its attestation, which continues the chain."""
        attestation: JsonObject = {"chain_uid": self._ledger}
        if self._previous:
            attestation["prev_event"] = self._previous
        event["attestation_list"] = [attestation]
        fingerprint: JsonObject = {
            "algorithm_id": 3,
            "algorithm": "SHA-256",
            "value": hashlib.sha256(canonical(event)).hexdigest(),
        }
        self._previous = {"uid": uid, "type_uid": type_, "fingerprint": fingerprint}
        return event | {"attestation_list": [attestation | {"fingerprint": fingerprint}]}


def _class(entry: Entry) -> int:
    if entry.request or entry.kind in {EntryKind.LIMITED, EntryKind.UNASKED}:
        return _API
    return _LIFECYCLE if entry.kind in {EntryKind.STARTED, EntryKind.STOPPED} else _ENTITY


def _activity(entry: Entry, class_: int) -> tuple[int, str]:
    """The activity. What an op does to its service is not known in these terms, so calls are `Other`."""
    if class_ == _LIFECYCLE:
        return (3, "Start") if entry.kind == EntryKind.STARTED else (4, "Stop")
    number = _CHANGES.get(entry.kind.rpartition(".")[2], _OTHER) if class_ == _ENTITY else _OTHER
    return number, _ACTIVITY_NAMES.get(number, entry.kind)


def _severity(entry: Entry, record: HistoryRecord | None) -> tuple[int, str]:
    """The risk of a request, for what was asked, decided and run."""
    return _SEVERITIES.get(record.risk, _INFORMATIONAL) if record and entry.request else _INFORMATIONAL


def _status(entry: Entry) -> tuple[int, str]:
    if entry.kind == EntryKind.DECIDED:
        if entry.removed:
            return _UNKNOWN
        return _FAILURE if _verdict(entry) is Verdict.DENY else _SUCCESS
    if entry.kind == EntryKind.RULED:
        return _FAILURE if entry.body.get("verdict") == "deny" else _SUCCESS
    return next((status for kind, status in _STATUSES.items() if kind == entry.kind), _SUCCESS)


def _verdict(entry: Entry) -> Verdict | None:
    match entry.body.get("envelope"):
        case {"payload": str() as payload}:
            try:
                return read_statement(from_base64(payload)).verdict
            except (JsonError, ValueError):
                return None
    return None


def _actor(entry: Entry, record: HistoryRecord | None) -> JsonObject:
    """Who did it: the key that signed, else the agent, else the gate itself."""
    match entry.body.get("envelope"):
        case {"signatures": [{"keyid": str() as signer}]}:
            return {"user": {"uid": signer, "type_id": 1, "type": "User"}}
    if entry.kind == EntryKind.DENIED_UNSIGNED:
        surface = _text(entry.body, "surface") or "unknown"
        return {"user": {"name": f"surface {surface}", "type_id": 0, "type": "Unknown"}}
    if entry.kind in {EntryKind.REQUESTED, EntryKind.WITHDRAWN, EntryKind.LIMITED, EntryKind.UNASKED}:
        return {"user": {"name": _agent(entry, record), "type_id": _OTHER, "type": "AI agent"}}
    return {"user": {"name": _PRODUCT, "type_id": 3, "type": "System"}}


def _details(entry: Entry, class_: int, record: HistoryRecord | None, version: str) -> JsonObject:
    if class_ == _LIFECYCLE:
        return {"app": {"name": _PRODUCT, "vendor_name": _PRODUCT, "version": version}}
    if class_ == _ENTITY:
        return {"entity": _entity(entry)}
    request: JsonObject = {"uid": entry.request or "none"}
    if entry.kind == EntryKind.REQUESTED and isinstance(entry.body.get("args"), dict):
        request["data"] = entry.body["args"]
    operation = (record.action if record else "") or _text(entry.body, "action") or "unknown"
    service = (record.connector if record else "") or _text(entry.body, "connector")
    api: JsonObject = {"operation": operation, "request": request}
    if service:
        api["service"] = {"name": service}
    return {"api": api, "src_endpoint": {"name": _agent(entry, record)}}


def _entity(entry: Entry) -> JsonObject:
    """The thing that was changed: its type, and its name or id."""
    body, type_ = entry.body, entry.kind.partition(".")[0]
    match body:
        case {"rule": {"id": str() as name}} | {"binding": {"connector": str() as name}}:
            pass
        case _:
            texts = (_text(body, each) for each in ("name", "authority", "id", "connector", "change"))
            name = next(filter(None, texts), type_)
    entity: JsonObject = {"type": type_, "name": name}
    if uid := _text(body, "fingerprint"):
        entity["uid"] = uid
    return entity


def _agent(entry: Entry, record: HistoryRecord | None) -> str:
    return (record.asked_by if record else "") or _text(entry.body, "agent") or "unknown"


def _milliseconds(time: str) -> int:
    try:
        return int(moment(time).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def _text(body: JsonObject, name: str) -> str:
    value: Json = body.get(name)
    return value if isinstance(value, str) else ""
