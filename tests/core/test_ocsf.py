"""The ledger as events of OCSF: every attribute that a class requires is there, and the events form a chain."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonObject, canonical
from aileron_tui.core.ocsf import OcsfChain

TIME = "2026-05-12T10:15:30.250000Z"
HASH = "sha256:" + "ab" * 32
EVERY = {
    "activity_id": int,
    "category_uid": int,
    "class_uid": int,
    "metadata": dict,
    "severity_id": int,
    "time": int,
    "type_uid": int,
}
"""What the base event requires."""

OF_CLASS = {
    6003: {"actor": dict, "api": dict, "src_endpoint": dict},
    6002: {"app": dict},
    3004: {"entity": dict},
}
INSIDE: dict[str, dict[str, type]] = {
    "metadata": {"version": str, "product": dict},
    "api": {"operation": str, "request": dict},
    "attestation": {"chain_uid": str, "fingerprint": dict},
    "fingerprint": {"algorithm_id": int, "value": str},
    "prev_event": {"uid": str, "type_uid": int, "fingerprint": dict},
    "request": {"uid": str},
}
"""What the objects require, as far as they are used."""

AT_LEAST_ONE = {"actor": {"user"}, "user": {"name", "uid"}, "src_endpoint": {"name"}, "entity": {"name", "uid"}}
RECORD = HistoryRecord(
    2,
    "act-1",
    TIME,
    "send-draft",
    "local://samples/mail",
    "claude",
    "high",
    "executed",
    "",
    "",
    None,
    "",
    "",
    "",
    "",
    "",
)
OF_GATE = {"key", "agent", "rule", "package", "publisher", "config", "gate", "ledger"}


def entries() -> Iterator[Entry]:
    for seq, kind in enumerate(EntryKind, start=1):
        about_gate = kind.partition(".")[0] in OF_GATE and kind is not EntryKind.RULED
        body: JsonObject = {"args": {"to": "a@example.com\u202e", "n": 1.5}, "error": "no", "name": "x"}
        yield Entry(seq, TIME, kind, "" if about_gate else "act-1", body)


def events() -> list[Any]:
    chain = OcsfChain(HASH, "0.1.0")
    return [chain.event(entry, HASH, RECORD if entry.request else None) for entry in entries()]


@pytest.mark.parametrize("event", events(), ids=list(EntryKind))
def test_every_required_attribute_is_there(event: Any) -> None:
    for name, type_ in (EVERY | OF_CLASS[event["class_uid"]]).items():
        assert type(event[name]) is type_, name
    assert event["category_uid"] == event["class_uid"] // 1000
    assert event["type_uid"] == event["class_uid"] * 100 + event["activity_id"]
    assert event["metadata"]["version"] == "1.9.0"
    assert event["metadata"]["profiles"] == ["record_integrity"]
    assert event["metadata"]["product"]["name"] == "aileron-tui"
    assert event["time"] == 1778580930250
    (attestation,) = event["attestation_list"]
    found = {**event, "attestation": attestation, **attestation, "user": event["actor"]["user"]}
    found |= {"request": event["api"]["request"]} if "api" in event else {}
    for name, fields in INSIDE.items():
        if name in found:
            assert {field: type(found[name][field]) for field in fields} == fields, name
    for name, some in AT_LEAST_ONE.items():
        if name in found:
            assert some & found[name].keys(), name


def test_the_events_form_a_chain_that_anybody_can_check() -> None:
    previous: Any = None
    for line in [json.dumps(event) for event in events()]:
        event = json.loads(line)
        (attestation,) = event["attestation_list"]
        assert attestation.get("prev_event") == previous
        fingerprint = attestation.pop("fingerprint")
        assert hashlib.sha256(canonical(event)).hexdigest() == fingerprint["value"]
        previous = {"uid": event["metadata"]["uid"], "type_uid": event["type_uid"], "fingerprint": fingerprint}


def test_what_happened_is_told() -> None:
    found = {event["metadata"]["event_code"]: event for event in events()}
    asked = found["request.made"]
    assert (asked["class_name"], asked["api"]["operation"], asked["severity"]) == ("API Activity", "send-draft", "High")
    assert asked["api"]["request"] == {"uid": "act-1", "data": {"to": "a@example.com\u202e", "n": 1.5}}
    assert asked["actor"]["user"]["name"] == asked["src_endpoint"]["name"] == "claude"
    assert [found[kind]["status"] for kind in ("op.executed", "op.failed", "op.unknown")] == [
        "Success",
        "Failure",
        "Unknown",
    ]
    assert found["key.revoked"]["type_name"] == "Entity Management: Delete"
    assert found["key.enrolled"]["entity"] == {"type": "key", "name": "x"}
    assert found["gate.started"]["type_uid"] == 600203
