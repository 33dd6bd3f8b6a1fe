"""Keeping secrets out of dumps and wiping what Python lets us wipe.

A `bytearray` can be overwritten; `str` and `bytes` cannot, nor copies that libraries make on the way. So passphrases
and seeds are handled in bytearrays, and the unlocked key itself exists only inside OpenSSL, which clears it when freed.
"""

import contextlib
import ctypes
import resource
import sys
from typing import Final

from aileron_tui.core.values import dataclass

_PR_SET_DUMPABLE: Final = 4


@dataclass(frozen=True, slots=True)
class Protection:
    """What the operating system granted: no core dumps, and memory not readable by other processes of the user."""

    no_core_dumps: bool
    not_dumpable: bool


def wipe(secret: bytearray) -> None:
    """Overwrites a secret in place."""
    secret[:] = bytes(len(secret))


def protect_process() -> Protection:
    """Turns core dumps off and, on Linux, makes the process undumpable, which also stops ptrace by the same user."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    undumpable = False
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            libc = ctypes.CDLL(None, use_errno=True)
            undumpable = libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
    return Protection(resource.getrlimit(resource.RLIMIT_CORE)[0] == 0, undumpable)
