"""The answers in a daemon's audit events, and what the events say about the answered requests."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import chain
from typing import Final

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment, timestamp
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.daemon.times import utc_time

LONGEST_ID: Final = 4096
_ANSWER_EVENTS: Final = {"approval.approved": RequestState.APPROVED, "approval.denied": RequestState.DENIED}
_REQUESTED_EVENT: Final = "approval.requested"


@dataclass(frozen=True, slots=True)
class AuditAnswer:
    """What audit events say about an answered request; `about` describes the request itself."""

    verdict: RequestState
    at: str
    reason: str
    about: dict[str, str]
    edited: bool


def audit_answers(events: Sequence[Json]) -> dict[str, AuditAnswer]:
    """The answered requests in audit events, oldest first; other events are ignored."""
    asked: dict[str, str] = {}
    answers: dict[str, AuditAnswer] = {}
    for event in reversed(events):
        if not isinstance(event, dict):
            continue
        type_, payload = event.get("event_type"), event.get("payload")
        if not isinstance(type_, str) or not isinstance(payload, dict):
            continue
        id_, at = _text(payload, "aileron.approval.id"), utc_time(event.get("timestamp"))
        if not 0 < len(id_) <= LONGEST_ID or not _is_recordable(payload):
            continue
        if type_ == _REQUESTED_EVENT:
            asked[id_] = at
        elif type_ in _ANSWER_EVENTS:
            about = {
                "asked": asked.get(id_) or _time_before(at, payload.get("aileron.approval.wait_ms")),
                "kind": _text(payload, "aileron.approval.kind"),
                "action": _text(payload, "aileron.approval.action"),
                "connector": _text(payload, "aileron.connector.fqn"),
                "session": _text(payload, "aileron.session.id"),
            }
            about = {name: text for name, text in about.items() if text}
            answers.pop(id_, None)
            edited = _ANSWER_EVENTS[type_] is RequestState.APPROVED and payload.get("aileron.approval.edited") is True
            answers[id_] = AuditAnswer(
                _ANSWER_EVENTS[type_], at, _text(payload, "aileron.approval.reason"), about, edited
            )
    return answers


def _time_before(at: str, wait: Json) -> str:
    """The time this many milliseconds before another, or "" if either is not known."""
    if not at or isinstance(wait, bool) or not isinstance(wait, int | float) or wait < 0:
        return ""
    try:
        return timestamp(moment(at) - timedelta(milliseconds=wait))
    except (ValueError, OverflowError):
        return ""


def _text(payload: JsonObject, name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def _is_recordable(payload: JsonObject) -> bool:
    """Whether every text in a payload can be recorded."""
    try:
        canonical([value for value in chain(payload, payload.values()) if isinstance(value, str)])
    except JsonError:
        return False
    return True
