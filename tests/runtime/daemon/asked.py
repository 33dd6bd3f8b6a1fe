"""Requests as a daemon writes them, one of each kind."""

from datetime import UTC, datetime
from typing import Any

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.request import Request
from aileron_tui.runtime.daemon.request_reader import read_daemon_request

GOOGLE = "github://ALRubinger/aileron-connector-google"
HASH = "sha256:" + "a1" * 32
HEAD = "sha256:" + "0" * 64
SEEN = datetime(2026, 5, 12, 10, 16, 11, tzinfo=UTC)

SEND_DRAFT: JsonObject = {
    "id": "act-20260512T101530-9f1c2ab34d5e6f70",
    "kind": "action",
    "action_name": "send-draft",
    "connector_fqn": GOOGLE,
    "args": {"draft_id": "r-12345"},
    "session_id": "01J0ABCDEF",
    "requested_at": "2026-05-12T12:15:30.123456789+02:00",
    "preview": {
        "fields": [
            {"label": "To", "value": "alice@example.com"},
            {"label": "Cc", "missing": True},
            {"label": "Body", "value": "line one\nline two", "multiline": True},
        ]
    },
    "input_fields": [{"label": "Draft id", "value": "r-12345"}],
}
ACTION: JsonObject = {
    "name": "send-draft",
    "requires": {"connectors": [{"name": GOOGLE, "version": "1.2.3", "hash": HASH, "capabilities": ["send_draft"]}]},
    "inputs": [{"name": "draft_id", "type": "string", "description": "Which."}],
    "execute": [{"id": "send", "connector": GOOGLE, "op": "send_draft"}],
}
SESSION: JsonObject = {"id": "01J0ABCDEF", "agent": "claude", "working_dir": "/home/alice/mail", "started_at": "x"}
ARGS: dict[str, JsonObject] = {
    "comms_send": {"service": "slack", "channel": "#general", "body": "Deployed.\nAll is well."},
    "comms_draft": {
        "service": "slack",
        "channel": "#support",
        "original_author": "bob",
        "original_body": "Is it done?\nWe wait.",
        "draft_body": "Yes.\nSince noon.",
        "reply_to": "1715508930.0001",
    },
    "http_request": {
        "method": "POST",
        "url": "https://api.example.com/v1/items",
        "body": '{"name": "x"}',
        "secret_name": "example-api",
    },
    "shell": {"command": "rm -rf build\nmake all", "reason": "rm with -r", "cwd": "/home/alice/mail"},
    "carrier_pigeon": {"loft": 7, "message": "coo", "route": ["a", "b"], "nothing": None},
}
NAMES = {"comms_send": "send_message", "comms_draft": "draft_reply"}
KINDS = ("action", *ARGS)


def asked(kind: str, /, **changes: Json) -> JsonObject:
    """A request of a kind, with these fields changed."""
    if kind == "action":
        return SEND_DRAFT | changes
    common: JsonObject = {
        "id": f"act-20260512T101530-{kind}",
        "kind": kind,
        "action_name": NAMES.get(kind, kind),
        "args": ARGS[kind],
        "session_id": "01J0ABCDEF",
        "requested_at": "2026-05-12T12:15:30.123456789+02:00",
    }
    return common | changes


def read(value: Json, **told: Any) -> Request:
    """The request as we read it."""
    options: dict[str, Any] = {
        "source": "",
        "instance": "http://127.0.0.1:54321",
        "head": HEAD,
        "action": None,
        "session": SESSION,
        "rules": (),
        "seen": SEEN,
    }
    return read_daemon_request(value, **options | told)


def item(kind: str, /, *, started: datetime | None = None, **changes: Json) -> Request:
    """The same as an item, from a daemon that started then."""
    return read(asked(kind, **changes), action=ACTION if kind == "action" else None, started=started)
