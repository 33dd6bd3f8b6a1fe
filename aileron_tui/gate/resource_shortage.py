"""Recognises errors that mean that the system has no more threads, files or memory to give."""

import errno
from typing import Final

_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE})


def shortage(error: BaseException) -> str:
    """What the gate has run out of, in words, or "" for any other error."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return "the gate has no memory left"
    if isinstance(error, OSError) and error.errno in _FILES:
        return "the gate has too many open files"
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return "the gate cannot start another thread"
    return ""
