"""An MCP proxy that cannot work: it answers every request with the reason and with what to do."""

from aileron_tui.core.errors import AileronError
from aileron_tui.core.mcp_messages import NOT_ALLOWED, BadMessage, MessageKind, error_line, read_client_line
from aileron_tui.doors.mcp_proxy import Lines


class UnreadyProxy:
    """Answers requests in place of a server that was not started."""

    def __init__(self, lines: Lines, error: AileronError) -> None:
        self._lines = lines
        self._text = " ".join(part for part in (f"aileron-tui: {error}.", error.hint) if part)
        lines.note(self._text.removeprefix("aileron-tui: "))

    def from_client(self, line: bytes, end: bytes = b"\n") -> None:
        """Answers a request."""
        del end
        try:
            message = read_client_line(line)
        except BadMessage as bad:
            self._lines.to_client(error_line(bad.id, bad.code, bad.reason))
            return
        if message.kind is MessageKind.REQUEST:
            self._lines.to_client(error_line(message.id, NOT_ALLOWED, self._text))

    def from_server(self, line: bytes, end: bytes = b"\n") -> None:
        """There is no server."""

    def tick(self, now: float) -> None:
        """Nothing is ever due."""

    def next_time(self, now: float) -> float:
        """Nothing is ever due."""
        del now
        return float("inf")

    @property
    def is_timed(self) -> bool:
        """Nothing is ever due."""
        return False

    def client_left(self) -> None:
        """Nothing waits."""

    def server_left(self, reason: str) -> None:
        """There is no server."""
