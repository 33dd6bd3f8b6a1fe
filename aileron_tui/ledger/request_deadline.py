"""Until when a request can be approved: by the wall clock, and by a clock that nobody can set.

Both are in the `request.made` entry, so the ledger itself refuses an approval that comes too late, also after a restart
of the gate. Entries of older versions have only the wall clock time. A `request.extended` entry moves both by the same
time, so no clock is read for it.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final

from aileron_tui.core.deadline_extension import recorded_extension
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonError, JsonObject
from aileron_tui.core.times import moment, timestamp
from aileron_tui.core.values import dataclass
from aileron_tui.files.boot_clock import OF_PROCESS, BootClock

_RESTARTED_MACHINE: Final = "the machine was restarted since the request was made"
_RESTARTED_GATE: Final = (
    "the gate was restarted since the request was made, and this system does not say whether the machine was too"
)


@dataclass(frozen=True, slots=True)
class RequestDeadline:
    """The end of a request. `uptime_ms` counts from the start of the machine that `boot` identifies.

    `latest` is the time to which the end can be extended, None if it cannot.
    """

    expires: datetime
    boot: str = ""
    uptime_ms: int = 0
    latest: datetime | None = None

    def body(self) -> JsonObject:
        """The fields of the entry."""
        fields: JsonObject = {"expires": timestamp(self.expires)}
        if self.boot:
            fields["deadline"] = {"boot": self.boot, "uptime_ms": self.uptime_ms}
        if self.latest:
            fields["latest"] = timestamp(self.latest)
        return fields

    def moved_to(self, expires: datetime) -> "RequestDeadline":
        """This deadline at another time, moved by both clocks."""
        milliseconds = int((expires - self.expires).total_seconds() * 1000)
        return replace(self, expires=expires, uptime_ms=self.uptime_ms + milliseconds)

    def passed(self, now: datetime, clock: BootClock) -> str:
        """Why the request can no longer be approved, or "" if it can."""
        if now >= self.expires:
            return f"it expired at {timestamp(self.expires)}"
        if not self.boot:
            return ""
        if self.boot != clock.boot:
            return _RESTARTED_GATE if self.boot.startswith(OF_PROCESS) else _RESTARTED_MACHINE
        return "its time has run out, even though the clock was set back" if self.left(clock) <= 0 else ""

    def left(self, clock: BootClock) -> float:
        """The seconds that are left by the clock that nobody can set."""
        return self.uptime_ms / 1000 - clock.seconds()


def read_deadline(body: JsonObject) -> RequestDeadline | None:
    """The deadline in the body of a `request.made` entry, or None if it has none."""
    end, latest = _time(body, "expires"), _time(body, "latest")
    if end is None:
        return None
    match body.get("deadline"):
        case {"boot": str() as boot, "uptime_ms": int() as uptime_ms}:
            return RequestDeadline(end, boot, uptime_ms, latest)
    return RequestDeadline(end, latest=latest)


def current_deadline(made: Entry, later: Iterable[Entry]) -> RequestDeadline | None:
    """The deadline of a request after the extensions among its later entries, or None if it has none."""
    deadline = read_deadline(made.body)
    for entry in later:
        if deadline and entry.kind == EntryKind.EXTENDED:
            try:
                deadline = deadline.moved_to(moment(recorded_extension(entry)[0].expires))
            except JsonError:  # the ledger does not accept such an entry
                continue
    return deadline


def _time(body: JsonObject, name: str) -> datetime | None:
    value = body.get(name)
    try:
        return moment(value) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None
