"""A clock that nobody can set. It runs on while the machine sleeps, and starts again from zero with the machine."""

import contextlib
import secrets
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from aileron_tui.core.values import dataclass

OF_PROCESS: Final = "process-"
"""How the `boot` of a clock begins that is only known to this process."""

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_BOOT_SESSION: Final = b"kern.bootsessionuuid"
_LONGEST_ID: Final = 64
_PLATFORM: Final[str] = sys.platform
# Linux stops CLOCK_MONOTONIC during sleep; other systems have no CLOCK_BOOTTIME and do not stop it.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


@dataclass(frozen=True, slots=True)
class BootClock:
    """Seconds since the machine started. `boot` identifies that start.

    Where the system does not report it, `boot` identifies this process, so that its clock still counts as long as it
    runs.
    """

    boot: str
    seconds: Callable[[], float]


@cache
def boot_clock() -> BootClock:
    """The clock of this machine."""
    return BootClock(boot_id(), _seconds)


def _seconds() -> float:
    return time.clock_gettime(_CLOCK) if _CLOCK is not None else time.monotonic()


def boot_id() -> str:
    """The id of this start of the machine; a new id for this process if the system has none."""
    return _from_proc() or _from_sysctl() or f"{OF_PROCESS}{secrets.token_hex(16)}"


def _from_proc() -> str:
    with contextlib.suppress(OSError):
        return _BOOT_ID.read_bytes().decode("utf-8", "replace").strip()[:_LONGEST_ID]
    return ""


def _from_sysctl() -> str:
    """The id on macOS, which has no /proc."""
    if _PLATFORM != "darwin":
        return ""
    import ctypes  # noqa: PLC0415  # 2 ms, and only macOS needs it

    with contextlib.suppress(OSError, AttributeError):
        value, size = ctypes.create_string_buffer(_LONGEST_ID), ctypes.c_size_t(_LONGEST_ID)
        if ctypes.CDLL(None).sysctlbyname(_BOOT_SESSION, value, ctypes.byref(size), None, ctypes.c_size_t(0)) == 0:
            return value.value.decode("ascii", "replace")
    return ""
