"""A person at a terminal who says yes to every question of a command."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

_QUESTION = "[y/N]"
# Makes the pty the controlling terminal, which the command reads answers from.
_CHILD = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


def say_yes(words: list[str], env: Mapping[str, str], folder: Path, seconds: float = 60.0) -> tuple[int, str]:
    """Runs a command on a terminal of its own; returns its exit code and what it wrote."""
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _CHILD, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=dict(env),
        cwd=folder,
        start_new_session=True,
    )
    os.close(theirs)
    screen, answered, end = "", 0, time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(terminal, 65536)
            except OSError:  # the terminal is closed on the other side
                break
            screen += data.decode(errors="replace")
            if screen.rstrip().endswith(_QUESTION) and screen.count(_QUESTION) > answered:
                answered = screen.count(_QUESTION)
                os.write(terminal, b"y\n")
        return process.wait(10), screen
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(terminal)
