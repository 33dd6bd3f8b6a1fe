"""Viewer sessions: a process of the gate's own user may list and watch what agents sent, without a key.

A viewer sees nothing that the ledger file, which that user can read anyway, does not contain: no previews, no results.
It cannot change or decide anything. Sessions are opened only through the Unix socket, and their tokens are worth
nothing elsewhere. Nothing that a viewer does is recorded.
"""

import hashlib
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from aileron_tui.core.times import timestamp
from aileron_tui.core.values import dataclass
from aileron_tui.gate.http_limits import TokenBucket

IDLE_SECONDS: Final = 10 * 60
MAX_VIEWERS: Final = 32
OPENED_PER_SECOND: Final = 5.0
OPENED_BURST: Final = 50


@dataclass(slots=True, eq=False)
class ViewerSession:
    """The session of a viewer. Times are in seconds on the clock of `ViewerSessions`."""

    last_used: float
    name: str = "viewer"

    @property
    def expires_at(self) -> str:
        """When the session ends if it is not used again."""
        return timestamp(datetime.fromtimestamp(self.last_used + IDLE_SECONDS, UTC))


class ViewerSessions:
    """All viewer sessions of this process; they end with it."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._sessions: dict[bytes, ViewerSession] = {}
        self.opening_limit = TokenBucket(OPENED_PER_SECOND, OPENED_BURST, clock)

    def open(self) -> tuple[str, ViewerSession]:
        """Opens a session; returns its token and the session. If there are too many, the longest unused one ends."""
        token, session = secrets.token_urlsafe(32), ViewerSession(self._clock())
        used = sorted(self._sessions.items(), key=lambda item: item[1].last_used)
        self._sessions = dict(used[-(MAX_VIEWERS - 1) :])
        self._sessions[_digest(token)] = session
        return token, session

    def find(self, token: str) -> ViewerSession | None:
        """Returns the session of a token if it is still valid, and renews it."""
        session = self._sessions.get(_digest(token))
        return session if session is not None and self.renew(session) else None

    def is_open(self, token: str) -> bool:
        """Whether a token belongs to a session, which this does not renew."""
        return _digest(token) in self._sessions

    def renew(self, session: ViewerSession) -> bool:
        """Whether a session is still valid. If so, restarts its idle time."""
        now = self._clock()
        if now >= session.last_used + IDLE_SECONDS:
            self.close(session)
        if session not in self._sessions.values():
            return False
        session.last_used = now
        return True

    def close(self, session: ViewerSession) -> None:
        """Closes a session immediately."""
        self._sessions = {key: other for key, other in self._sessions.items() if other is not session}


def _digest(token: str) -> bytes:
    """Tokens are looked up by digest, so that lookup times reveal nothing about them."""
    return hashlib.sha256(token.encode()).digest()
