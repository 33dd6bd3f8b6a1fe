"""How a sandbox call fails: the machine-readable envelope an agent gets and the short line an operator reads."""

import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass


class FailureKind(StrEnum):
    """The closed set of failure classes agents may meet, and the ones only a preview's details name."""

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
_LONGEST_LINE: Final = 160
_STATUS: Final = re.compile(r".{0,150}?(?<![\w.])[1-5][0-9]{2}\b")

_AGENTS_KNOW: Final = frozenset(FailureKind) - {FailureKind.CONNECTOR_LOAD_FAILED}
_GUEST_MAY_SAY: Final = frozenset(
    {FailureKind.CAPABILITY_DENIED, FailureKind.RESOURCE_LIMIT_EXCEEDED, FailureKind.BINDING_REQUIRED}
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call did not come to a result.

    `kind` is a plain string because a guest may name a class of its own; `reason` is the one short line for the
    operator; `claimed` marks what only the guest says.
    """

    kind: str
    message: str
    reason: str
    boundary: Boundary = Boundary.SANDBOX
    retriable: bool = False
    details: Mapping[str, Json] = field(default_factory=dict)
    claimed: bool = False

    @property
    def agent_kind(self) -> FailureKind:
        """The class an agent is told: a guest may only claim the few it can know about."""
        allowed = _GUEST_MAY_SAY if self.claimed else _AGENTS_KNOW
        return FailureKind(self.kind) if self.kind in allowed else FailureKind.CONNECTOR_RUNTIME_ERROR

    def envelope(self) -> JsonObject:
        """The failure in the shape that agents and ledgers get."""
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
    """Carries a failure up to the place that ends the call or the host function."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def short(kind: str, message: str) -> str:
    """One line of what a guest says: of an upstream's refusal only who refused and with which status.

    The rest of such a message is the upstream's body, which belongs to the details.
    """
    line = message.strip().partition("\n")[0].strip()
    status = _STATUS.match(line) if kind == FailureKind.EXTERNAL_API_ERROR else None
    line = status[0] if status else line
    if len(line) > _LONGEST_LINE:
        line = f"{line[:_LONGEST_LINE]}… ({len(line) - _LONGEST_LINE} more characters)"
    return line or CRASHED


def megabytes(size: int) -> str:
    """A byte limit as people read it."""
    return f"{size / 1024 / 1024:g} MiB"
