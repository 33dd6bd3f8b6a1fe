"""A call that the MCP proxy holds until the gate has answered."""

import time
from typing import Final

from aileron_tui.core.jsontext import JsonObject, canonical
from aileron_tui.core.mcp_calls import AskedCall
from aileron_tui.core.mcp_messages import PROGRESS, notification_line
from aileron_tui.core.mcp_tools import PinnedTool
from aileron_tui.doors.mcp_previews import Preview
from aileron_tui.doors.mcp_questions import Allowed, Asking

_FIRST_PROGRESS: Final = 2.0
_PROGRESS_SECONDS: Final = 10.0
_PROGRESS_STEP: Final = 1e-6
"""The steps are tiny, because progress must only ever grow and the server's own starts after ours."""


class HeldCall:
    """A call that has not been sent. `is_over` means that nobody waits for it any more."""

    def __init__(self, asked: AskedCall, hold: float) -> None:
        now = time.monotonic()
        self.asked = asked
        self.args = asked.args
        self.end = now + hold
        self.tool: PinnedTool | None = None
        self.preview: Preview | None = None
        self.asking: Asking | None = None
        self.grant: Allowed | None = None
        self.is_over = False
        self.rounds = 0
        self._next_progress = now + _FIRST_PROGRESS
        self._progress = 0

    @property
    def seconds_left(self) -> float:
        """How long the client can still be kept waiting."""
        return max(1.0, self.end - time.monotonic())

    @property
    def key(self) -> tuple[str, bytes, str]:
        """What makes two calls the same."""
        return self.asked.tool, canonical(self.args), self.tool.hash if self.tool else ""

    def progress_line(self, now: float) -> bytes:
        """The next notification that the call still waits, if it is due and the client wants it; otherwise b""."""
        token = self.asked.progress_token
        if now < self._next_progress:
            return b""
        self._next_progress = now + _PROGRESS_SECONDS
        if token is None:
            return b""
        self._progress += 1
        progress: JsonObject = {"progressToken": token, "progress": self._progress * _PROGRESS_STEP}
        return notification_line(PROGRESS, progress | {"message": "Waiting for an answer in aileron-tui"})

    def next_time(self, now: float) -> float:
        """When something is due for this call."""
        return min(self._next_progress, self.end) if self.end > now else self._next_progress


def still_waiting(tool: str) -> str:
    """What a client is told before it gives up."""
    return (
        "This call still waits for an answer in aileron-tui, and nothing has been run yet. To go on waiting, call "
        f"{tool} again with exactly the same arguments: that is the same request, nobody is asked twice, and it runs "
        "once. Do not ask for confirmation in chat; only an answer in aileron-tui counts."
    )
