"""Approvers' sessions: who signs a fresh challenge with an enrolled key may read and watch for a while.

A challenge is not kept: it carries its own end and a seal that only this process can make, so asking for many costs
nothing. What is remembered is which ones were used, and only key holders can use one. A session by itself decides
nothing; each decision is signed on its own.
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
from aileron_tui.signing.session_proof import session_proof

CHALLENGE_SECONDS: Final = 60
IDLE_SECONDS: Final = 10 * 60
LONGEST_SECONDS: Final = 8 * 60 * 60
MOST_SESSIONS: Final = 256

_STAMP: Final = struct.Struct(">d16s")


class NotProven(Exception):
    """A session that was not granted; `code` for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True, eq=False)
class Session:
    """A key holder who proved it. Times are seconds of the clock of `Sessions`.

    `looks` and `faults` bound what is recorded and decides nothing, for a session may be in the wrong hands: previews
    fetched again and watches begun, and answers that were refused.
    """

    keyid: str
    name: str
    opened: float
    used: float
    looks: TokenBucket
    faults: TokenBucket

    @property
    def ends(self) -> float:
        """When it is over if it is not used again."""
        return min(self.used + IDLE_SECONDS, self.opened + LONGEST_SECONDS)

    @property
    def expires_at(self) -> str:
        """The same as a timestamp."""
        return timestamp(datetime.fromtimestamp(self.ends, UTC))


class Sessions:
    """Every session of this process. They end with it, as does every challenge."""

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
        self._spent: dict[str, float] = {}
        self._sessions: dict[bytes, Session] = {}

    def challenge(self) -> str:
        """Something to sign that was never signed before."""
        stamp = _STAMP.pack(self._clock() + CHALLENGE_SECONDS, secrets.token_bytes(16))
        return base64.urlsafe_b64encode(stamp + self._seal(stamp)).decode()

    def open(self, challenge: str, keyid: str, signature: str) -> tuple[str, Session]:
        """A session for the holder of an enrolled key, and the token that stands for it."""
        self._check_challenge(challenge)
        approver = self._approvers().get(keyid)
        if approver is None:
            raise NotProven("unknown_key", "this key may not approve here; `aileron-tui key enroll` lets it")
        if not _signed(approver, signature, session_proof(challenge, self._instance, self._ledger)):
            raise NotProven("bad_signature", "the challenge was not signed by this key")
        if approver.revoked:
            raise NotProven("revoked_key", "this key was revoked")
        now = self._clock()
        self._spent[challenge] = now + CHALLENGE_SECONDS
        self._tidy(now)
        token = secrets.token_urlsafe(32)
        session = Session(keyid, approver.name, now, now, self._bucket(), self._bucket())
        self._sessions[_digest(token)] = session
        return token, session

    def find(self, token: str) -> Session | None:
        """The session of a token, if it still holds; finding it renews it."""
        session = self._sessions.get(_digest(token))
        return session if session is not None and self.renew(session) else None

    def renew(self, session: Session) -> bool:
        """Whether a session still holds: not ended, not too old, key not revoked. If so, its idle time begins anew."""
        now = self._clock()
        approver = self._approvers().get(session.keyid)
        if now >= session.ends or approver is None or approver.revoked:
            self.close(session)
        if session not in self._sessions.values():
            return False
        session.used = now
        return True

    def close(self, session: Session) -> None:
        """Ends a session at once."""
        self._sessions = {key: other for key, other in self._sessions.items() if other is not session}

    def _bucket(self) -> TokenBucket:
        return TokenBucket(self._limits.writes_per_second, self._limits.writes_burst, self._clock)

    def _check_challenge(self, challenge: str) -> None:
        try:
            raw = base64.b64decode(challenge.encode("ascii"), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        stamp, seal = raw[: _STAMP.size], raw[_STAMP.size :]
        if len(stamp) != _STAMP.size or not hmac.compare_digest(seal, self._seal(stamp)):
            raise NotProven("unknown_challenge", "this gate did not make that challenge")
        if self._clock() >= _STAMP.unpack(stamp)[0]:
            raise NotProven("expired_challenge", "the challenge is too old; ask for another")
        if challenge in self._spent:
            raise NotProven("used_challenge", "the challenge was used before; ask for another")

    def _seal(self, stamp: bytes) -> bytes:
        return hmac.digest(self._secret, stamp, "sha256")

    def _tidy(self, now: float) -> None:
        self._spent = {challenge: end for challenge, end in self._spent.items() if end > now}
        kept = sorted((item for item in self._sessions.items() if item[1].ends > now), key=lambda item: item[1].used)
        self._sessions = dict(kept[-(MOST_SESSIONS - 1) :])


def _digest(token: str) -> bytes:
    """Tokens are looked up by digest, so that the time it takes says nothing about them."""
    return hashlib.sha256(token.encode()).digest()


def _signed(approver: Approver, signature: str, data: bytes) -> bool:
    try:
        raw = base64.b64decode(signature.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        return False
    return approver.public.accepts(raw, data)
