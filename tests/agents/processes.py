"""Processes of an agent and their ends."""

import os
import signal
import subprocess
from contextlib import suppress


def descendants(pid: int) -> dict[int, str]:
    """The command lines of all processes that a process started, by their ids; children after their parents."""
    listed = subprocess.run(["ps", "-axo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    found: dict[int, str] = {}
    parents = {pid}
    while parents:
        children = {int(row[0]): row[2] for row in rows if len(row) == 3 and int(row[1]) in parents}
        found |= children
        parents = set(children)
    return found


def hook_process(pid: int, word: str) -> int | None:
    """The hook that an agent waits for: not the shell that started it."""
    hooks = [child for child, line in descendants(pid).items() if f"hook {word} " in f"{line} "]
    return hooks[-1] if hooks else None


def end_group(process: "subprocess.Popen[bytes]", seconds: float = 5.0) -> None:
    """Ends a process and everything in its session that is left."""
    left = descendants(process.pid) if process.poll() is None else {}
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            break
    for pid in left:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
