"""How a sandbox call fails: the machine-readable envelope for agents and the short reason for operators."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
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
    OUTCOME_UNKNOWN = "outcome_unknown"


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

_AGENT_KINDS: Final = frozenset(FailureKind) - {FailureKind.CONNECTOR_LOAD_FAILED, FailureKind.OUTCOME_UNKNOWN}
_GUEST_KINDS: Final = frozenset(
    {FailureKind.CAPABILITY_DENIED, FailureKind.RESOURCE_LIMIT_EXCEEDED, FailureKind.BINDING_REQUIRED}
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call produced no result.

    `kind` is a plain string because a guest may report a class of its own. `reason` is one short line for the operator.
    `reported_by_guest` is set if the guest reported the failure itself. `outcome_unknown` is set if something was sent
    before the failure that may have taken effect. `step` and `steps_run` are set if the action has several steps: the
    step that failed, and those that ran before it.
    """

    kind: str
    message: str
    reason: str
    boundary: Boundary = Boundary.SANDBOX
    retriable: bool = False
    details: Mapping[str, Json] = field(default_factory=dict)
    reported_by_guest: bool = False
    outcome_unknown: bool = False
    step: str = ""
    steps_run: tuple[str, ...] = ()

    @property
    def agent_kind(self) -> FailureKind:
        """The class reported to the agent; a guest may only report the few classes it can know about."""
        return FailureKind.OUTCOME_UNKNOWN if self.outcome_unknown else self.cause

    @property
    def cause(self) -> FailureKind:
        """The class of what went wrong, even if the outcome is unknown because of it."""
        allowed = _GUEST_KINDS if self.reported_by_guest else _AGENT_KINDS
        return FailureKind(self.kind) if self.kind in allowed else FailureKind.CONNECTOR_RUNTIME_ERROR

    def after_sending(self, changed: bool) -> "Failure":
        """This failure, of a call that may have changed something before it failed."""
        if not changed or self.outcome_unknown:
            return self
        details = {**self.details, "cause": str(self.cause)}
        return replace(self, outcome_unknown=True, retriable=False, details=details)

    def after_retries(self, retried: str) -> "Failure":
        """This failure, of a call that repeated requests; `retried` says how often and why, "" if it did not."""
        if not retried:
            return self
        reason = self.reason if self.reason == TIMEOUT else f"{self.reason} ({retried})"
        return replace(self, message=f"{self.message} ({retried})", reason=reason)

    def in_step(self, step: str, steps_run: Sequence[str]) -> "Failure":
        """This failure in one step of several; repeating the call would also repeat the steps that ran."""
        details = {**self.details, "step": step, "steps_run": list[Json](steps_run)}
        retriable = self.retriable and not steps_run
        return replace(self, step=step, steps_run=tuple(steps_run), retriable=retriable, details=details)

    @property
    def full_message(self) -> str:
        """The message for the agent: which steps ran, and whether the call may have taken effect."""
        if self.outcome_unknown:
            what = f"{self.step or 'it'} may have taken effect, but its outcome is unknown: {self.message}"
        else:
            what = f"{self.step} failed: {self.message}" if self.steps_run else self.message
        return self._after_steps(what)

    @property
    def ledger_text(self) -> str:
        """The failure in one line for the history, beside a state that says whether the outcome is known."""
        what = f"{self.cause}: {self.message}"
        if self.steps_run and self.outcome_unknown:
            what = f"the outcome of {self.step} is unknown: {what}"
        elif self.steps_run:
            what = f"{self.step} failed: {what}"
        return self._after_steps(what)

    def _after_steps(self, what: str) -> str:
        *earlier, last = self.steps_run or ("",)
        if not last:
            return what
        return f"{', '.join(earlier)} and {last} ran; {what}" if earlier else f"{last} ran; {what}"

    def envelope(self) -> JsonObject:
        """The failure in the format used for agents and the ledger."""
        error: JsonObject = {
            "class": str(self.agent_kind),
            "message": self.full_message,
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
