"""How a sandbox call fails: the machine-readable envelope for agents and the short reason for operators."""

import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass


class FailureKind(StrEnum):
    """The failure classes. Agents receive all but CONNECTOR_LOAD_FAILED, which only appears in preview details."""

    CAPABILITY_DENIED = "capability_denied"
    BINDING_REQUIRED = "binding_required"
    BINDING_FAILED = "binding_failed"
    RESOURCE_LIMIT_EXCEEDED = "resource_limit_exceeded"
    CONNECTOR_RUNTIME_ERROR = "connector_runtime_error"
    NETWORK_ERROR = "network_error"
    EXTERNAL_API_ERROR = "external_api_error"
    HASH_MISMATCH = "hash_mismatch"
    SIGNATURE_FAILURE = "signature_failure"
    CONNECTOR_LOAD_FAILED = "connector_load_failed"


class Boundary(StrEnum):
    """Where a call was stopped."""

    SANDBOX = "sandbox"
    CONNECTOR_MANIFEST = "connector_manifest"
    ACTION = "action"
    RUNTIME = "runtime"
    EXTERNAL = "external"


CRASHED: Final = "connector crashed"
TIMEOUT: Final = "timeout"
_MAX_REASON_LENGTH: Final = 160
_STATUS: Final = re.compile(r".{0,150}?(?<![\w.])[1-5][0-9]{2}\b")

_AGENT_KINDS: Final = frozenset(FailureKind) - {FailureKind.CONNECTOR_LOAD_FAILED}
_GUEST_KINDS: Final = frozenset(
    {FailureKind.CAPABILITY_DENIED, FailureKind.RESOURCE_LIMIT_EXCEEDED, FailureKind.BINDING_REQUIRED}
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call produced no result.

    `kind` is a plain string because a guest may report a class of its own. `reason` is one short line for the operator.
    `reported_by_guest` is set if the guest reported the failure itself.
    """

    kind: str
    message: str
    reason: str
    boundary: Boundary = Boundary.SANDBOX
    retriable: bool = False
    details: Mapping[str, Json] = field(default_factory=dict)
    reported_by_guest: bool = False

    @property
    def agent_kind(self) -> FailureKind:
        """The class reported to the agent; a guest may only report the few classes it can know about."""
        allowed = _GUEST_KINDS if self.reported_by_guest else _AGENT_KINDS
        return FailureKind(self.kind) if self.kind in allowed else FailureKind.CONNECTOR_RUNTIME_ERROR

    def envelope(self) -> JsonObject:
        """The failure in the format used for agents and the ledger."""
        error: JsonObject = {
            "class": str(self.agent_kind),
            "message": self.message,
            "retriable": self.retriable,
            "boundary": str(self.boundary),
        }
        if self.details:
            error["details"] = dict(self.details)
        return {"error": error}


class CallRefused(Exception):
    """Stops a call or a host function with a failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def short_reason(kind: str, message: str) -> str:
    """Shortens a guest's message to one line; an upstream error is cut after the service and its status code.

    The rest of such a message is the upstream's response body, which belongs in the details.
    """
    line = message.strip().partition("\n")[0].strip()
    status = _STATUS.match(line) if kind == FailureKind.EXTERNAL_API_ERROR else None
    line = status[0] if status else line
    if len(line) > _MAX_REASON_LENGTH:
        line = f"{line[:_MAX_REASON_LENGTH]}… ({len(line) - _MAX_REASON_LENGTH} more characters)"
    return line or CRASHED


def mebibytes(size: int) -> str:
    """Formats a byte limit in MiB."""
    return f"{size / 1024 / 1024:g} MiB"
