"""Standard input, output and error when they are closed or cannot hold every character."""

import os
import sys
from typing import Final

_STANDARD_ERROR: Final = 2


def prepare_streams() -> bool:
    """Makes the standard streams safe to use; returns whether there is a standard output.

    A closed stream is replaced by an empty one. Otherwise the next file that is opened, such as the ledger, would take
    its place. Characters that a stream cannot encode are written as escapes.
    """
    has_output = sys.stdout is not None
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERROR:
            os.set_inheritable(descriptor, True)
        os.close(descriptor)
        sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return has_output


def encoding_in_use() -> str:
    """The encoding of the screen, if it is not UTF-8; else ""."""
    from codecs import lookup  # noqa: PLC0415  # only for full-screen programs and errors

    for stream in (sys.stdout, sys.__stderr__):
        name = getattr(stream, "encoding", None) or "utf-8"
        if lookup(name).name != "utf-8":
            return name
    return ""
