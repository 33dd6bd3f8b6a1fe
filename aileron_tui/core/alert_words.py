"""What the ledger says about the alerts of a request: whom they went to, when, and why."""

from collections.abc import Iterable, Sequence

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.time_words import span
from aileron_tui.core.times import moment
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class RecordedAlert:
    """One alert: the surface, the time, and why it was this surface; "" if it was the first in the order."""

    surface: str
    at: str
    reason: str = ""

    def fields(self) -> JsonObject:
        """The alert as JSON."""
        return {"surface": self.surface, "at": self.at, "reason": self.reason}


def recorded_alerts(entries: Iterable[Json]) -> tuple[RecordedAlert, ...]:
    """The alerts in the entries of a request, given as JSON, in order. What cannot be read is left out."""
    found: list[RecordedAlert] = []
    for entry in entries:
        match entry:
            case {"kind": EntryKind.SHOWN, "time": str() as at, "body": {"alerted": str() as surface, **more}}:
                found.append(RecordedAlert(surface, at, _text(more.get("alert_reason"))))
            case {"kind": EntryKind.FELL_BACK, "time": str() as at, "body": {"to": str() as surface, **more}}:
                found.append(RecordedAlert(surface, at, _text(more.get("reason"))))
    return tuple(found)


def alert_words(alerts: Sequence[RecordedAlert]) -> str:
    """Who was alerted, in one line: `console, then notification after 60 s (nobody reacted for 60 s)`; else ""."""
    texts: list[str] = []
    for number, alert in enumerate(alerts):
        later = _later(alerts[number - 1].at, alert.at) if number else ""
        reason = f" ({alert.reason})" if alert.reason else ""
        texts.append(f"{'then ' if number else ''}{alert.surface}{later}{reason}")
    return ", ".join(texts)


def _later(before: str, at: str) -> str:
    try:
        return f" after {span(max(0.0, (moment(at) - moment(before)).total_seconds()))}"
    except ValueError:
        return ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
