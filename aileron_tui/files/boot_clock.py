"""A clock that nobody can set. It runs on while the machine sleeps, and starts again from zero with the machine."""

import contextlib
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from aileron_tui.core.values import dataclass

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
# Linux stops CLOCK_MONOTONIC during sleep; other systems have no CLOCK_BOOTTIME and do not stop it.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


@dataclass(frozen=True, slots=True)
class BootClock:
    """Seconds since the machine started. `boot` identifies that start and is "" if the system does not report it."""

    boot: str
    seconds: Callable[[], float]


@cache
def boot_clock() -> BootClock:
    """The clock of this machine."""
    return BootClock(_boot_id(), _seconds)


def _seconds() -> float:
    return time.clock_gettime(_CLOCK) if _CLOCK is not None else time.monotonic()


def _boot_id() -> str:
    with contextlib.suppress(OSError):
        return _BOOT_ID.read_bytes().decode("utf-8", "replace").strip()[:64]
    return ""
