"""What a daemon without a seed knows: a few actions, sessions and bindings, and a request of each kind."""

from __future__ import annotations

from typing import Any, Final

from tests.daemon.gotext import Object

GOOGLE: Final = "github://ALRubinger/aileron-connector-google"
SESSION: Final = "01J0ABCDEFGHJKMNPQRSTVWXYZ"

PREVIEW: Final[Object] = {
    "fields": [
        {"label": "To", "value": "alice@example.com"},
        {"label": "Cc", "missing": True},
        {"label": "Body", "value": "line one\nline two", "multiline": True},
    ]
}

SESSIONS: Final[list[Object]] = [
    {
        "id": SESSION,
        "started_at": "2026-05-12T12:10:00.5+02:00",
        "agent": "claude",
        "working_dir": "/home/alice/projects/mail",
    },
    {
        "id": "01J0AAAAAAAAAAAAAAAAAAAAAA",
        "started_at": "2026-05-12T09:00:00+02:00",
        "ended_at": "2026-05-12T09:30:00.25+02:00",
        "agent": "codex",
        "working_dir": "/home/alice/old",
        "exit_code": 0,
    },
]

BINDINGS: Final[list[Object]] = [
    {
        "name": "oauth2/google/alice",
        "kind": "oauth2",
        "service": "google",
        "identity": "alice",
        "connector_fqn": GOOGLE,
        "created_at": "2026-05-01T08:00:00Z",
        "account": "alice@example.com",
        "status": "active",
    }
]


def action(name: str, op: str, inputs: list[Object], **more: Any) -> Object:
    """An action in the API's JSON. `label` and `multiline` of inputs are internal to the daemon."""
    return {
        "name": name,
        "version": "1.0.0",
        "source": f"{GOOGLE}/actions/{name}@1.0.0",
        "requires": {
            "connectors": [
                {"name": GOOGLE, "version": "1.0.0", "hash": "sha256:" + "a1" * 32, "capabilities": [op]},
            ]
        },
        "match": {"intent": name.replace("-", " ")},
        "inputs": inputs,
        "execute": [{"id": "one", "connector": GOOGLE, "op": op}],
        **more,
    }


ACTIONS: Final[list[Object]] = [
    action(
        "send-draft",
        "send_draft",
        [{"name": "draft_id", "type": "string", "description": "The draft to send.", "label": "Draft id"}],
        approval={
            "required": True,
            "preview": {
                "op": "get_draft",
                "args": {"id": "${args.draft_id}"},
                "render": {"To": "message.to", "Cc": "message.cc", "Body": "message.snippet"},
                "multiline": ["Body"],
            },
        },
    ),
    action(
        "create-event",
        "create_event",
        [
            {"name": "title", "type": "string", "description": "Its title."},
            {"name": "guests", "type": "array", "items_type": "string", "description": "Who comes.", "required": False},
            {"name": "where", "type": "object", "description": "The place.", "required": False},
            {"name": "note", "type": "string", "description": "A note.", "required": False, "multiline": True},
        ],
        approval={"required": True},
    ),
    action("list-drafts", "list_drafts", []),
    action("old-action", "old_op", [], enabled=False),
]

REQUESTS: Final[dict[str, Object]] = {
    "action": {
        "action_name": "send-draft",
        "connector_fqn": GOOGLE,
        "args": {"draft_id": "r-12345"},
        "preview": PREVIEW,
        "result": '{"id":"m-1"}',
    },
    "comms_send": {"args": {"service": "slack", "channel": "#general", "body": "Deployed."}},
    "comms_draft": {
        "args": {
            "service": "slack",
            "channel": "#support",
            "original_author": "bob",
            "original_body": "Is it done?",
            "draft_body": "Yes.\nSince noon.",
            "reply_to": "1715508930.0001",
        }
    },
    "http_request": {
        "args": {
            "method": "POST",
            "url": "https://api.example.com/v1/items",
            "body": "{}",
            "secret_name": "example-api",
        }
    },
    "shell": {
        "args": {"command": "rm -rf build\nmake all", "reason": "rm with -r", "cwd": "/home/alice/projects/mail"},
        "outcome": "nothing",
    },
}
