"""The history over HTTP: as approvers search it, and as audit events in Aileron's format.

Every function opens its own ledger connection and may take a while, so call it from a thread.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.outcome_words import RULE_SURFACE
from aileron_tui.core.rule import RuleVerdict
from aileron_tui.core.rule_answer import read_answer
from aileron_tui.core.states import RequestState
from aileron_tui.core.unsigned_denial import read_unsigned_denial
from aileron_tui.core.values import dataclass
from aileron_tui.gate.http_request import Refusal
from aileron_tui.ledger import history_pages
from aileron_tui.ledger.history_pages import SEARCH, Query, past, search
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.ledger.recorded_decision import decision_of
from aileron_tui.ledger.store import LedgerReader

__all__ = ["AUDIT", "SEARCH", "AuditQuery", "audit", "audit_event", "past", "read_audit", "read_search", "search"]

AUDIT: Final = ("since", "audit_id", "connector_fqn", "class", "limit")

_MAX_EVENTS: Final = 1000
_DEFAULT_EVENTS: Final = 100
_PLAIN_CLASS: Final = re.compile(r"[a-z_]{4,64}", re.ASCII)
_AUDIT_ID: Final = re.compile(r"audit-(?:([0-9]{1,15})|([A-Za-z][A-Za-z0-9-]{1,100}))", re.ASCII)

_EVENT_TYPES: Final = {
    EntryKind.REQUESTED: ("approval.requested", "agent"),
    EntryKind.RUNNING: ("execution.started", "connector_runtime"),
    EntryKind.EXECUTED: ("execution.succeeded", "connector_runtime"),
    EntryKind.FAILED: ("execution.failed", "connector_runtime"),
    EntryKind.INTERRUPTED: ("execution.failed", "connector_runtime"),
    EntryKind.EXPIRED: ("approval.expired", "service"),
    EntryKind.WITHDRAWN: ("approval.withdrawn", "agent"),
    EntryKind.FELL_BACK: ("approval.rerouted", "service"),
}
_FAILURE_CLASSES: Final = {
    EntryKind.EXPIRED: "approval_timeout",
    EntryKind.WITHDRAWN: "withdrawn",
    EntryKind.INTERRUPTED: "outcome_unknown",
}
_ANSWERS: Final = frozenset({EntryKind.DECIDED, EntryKind.DENIED_UNSIGNED})
_END_KINDS: Final = frozenset({EntryKind.EXECUTED, EntryKind.FAILED, EntryKind.INTERRUPTED})


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Selects audit events; empty fields match everything."""

    since: str = ""
    audit_id: str = ""
    connector: str = ""
    class_: str = ""
    limit: int = _DEFAULT_EVENTS


def read_search(query: Query) -> history_pages.HistoryPageQuery:
    """Reads a history search from a query string."""
    with _refuse_bad_query():
        return history_pages.read_search(query)


def read_audit(query: Query) -> AuditQuery:
    """Reads an audit query from a query string."""
    with _refuse_bad_query():
        limit = history_pages.number(query, "limit", _DEFAULT_EVENTS, _MAX_EVENTS)
        audit_id, connector, class_ = (
            history_pages.one(query, name) for name in ("audit_id", "connector_fqn", "class")
        )
        return AuditQuery(history_pages.time(query, "since"), audit_id, connector, class_, limit)


@contextmanager
def _refuse_bad_query() -> Iterator[None]:
    try:
        yield
    except history_pages.BadHistoryQuery as error:
        raise Refusal(400, "invalid_query", error.title) from None


def audit(ledger: Path, query: AuditQuery) -> JsonObject:
    """Returns matching audit events, newest first."""
    if query.audit_id:
        event = audit_event(ledger, query.audit_id)
        return {
            "events": [event] if event and _matches(event, query) and str(event["timestamp"]) >= query.since else []
        }
    events: list[Json] = []
    with open_reader(ledger) as reader:
        for entry in reader.newest_entries(query.connector, _stored_text(query.class_)):
            if entry.time < query.since:
                break
            event = _event(reader, entry)
            if event is not None and _matches(event, query):
                events.append(event)
                if len(events) == query.limit:
                    break
    return {"events": events}


def _stored_text(class_: str) -> str:
    """Returns a text that every stored entry with this failure class contains, or "" if there is no such text."""
    if not _PLAIN_CLASS.fullmatch(class_):
        return ""
    return next((kind for kind, name in _FAILURE_CLASSES.items() if name == class_), class_)


def audit_event(ledger: Path, audit_id: str) -> JsonObject | None:
    """Returns the audit event with this id."""
    found = _AUDIT_ID.fullmatch(audit_id)
    if found is None:
        return None
    with open_reader(ledger) as reader:
        if found[2]:
            ends = [entry for entry in reader.of_request(found[2]) if entry.kind in _END_KINDS]
            entry = ends[-1] if ends else None
        else:
            entry = reader.entry(int(found[1]))
        event = _event(reader, entry) if entry else None
    return event if event and event["audit_id"] == audit_id else None


