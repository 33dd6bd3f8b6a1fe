"""One request of the queue, and its JSON in the API."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from tests.daemon.gotext import Object, field_text, sort_keys
from tests.daemon.switches import Switches

PENDING: Final = "pending_approval"
APPROVED: Final = "approved_not_started"
AWAITING: Final = "awaiting_vault"
RUNNING: Final = "running"
COMPLETED: Final = "completed"
DENIED: Final = "denied"
FAILED: Final = "failed"

OUTCOMES: Final = ("completed", "failed", "running", "nothing")
"""How an approval may end: the last two are a run without an end, and nobody there to run it."""

ACTION_NAMES: Final = {
    "comms_send": "send_message",
    "comms_draft": "draft_reply",
    "http_request": "http_request",
    "shell": "shell",
}

RECONCILE: Final = "the daemon stopped while this was running; look for yourself whether it took effect"


@dataclass(slots=True)
class Entry:
    """A request and what became of it. Everything but its state is fixed at registration."""

    id: str
    kind: str
    action_name: str
    requested_at: str
    requested_ns: int
    connector_fqn: str = ""
    session_id: str = ""
    args: Object = field(default_factory=dict)
    preview: Object | None = None
    input_fields: list[Object] = field(default_factory=list)
    status: str = PENDING
    decided_at: str = ""
    deny_reason: str = ""
    edited_payload: Object | None = None
    audit_id: str = ""
    result: str = ""
    failure: Object | None = None
    error_message: str = ""
    outcome: str = "completed"
    run_time: float | None = None
    live: bool = True
    extra: Object = field(default_factory=dict)

    def pending(self, switches: Switches) -> Object:
        """As the list, the snapshot and `pending` tell it."""
        told: Object = {"id": self.id}
        if not switches.omit_kind:
            told["kind"] = self.kind
        told["action_name"] = self.action_name
        if self.connector_fqn:
            told["connector_fqn"] = self.connector_fqn
        if not switches.omit_args:
            told["args"] = sort_keys(self.args)
        if self.session_id:
            told["session_id"] = self.session_id
        told["requested_at"] = self.requested_at
        if self.preview is not None:
            told["preview"] = self.preview
        if self.input_fields:
            told["input_fields"] = self.input_fields
        return told | switches.extra_fields | self.extra

    def told_result(self) -> Object:
        """The JSON that the agent gets."""
        match self.status:
            case "completed":
                told: Object = {"status": COMPLETED, "audit_id": self.audit_id}
                return told | ({"result": self.result} if self.result else {})
            case "denied":
                return {"status": DENIED} | ({"reason": self.deny_reason} if self.deny_reason else {})
            case "failed" if self.failure is not None:
                return {"status": FAILED, "failure": self.failure}
            case "failed":
                return {"status": FAILED, "reason": self.error_message}
            case "approved_not_started":
                return {"status": RUNNING}
            case _:
                return {"status": self.status}

    def saved(self) -> Object:
        """As it is kept on disk."""
        return {name: getattr(self, name) for name in self.__slots__}


def new_id(nanoseconds: int) -> str:
    """An id as the daemon makes them."""
    moment = datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC)
    return f"act-{moment:%Y%m%dT%H%M%S}-{secrets.token_hex(8)}"


def labelled(args: Object, inputs: Sequence[Object]) -> list[Object]:
    """The rows made of arguments by the inputs a manifest declares; none for a manifest without inputs."""
    if not inputs:
        return []
    rows: list[Object] = []
    for one in inputs:
        label, value = one.get("label") or one["name"], args.get(one["name"])
        if value is not None:
            rows.append(_row(label, value, multiline=bool(one.get("multiline"))))
        elif one.get("required", True):
            rows.append({"label": label, "missing": True} | ({"multiline": True} if one.get("multiline") else {}))
    declared = {one["name"] for one in inputs}
    rows += [_row(key, args[key]) for key in sorted(args) if key not in declared and args[key] is not None]
    return rows


def _row(label: str, value: Any, *, multiline: bool = False) -> Object:
    text = field_text(value)
    return {"label": label} | ({"value": text} if text else {}) | ({"multiline": True} if multiline else {})
