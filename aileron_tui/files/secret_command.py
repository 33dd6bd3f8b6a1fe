"""Runs a command of the user's configuration that prints a secret. Its output never appears in an error or a log."""

import os
import signal
import subprocess
from typing import Final

_MAX_OUTPUT: Final = 64 * 1024
_LONGEST_SECONDS: Final = 15.0


class SecretCommandError(Exception):
    """The command failed; the message says why without any of its output. `timed_out` means that it took too long."""

    def __init__(self, why: str, *, timed_out: bool = False) -> None:
        super().__init__(why)
        self.timed_out = timed_out


def command_output(argv: tuple[str, ...], seconds: float = _LONGEST_SECONDS) -> str:
    """What the command prints; raises SecretCommandError."""
    if not argv:
        raise SecretCommandError("its command is empty")
    try:
        process = subprocess.Popen(  # noqa: S603 - the program comes from the user's own configuration; no shell is involved
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise SecretCommandError(f"its command {argv[0]} cannot be run ({error.strerror})") from None
    with process:
        try:
            output, _ = process.communicate(timeout=max(min(seconds, _LONGEST_SECONDS), 0))
        except subprocess.TimeoutExpired:
            _kill(process)
            raise SecretCommandError(f"its command {argv[0]} took too long", timed_out=True) from None
    if process.returncode != 0:
        raise SecretCommandError(f"its command {argv[0]} exited with code {process.returncode}")
    if len(output) > _MAX_OUTPUT:
        raise SecretCommandError(f"its command {argv[0]} printed too much")
    return output.decode("utf-8", "replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
