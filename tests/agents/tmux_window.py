"""A window of tmux with programs in it, on a server of its own."""

import secrets
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.agents.agent_lab import CaseFailed, require

_SECONDS = 30.0


class TmuxWindow:
    """The window, until the block ends. Panes are numbered from left to right, from 0."""

    def __init__(self, size: tuple[int, int]) -> None:
        require(shutil.which("tmux"), "tmux is not installed")
        self._size = size
        self._name = f"aileron-{secrets.token_hex(6)}"
        self._panes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._panes:
            self._tmux("kill-server")

    def start(self, words: Sequence[str], env: Mapping[str, str], folder: Path, columns: int = 0) -> None:
        """Starts a program: the first one in the whole window, another one beside it with this many columns."""
        wide, high = map(str, self._size)
        # Panes get the environment of the server, so each program is started with its own.
        command = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in env.items()), *words]
        if not self._panes:
            self._tmux("new-session", "-d", "-x", wide, "-y", high, "-c", str(folder), *command)
            self._tmux("set", "-g", "default-terminal", "tmux-256color")
            self._tmux("set", "-g", "escape-time", "10")
        else:
            self._tmux("split-window", "-h", "-l", str(columns), "-c", str(folder), *command)
        self._panes += 1

    def type(self, text: str, pane: int = 0) -> None:
        """Types text and presses enter."""
        self._tmux("send-keys", "-t", f":.{pane}", "-l", text)
        time.sleep(0.3)  # what comes at once is taken for pasted text
        self.press("Enter", pane)

    def press(self, key: str, pane: int = 0) -> None:
        """Presses one key."""
        self._tmux("send-keys", "-t", f":.{pane}", key)

    def text(self, pane: int = 0) -> str:
        """What a pane shows."""
        return self._tmux("capture-pane", "-p", "-t", f":.{pane}")

    def styled_text(self, pane: int = 0) -> str:
        """What a pane shows, with escape sequences for its styles."""
        return self._tmux("capture-pane", "-p", "-e", "-N", "-t", f":.{pane}")

    def until(self, words: str, pane: int = 0) -> str:
        """Waits until a pane shows these words."""
        end = time.monotonic() + _SECONDS
        while words not in (shown := self.text(pane)):
            if time.monotonic() > end:
                raise CaseFailed(f"waited in vain for {words!r} on\n{shown}")
            time.sleep(0.1)
        return shown

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-L", self._name, "-f", "/dev/null", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