def _event(reader: LedgerReader, entry: Entry) -> JsonObject | None:
    """Returns an entry as an audit event, or None if Aileron has no such event."""
    if entry.removed and entry.kind in _ANSWERS:
        return _reduced_answer_event(reader, entry)
    if entry.kind == EntryKind.DECIDED:
        return _decision_event(reader, entry)
    if entry.kind == EntryKind.RULED:
        return _rule_event(reader, entry)
    if entry.kind == EntryKind.DENIED_UNSIGNED:
        return _unsigned_denial_event(reader, entry)
    if entry.kind not in _EVENT_TYPES or (entry.kind == EntryKind.FELL_BACK and not entry.request):
        return None
    kind = EntryKind(entry.kind)
    type_, actor = _EVENT_TYPES[kind]
    payload = _request_payload(reader, entry)
    if kind is EntryKind.FELL_BACK:
        payload["aileron.approval.surface"] = str(entry.body.get("to", ""))
        payload["aileron.approval.reason"] = str(entry.body.get("reason", ""))
    if kind is EntryKind.FAILED or kind in _FAILURE_CLASSES:
        text = entry.body.get("error") or entry.body.get("reason") or ""
        class_, _, message = str(text).partition(": ")
        payload["aileron.failure.class"] = _FAILURE_CLASSES.get(kind, class_)
        payload["aileron.failure.message"] = str(text) if kind in _FAILURE_CLASSES else message
    return _audit_event(entry, type_, {"type": actor, "id": "agent" if actor == "agent" else "aileron-tui"}, payload)


def _decision_event(reader: LedgerReader, entry: Entry) -> JsonObject | None:
    found = decision_of(entry)
    if found is None:
        return None
    statement, signer = found
    verdict = "approved" if statement.verdict is Verdict.APPROVE else "denied"
    record = reader.find(entry.request)
    payload = _request_payload(reader, entry) | {
        "aileron.approval.decision": verdict,
        "aileron.approval.edited": statement.edits is not None,
        "aileron.approval.wait_ms": round((record.took or 0) * 1000) if record else 0,
        "aileron.approval.surface": statement.surface,
        "aileron.signing.key_id": signer,
    }
    if statement.reason:
        payload["aileron.approval.reason"] = statement.reason
    return _audit_event(entry, f"approval.{verdict}", {"type": "human", "id": "user"}, payload)


def _reduced_answer_event(reader: LedgerReader, entry: Entry) -> JsonObject | None:
    """The answer of a person whose entry was reduced, as far as the history still has it."""
    record = reader.find(entry.request)
    if record is None:
        return None
    verdict = "denied" if record.outcome == RequestState.DENIED else "approved"
    payload = _request_payload(reader, entry) | {
        "aileron.approval.decision": verdict,
        "aileron.approval.edited": record.edited,
        "aileron.approval.wait_ms": round((record.took or 0) * 1000),
        "aileron.approval.surface": record.surface,
    }
    if record.signer:
        payload["aileron.signing.key_id"] = record.signer
    return _audit_event(entry, f"approval.{verdict}", {"type": "human", "id": "user"}, payload)


def _unsigned_denial_event(reader: LedgerReader, entry: Entry) -> JsonObject | None:
    """A denial without a signature. Nobody proved who they are, so it names no key."""
    try:
        denial = read_unsigned_denial(entry.body)
    except JsonError:
        return None
    record = reader.find(entry.request)
    payload = _request_payload(reader, entry) | {
        "aileron.approval.decision": "denied",
        "aileron.approval.edited": False,
        "aileron.approval.wait_ms": round((record.took or 0) * 1000) if record else 0,
        "aileron.approval.surface": denial.surface,
    }
    if denial.reason:
        payload["aileron.approval.reason"] = denial.reason
    return _audit_event(entry, "approval.denied", {"type": "human", "id": "user"}, payload)


def _rule_event(reader: LedgerReader, entry: Entry) -> JsonObject | None:
    """The answer of a rule. No person took part, so the actor is the gate's service, named after the rule."""
    try:
        answer = read_answer(entry.body)
    except JsonError:
        return None
    verdict = "approved" if answer.verdict is RuleVerdict.ALLOW else "denied"
    payload = _request_payload(reader, entry) | {
        "aileron.approval.decision": verdict,
        "aileron.approval.edited": False,
        "aileron.approval.wait_ms": 0,
        "aileron.approval.surface": RULE_SURFACE,
        "aileron.approval.rule": answer.rule,
        "aileron.signing.key_id": answer.signer,
    }
    if answer.reason:
        payload["aileron.approval.reason"] = answer.reason
    return _audit_event(entry, f"approval.{verdict}", {"type": "service", "id": answer.rule}, payload)


def _request_payload(reader: LedgerReader, entry: Entry) -> JsonObject:
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


def _audit_event(entry: Entry, type_: str, actor: JsonObject, payload: JsonObject) -> JsonObject:
    """Builds an audit event. The event for the end of a request has the id that the agent received with the result."""
    id_ = entry.request if entry.kind in _END_KINDS and entry.request else entry.seq
    return {
        "audit_id": f"audit-{id_}",
        "event_type": type_,
        "timestamp": entry.time,
        "actor": actor,
        "payload": payload,
    }


def _matches(event: JsonObject, query: AuditQuery) -> bool:
    payload = event["payload"]
    fields = payload if isinstance(payload, dict) else {}
    return (
        query.audit_id in ("", event["audit_id"])
        and query.connector in ("", fields.get("aileron.connector.fqn"))
        and query.class_ in ("", fields.get("aileron.failure.class"))
    )
