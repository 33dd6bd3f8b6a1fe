"""Who may see the page: codes that work once, and the sessions that they open.

A session is held by one tab of one browser. The browser sends its cookie to every server on this machine, whatever the
port, so the cookie alone opens nothing: the tab also sends a token of its own, which never leaves it otherwise. A
session decides nothing by itself; an approval needs a passkey.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from aileron_tui.core.times import timestamp
from aileron_tui.core.values import dataclass
from aileron_tui.gate.approver_sessions import IDLE_SECONDS, MAX_SESSION_SECONDS
from aileron_tui.gate.http_limits import HttpLimits, TokenBucket
from aileron_tui.gate.http_request import HttpRequest, Refusal, rate_limited
from aileron_tui.signing.approvers import Approvers

SESSION: Final = "aileron.page_session"
"""The key in the ASGI scope for the session of the tab."""

CODE_SECONDS: Final = 30
MAX_SESSIONS: Final = 64

_MAX_CODES: Final = 64
_USED_CODES: Final = 256
_AGAIN: Final = "Open it again with `aileron-tui page`."


@dataclass(frozen=True, slots=True)
class PageCode:
    """What a code opens: `enrolment` is the id of an enrolment, "" for the page itself."""

    keyid: str
    name: str
    expires_at: float
    enrolment: str = ""

    @property
    def until(self) -> str:
        """When it expires, as a timestamp."""
        return timestamp(datetime.fromtimestamp(self.expires_at, UTC))


@dataclass(slots=True, eq=False)
class PageSession:
    """The session of one tab. `keyid` and `name` are of the key that opened it; `id` is what the ledger records.

    `cookie` is a digest. `view_limit` is for ledger entries that decide nothing, `refusal_limit` for refused answers.
    """

    id: str
    keyid: str
    name: str
    enrolment: str
    cookie: bytes
    opened_at: float
    last_used: float
    view_limit: TokenBucket
    refusal_limit: TokenBucket

    @property
    def ends_at(self) -> float:
        """When the session ends if it is not used again."""
        return min(self.last_used + IDLE_SECONDS, self.opened_at + MAX_SESSION_SECONDS)

    @property
    def expires_at(self) -> str:
        """`ends_at` as a timestamp."""
        return timestamp(datetime.fromtimestamp(self.ends_at, UTC))


class PageSessions:
    """All codes and sessions of this run of the gate; they end with it."""

    def __init__(
        self, instance: str, approvers: Callable[[], Approvers], clock: Callable[[], float], limits: HttpLimits
    ) -> None:
        self._instance = instance
        self._approvers = approvers
        self._clock = clock
        self._limits = limits
        self._codes: dict[bytes, PageCode] = {}
        self._used: dict[bytes, PageSession] = {}
        self._sessions: dict[bytes, PageSession] = {}
        self._wrong_codes = TokenBucket(5.0, 50, clock)
        self.on_end: Callable[[PageSession], None] = lambda _: None
        self.on_used_code: Callable[[PageSession], None] = lambda _: None

    def issue(self, keyid: str, name: str, enrolment: str = "") -> tuple[str, PageCode]:
        """A new code for the holder of a key."""
        now = self._clock()
        self._codes = {digest: code for digest, code in self._codes.items() if code.expires_at > now}
        while len(self._codes) >= _MAX_CODES:
            del self._codes[next(iter(self._codes))]
        text = secrets.token_urlsafe(32)
        code = self._codes[_digest(text)] = PageCode(keyid, name, now + CODE_SECONDS, enrolment)
        return text, code

    def open(self, text: str, cookies: Sequence[str]) -> tuple[PageSession, str, str]:
        """Opens a session with a code; returns it, the token of its tab, and the cookie.

        Tabs of one browser share a cookie, so that one more tab does not end the others. A code that is used twice
        was seen by somebody else, so the session that it opened ends. Only wrong codes are limited: any program on
        this machine can send those, and must not keep out who has a right one.
        """
        digest, now = _digest(text), self._clock()
        code = self._codes.pop(digest, None)
        if code is None:
            if (opened := self._used.pop(digest, None)) is not None:
                self.close(opened)
                self.on_used_code(opened)
                message = (
                    "this code was used before, so what it opened is closed now; if that was not you, stop the gate"
                )
                raise Refusal(403, "used_code", f"{message}. {_AGAIN}")
            if seconds := self._wrong_codes.take():
                raise rate_limited("codes", seconds)
            raise Refusal(403, "unknown_code", f"this code is not valid. {_AGAIN}")
        if now >= code.expires_at:
            raise Refusal(403, "expired_code", f"this code has expired: it works for {CODE_SECONDS} seconds. {_AGAIN}")
        if not self._is_active(code.keyid):
            raise Refusal(403, "revoked_key", "the key that opened this page was revoked")
        own = [one for one in self._sessions.values() if one.keyid == code.keyid and one.ends_at > now]
        shared = (cookie for cookie in cookies if any(_has_cookie(one, cookie) for one in own))
        cookie = next(shared, "") or secrets.token_urlsafe(32)
        tab = f"{self._instance}.{secrets.token_urlsafe(32)}"
        id_ = f"page-{secrets.token_hex(6)}"
        buckets = [TokenBucket(self._limits.writes_per_second, self._limits.writes_burst, self._clock) for _ in "12"]
        session = PageSession(id_, code.keyid, code.name, code.enrolment, _digest(cookie), now, now, *buckets)
        self._remember(digest, session, now)
        self._sessions[_digest(tab)] = session
        return session, tab, cookie

    def is_waiting(self, proof: str) -> bool:
        """Whether a code waits to be used whose digest is this, in hex digits: only who has the code knows it."""
        now = self._clock()
        return any(digest.hex() == proof and code.expires_at > now for digest, code in self._codes.items())

    def _remember(self, digest: bytes, session: PageSession, now: float) -> None:
        self._used[digest] = session
        while len(self._used) > _USED_CODES:
            del self._used[next(iter(self._used))]
        active = sorted(
            (item for item in self._sessions.items() if item[1].ends_at > now), key=lambda item: item[1].last_used
        )
        self._sessions = dict(active[-(MAX_SESSIONS - 1) :])

    def find(self, tab: str, cookies: Sequence[str]) -> PageSession:
        """The session of a tab, which is renewed. Raises Refusal with the reason if there is none."""
        if not tab:
            raise Refusal(401, "no_tab", f"this page is not open in this tab. {_AGAIN}")
        session = self._sessions.get(_digest(tab))
        if session is None or not self.renew(session):
            instance = tab.rpartition(".")[0]
            if instance and instance != self._instance:
                raise Refusal(401, "gate_restarted", f"the gate was restarted since this page was opened. {_AGAIN}")
            raise Refusal(401, "session_ended", f"the session of this page has ended. {_AGAIN}")
        if not cookies:
            raise Refusal(401, "no_cookie", f"the browser sent no cookie; allow cookies for localhost. {_AGAIN}")
        if not any(_has_cookie(session, cookie) for cookie in cookies):
            raise Refusal(401, "wrong_cookie", f"another program on this machine replaced this page's cookie. {_AGAIN}")
        return session

    def is_open(self, tab: str) -> bool:
        """Whether a token belongs to a session, which this does not renew."""
        return _digest(tab) in self._sessions

    def renew(self, session: PageSession) -> bool:
        """Whether a session is still valid: not closed, not expired, its key not revoked. If so, restarts its time."""
        now = self._clock()
        if now >= session.ends_at or not self._is_active(session.keyid):
            self.close(session)
        if session not in self._sessions.values():
            return False
        session.last_used = now
        return True

    def close(self, session: PageSession) -> None:
        """Closes a session immediately."""
        self.on_end(session)
        self._sessions = {digest: other for digest, other in self._sessions.items() if other is not session}

    def _is_active(self, keyid: str) -> bool:
        approver = self._approvers().get(keyid)
        return approver is not None and not approver.revoked


def tab_session(http_request: HttpRequest) -> PageSession:
    found = http_request.raw.scope[SESSION]
    if not isinstance(found, PageSession):
        raise TypeError("this route is open")
    return found


def reading_session(http_request: HttpRequest) -> PageSession:
    """The session of a tab that may see requests."""
    session = tab_session(http_request)
    if session.enrolment:
        raise Refusal(403, "forbidden", "this tab only registers a passkey; open another one with `aileron-tui page`")
    return session


def enrolling_session(http_request: HttpRequest) -> PageSession:
    """The session of a tab that registers a passkey."""
    session = tab_session(http_request)
    if not session.enrolment:
        raise Refusal(403, "forbidden", "to register a passkey, run `aileron-tui key security-key add`")
    return session


def _has_cookie(session: PageSession, cookie: str) -> bool:
    return hmac.compare_digest(session.cookie, _digest(cookie))


def _digest(text: str) -> bytes:
    """Secrets are looked up by digest, so that lookup times reveal nothing about them."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
