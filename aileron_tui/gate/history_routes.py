"""The past over HTTP: the history as approvers search it, and the same facts as events in Aileron's shape.

Everything here reads the ledger with a connection of its own and may take a while: call it from a thread.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Entry, EntryKind
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.gate.http_request import Refusal
from aileron_tui.ledger import history_pages
from aileron_tui.ledger.history_pages import SEARCH, Query, past, search
from aileron_tui.ledger.recorded_decision import decision_of
from aileron_tui.ledger.store import LedgerReader, open_reader

__all__ = ["AUDIT", "SEARCH", "AuditSearch", "audit", "audit_event", "past", "read_audit", "read_search", "search"]

AUDIT: Final = ("since", "audit_id", "connector_fqn", "class", "limit")

_MOST_EVENTS: Final = 1000
_EVENTS: Final = 100
_PLAIN: Final = re.compile(r"[a-z_]{4,64}", re.ASCII)
_AUDIT_ID: Final = re.compile(r"audit-(?:([0-9]{1,15})|([A-Za-z][A-Za-z0-9-]{1,100}))", re.ASCII)

_TYPES: Final = {
    EntryKind.REQUESTED: ("approval.requested", "agent"),
    EntryKind.RUNNING: ("execution.started", "connector_runtime"),
    EntryKind.EXECUTED: ("execution.succeeded", "connector_runtime"),
    EntryKind.FAILED: ("execution.failed", "connector_runtime"),
    EntryKind.INTERRUPTED: ("execution.failed", "connector_runtime"),
    EntryKind.EXPIRED: ("approval.expired", "service"),
    EntryKind.WITHDRAWN: ("approval.withdrawn", "agent"),
}
_CLASSES: Final = {
    EntryKind.EXPIRED: "approval_timeout",
    EntryKind.WITHDRAWN: "withdrawn",
    EntryKind.INTERRUPTED: "outcome_unknown",
}
_ENDS: Final = frozenset({EntryKind.EXECUTED, EntryKind.FAILED, EntryKind.INTERRUPTED})


@dataclass(frozen=True, slots=True)
class AuditSearch:
    """Which events are wanted; empty fields do not restrict."""

    since: str = ""
    audit_id: str = ""
    connector: str = ""
    class_: str = ""
    limit: int = _EVENTS


def read_search(query: Query) -> history_pages.HistoryPageQuery:
    """The page of the history that a query string asks for."""
    with _refusing():
        return history_pages.read_search(query)


def read_audit(query: Query) -> AuditSearch:
    """The events that a query string asks for."""
    with _refusing():
        limit = history_pages.number(query, "limit", _EVENTS, _MOST_EVENTS)
        audit_id, connector, class_ = (
            history_pages.one(query, name) for name in ("audit_id", "connector_fqn", "class")
        )
        return AuditSearch(history_pages.time(query, "since"), audit_id, connector, class_, limit)


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except history_pages.BadHistoryQuery as error:
        raise Refusal(400, "invalid_query", error.title) from None


def audit(ledger: Path, wanted: AuditSearch) -> JsonObject:
    """Events, newest first."""
    if wanted.audit_id:
        event = audit_event(ledger, wanted.audit_id)
        return {
            "events": [event] if event and _wanted(event, wanted) and str(event["timestamp"]) >= wanted.since else []
        }
    events: list[Json] = []
    with open_reader(ledger) as reader:
        for entry in reader.newest_entries(wanted.connector, _stored_text(wanted.class_)):
            if entry.time < wanted.since:
                break
            event = _event(reader, entry)
            if event is not None and _wanted(event, wanted):
                events.append(event)
                if len(events) == wanted.limit:
                    break
    return {"events": events}


def _stored_text(class_: str) -> str:
    """What the bytes of an entry that fails with this class must contain, or "" if that is not known."""
    if not _PLAIN.fullmatch(class_):
        return ""
    return next((kind for kind, name in _CLASSES.items() if name == class_), class_)


def audit_event(ledger: Path, audit_id: str) -> JsonObject | None:
    """The event with this id."""
    found = _AUDIT_ID.fullmatch(audit_id)
    if found is None:
        return None
    with open_reader(ledger) as reader:
        if found[2]:
            entries = [entry for entry in reader.of_request(found[2]) if entry.kind in _ENDS]
        else:
            entry = reader.entry(int(found[1]))
            entries = [entry] if entry else []
        event = _event(reader, entries[-1]) if entries else None
    return event if event and event["audit_id"] == audit_id else None


def _event(reader: LedgerReader, entry: Entry) -> JsonObject | None:
    """An entry as an event, or None where Aileron has no event for it."""
    if entry.kind == EntryKind.DECIDED:
        return _decided(reader, entry)
    if entry.kind not in _TYPES:
        return None
    kind = EntryKind(entry.kind)
    type_, actor = _TYPES[kind]
    payload = _about(reader, entry)
    if kind is EntryKind.FAILED or kind in _CLASSES:
        words = entry.body.get("error") or entry.body.get("reason") or ""
        class_, _, message = str(words).partition(": ")
        payload["aileron.failure.class"] = _CLASSES.get(kind, class_)
        payload["aileron.failure.message"] = str(words) if kind in _CLASSES else message
    return _shaped(entry, type_, {"type": actor, "id": "agent" if actor == "agent" else "aileron-tui"}, payload)


def _decided(reader: LedgerReader, entry: Entry) -> JsonObject | None:
    found = decision_of(entry)
    if found is None:
        return None
    statement, signer = found
    word = "approved" if statement.verdict is Verdict.APPROVE else "denied"
    record = reader.find(entry.request)
    payload = _about(reader, entry) | {
        "aileron.approval.decision": word,
        "aileron.approval.edited": statement.edits is not None,
        "aileron.approval.wait_ms": round((record.took or 0) * 1000) if record else 0,
        "aileron.approval.surface": statement.surface,
        "aileron.signing.key_id": signer,
    }
    if statement.reason:
        payload["aileron.approval.reason"] = statement.reason
    return _shaped(entry, f"approval.{word}", {"type": "human", "id": "user"}, payload)


def _about(reader: LedgerReader, entry: Entry) -> JsonObject:
    record = reader.find(entry.request)
    if record is None:
        return {"aileron.approval.action": str(entry.body.get("action", ""))} if entry.body.get("action") else {}
    payload: JsonObject = {
        "aileron.approval.id": record.id,
        "aileron.approval.kind": "action",
        "aileron.approval.action": record.action,
    }
    if record.connector:
        payload["aileron.connector.fqn"] = record.connector
    if session := entry.body.get("session"):
        payload["aileron.session.id"] = str(session)
    return payload


def _shaped(entry: Entry, type_: str, actor: JsonObject, payload: JsonObject) -> JsonObject:
    """The id of an end is the one that the agent was given with the result."""
    id_ = entry.request if entry.kind in _ENDS and entry.request else entry.seq
    return {
        "audit_id": f"audit-{id_}",
        "event_type": type_,
        "timestamp": entry.time,
        "actor": actor,
        "payload": payload,
    }


def _wanted(event: JsonObject, wanted: AuditSearch) -> bool:
    payload = event["payload"]
    fields = payload if isinstance(payload, dict) else {}
    return (
        wanted.audit_id in ("", event["audit_id"])
        and wanted.connector in ("", fields.get("aileron.connector.fqn"))
        and wanted.class_ in ("", fields.get("aileron.failure.class"))
    )
