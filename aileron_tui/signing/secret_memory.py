"""Keeps secrets out of core dumps, and wipes them from memory where Python allows it.

A `bytearray` can be overwritten; `str`, `bytes` and copies made by libraries cannot. So passphrases and seeds are kept
in bytearrays, and an unlocked key exists only inside OpenSSL, which clears it when it is freed.
"""

import contextlib
import resource
import sys
from typing import Final

from aileron_tui.core.values import dataclass

_PR_SET_DUMPABLE: Final = 4


@dataclass(frozen=True, slots=True)
class Protection:
    """Which protection is on: no core dumps, and memory that other processes of the user cannot read."""

    no_core_dumps: bool
    not_dumpable: bool


def wipe(secret: bytearray) -> None:
    """Overwrites a secret in place."""
    secret[:] = bytes(len(secret))


def protect_process() -> Protection:
    """Turns off core dumps and, on Linux, makes the process undumpable, which also stops ptrace by the same user."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    undumpable = False
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415  # the console does this after its first frame

        with contextlib.suppress(OSError, AttributeError):
            libc = ctypes.CDLL(None, use_errno=True)
            undumpable = libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
    return Protection(resource.getrlimit(resource.RLIMIT_CORE)[0] == 0, undumpable)
