"""Until when a request can be approved: by the wall clock, and by a clock that nobody can set.

Both are in the `request.made` entry, so the ledger itself refuses an approval that comes too late, also after a restart
of the gate. Entries of older versions have only the wall clock time.
"""

from datetime import datetime

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.times import moment, timestamp
from aileron_tui.core.values import dataclass
from aileron_tui.files.boot_clock import BootClock


@dataclass(frozen=True, slots=True)
class RequestDeadline:
    """The end of a request. `uptime_ms` counts from the start of the machine that `boot` identifies."""

    expires: datetime
    boot: str = ""
    uptime_ms: int = 0

    def body(self) -> JsonObject:
        """The fields of the entry."""
        fields: JsonObject = {"expires": timestamp(self.expires)}
        return fields | {"deadline": {"boot": self.boot, "uptime_ms": self.uptime_ms}} if self.boot else fields

    def passed(self, now: datetime, clock: BootClock) -> str:
        """Why the request can no longer be approved, or "" if it can."""
        if now >= self.expires:
            return f"it expired at {timestamp(self.expires)}"
        if not self.boot or not clock.boot:
            return ""
        if self.boot != clock.boot:
            return "the machine was restarted since the request was made"
        return "its time has run out, even though the clock was set back" if self.left(clock) <= 0 else ""

    def left(self, clock: BootClock) -> float:
        """The seconds that are left by the clock that nobody can set."""
        return self.uptime_ms / 1000 - clock.seconds()


def read_deadline(body: JsonObject) -> RequestDeadline | None:
    """The deadline in the body of a `request.made` entry, or None if it has none."""
    expires = body.get("expires")
    if not isinstance(expires, str):
        return None
    try:
        end = moment(expires)
    except (ValueError, OverflowError):
        return None
    match body.get("deadline"):
        case {"boot": str() as boot, "uptime_ms": int() as uptime_ms}:
            return RequestDeadline(end, boot, uptime_ms)
    return RequestDeadline(end)
