"""Approver sessions: signing a new challenge with an enrolled key allows reading and watching for a while.

Challenges are not stored: each contains its own expiry and a MAC that only this process can compute, so issuing many of
them takes no memory. Only used challenges are remembered, and only key holders can use one. A session alone cannot
decide anything; every decision is signed separately.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
import struct
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from aileron_tui.core.times import timestamp
from aileron_tui.core.values import dataclass
from aileron_tui.gate.http_limits import HttpLimits, TokenBucket
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.public_key import PublicKey
from aileron_tui.signing.session_proof import session_proof

CHALLENGE_SECONDS: Final = 60
IDLE_SECONDS: Final = 10 * 60
MAX_SESSION_SECONDS: Final = 8 * 60 * 60
MAX_SESSIONS: Final = 256

_CHALLENGE: Final = struct.Struct(">d16s")


class SessionRefused(Exception):
    """A session was refused; `code` is machine-readable, the message is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True, eq=False)
class Session:
    """The session of a client that proved it holds an enrolled key. Times are in seconds on the clock of `Sessions`.

    A session token can be stolen, so two limits apply to ledger entries that decide nothing: `view_limit` to refreshed
    previews and new watchers, `refusal_limit` to refused decisions.
    """

    keyid: str
    name: str
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


class Sessions:
    """All sessions of this process. Sessions and challenges end with the process."""

    def __init__(
        self,
        instance: str,
        ledger: str,
        approvers: Callable[[], Approvers],
        clock: Callable[[], float] = time.time,
        limits: HttpLimits | None = None,
    ) -> None:
        self._limits = limits or HttpLimits()
        self._instance = instance
        self._ledger = ledger
        self._approvers = approvers
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._used_challenges: dict[str, float] = {}
        self._sessions: dict[bytes, Session] = {}

    def challenge(self) -> str:
        """Returns a new challenge to sign."""
        payload = _CHALLENGE.pack(self._clock() + CHALLENGE_SECONDS, secrets.token_bytes(16))
        return base64.urlsafe_b64encode(payload + self._mac(payload)).decode()

    def open(self, challenge: str, keyid: str, signature: str) -> tuple[str, Session]:
        """Opens a session for the holder of an enrolled key; returns its token and the session."""
        self._check_challenge(challenge)
        approver = self._approvers().get(keyid)
        if approver is None:
            raise SessionRefused(
                "unknown_key", "this key is not enrolled here; enroll it with `aileron-tui key enroll`"
            )
        if not _signature_valid(approver, signature, session_proof(challenge, self._instance, self._ledger)):
            raise SessionRefused("bad_signature", "the challenge was not signed by this key")
        if approver.revoked:
            raise SessionRefused("revoked_key", "this key was revoked")
        now = self._clock()
        self._used_challenges[challenge] = now + CHALLENGE_SECONDS
        self._prune(now)
        token = secrets.token_urlsafe(32)
        session = Session(keyid, approver.name, now, now, self._bucket(), self._bucket())
        self._sessions[_digest(token)] = session
        return token, session

    def find(self, token: str) -> Session | None:
        """Returns the session of a token if it is still valid, and renews it."""
        session = self._sessions.get(_digest(token))
        return session if session is not None and self.renew(session) else None

    def is_open(self, token: str) -> bool:
        """Whether a token belongs to a session, which this does not renew."""
        return _digest(token) in self._sessions

    def renew(self, session: Session) -> bool:
        """Whether a session is still valid: not closed, not expired, key not revoked. If so, restarts its idle time."""
        now = self._clock()
        approver = self._approvers().get(session.keyid)
        if now >= session.ends_at or approver is None or approver.revoked:
            self.close(session)
        if session not in self._sessions.values():
            return False
        session.last_used = now
        return True

    def close(self, session: Session) -> None:
        """Closes a session immediately."""
        self._sessions = {key: other for key, other in self._sessions.items() if other is not session}

    def _bucket(self) -> TokenBucket:
        return TokenBucket(self._limits.writes_per_second, self._limits.writes_burst, self._clock)

    def _check_challenge(self, challenge: str) -> None:
        try:
            raw = base64.b64decode(challenge.encode("ascii"), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        payload, mac = raw[: _CHALLENGE.size], raw[_CHALLENGE.size :]
        if len(payload) != _CHALLENGE.size or not hmac.compare_digest(mac, self._mac(payload)):
            raise SessionRefused("unknown_challenge", "the challenge was not issued by this gate; request a new one")
        if self._clock() >= _CHALLENGE.unpack(payload)[0]:
            raise SessionRefused("expired_challenge", "the challenge has expired; request a new one")
        if challenge in self._used_challenges:
            raise SessionRefused("used_challenge", "the challenge was already used; request a new one")

    def _mac(self, payload: bytes) -> bytes:
        return hmac.digest(self._secret, payload, "sha256")

    def _prune(self, now: float) -> None:
        self._used_challenges = {challenge: end for challenge, end in self._used_challenges.items() if end > now}
        active = sorted(
            (item for item in self._sessions.items() if item[1].ends_at > now), key=lambda item: item[1].last_used
        )
        self._sessions = dict(active[-(MAX_SESSIONS - 1) :])


def _digest(token: str) -> bytes:
    """Tokens are looked up by digest, so that lookup times reveal nothing about them."""
    return hashlib.sha256(token.encode()).digest()


def _signature_valid(approver: Approver, signature: str, data: bytes) -> bool:
    try:
        raw = base64.b64decode(signature.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        return False
    return isinstance(approver.public, PublicKey) and approver.public.accepts(raw, data)
