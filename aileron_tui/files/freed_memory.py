"""What the C library does with memory that was freed."""

import ctypes
from contextlib import suppress
from typing import Final

_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8

_LARGE_BLOCK: Final = 256 * 1024
_ARENAS: Final = 2


def keep_little_freed_memory() -> None:
    """Makes glibc return large blocks to the system at once, and keep freed memory in few places.

    By default it learns to keep blocks of up to 32 MiB, and each thread gets a place of its own for them, so a program
    with many threads never becomes smaller after a peak. Other C libraries have no such setting.
    """
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)
        libc.mallopt(_M_ARENA_MAX, _ARENAS)


def return_freed_memory() -> None:
    """Makes glibc return the freed pages between blocks in use, which it otherwise keeps. Takes about a millisecond."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
