"""The clocks of a machine, for tests."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from aileron_tui.core.times import utc_now
from aileron_tui.files.boot_clock import BootClock


@dataclass
class Machine:
    """A machine that can sleep, be restarted, and have its clock set."""

    set_by: timedelta = timedelta(0)
    slept: float = 0.0
    boot: str = "boot-1"

    def clock(self) -> datetime:
        return utc_now() + self.set_by + timedelta(seconds=self.slept)

    @property
    def boot_clock(self) -> BootClock:
        return BootClock(self.boot, lambda: datetime.now(UTC).timestamp() % 1e6 + self.slept)

    def options(self) -> dict[str, object]:
        return {"clock": self.clock, "boot_clock": self.boot_clock}
