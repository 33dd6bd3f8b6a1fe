"""Approver sessions: only for holders of an enrolled key, for a limited time, and one per challenge."""

import base64
from datetime import UTC, datetime

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.times import timestamp
from aileron_tui.gate.approver_sessions import (
    CHALLENGE_SECONDS,
    IDLE_SECONDS,
    MAX_SESSION_SECONDS,
    MAX_SESSIONS,
    SessionRefused,
    Sessions,
)
from aileron_tui.gate.http_limits import HttpLimits
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.session_proof import session_proof
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import DRAFT, SEND, WAITING, error_code, prove, served_gate, session

INSTANCE = "gate-1"
LEDGER = "sha256:" + "1" * 64


class SessionEnv:
    """A clock that is set by hand and a list of who may approve."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.key = for_this_run("laptop")
        self.approvers = Approvers()
        self.enrol(self.key)
        self.sessions = Sessions(INSTANCE, LEDGER, lambda: self.approvers, lambda: self.now)

    def enrol(self, key: UnlockedKey, revoked: str = "") -> None:
        self.approvers[key.public.fingerprint] = Approver(key.name, key.public, "2026-05-12T10:00:00.000000Z", revoked)

    def sign(
        self, challenge: str, key: UnlockedKey | None = None, instance: str = INSTANCE, ledger: str = LEDGER
    ) -> str:
        return base64.b64encode((key or self.key).sign(session_proof(challenge, instance, ledger))).decode()

    def open(self) -> str:
        challenge = self.sessions.challenge()
        return self.sessions.open(challenge, self.key.public.fingerprint, self.sign(challenge))[0]

    def refused(self, challenge: str, signature: str, key: UnlockedKey | None = None) -> str:
        with pytest.raises(SessionRefused) as error:
            self.sessions.open(challenge, (key or self.key).public.fingerprint, signature)
        return error.value.code


@pytest.fixture
def session_env() -> SessionEnv:
    return SessionEnv()


def test_a_signed_challenge_opens_a_session(session_env: SessionEnv) -> None:
    session = session_env.sessions.find(session_env.open())
    assert session is not None
    assert (session.name, session.keyid) == ("laptop", session_env.key.public.fingerprint)
    assert session.expires_at == timestamp(datetime.fromtimestamp(session_env.now + IDLE_SECONDS, UTC))


def test_a_challenge_can_be_used_once(session_env: SessionEnv) -> None:
    challenge = session_env.sessions.challenge()
    signature = session_env.sign(challenge)
    session_env.sessions.open(challenge, session_env.key.public.fingerprint, signature)
    assert session_env.refused(challenge, signature) == "used_challenge"


def test_a_challenge_expires_after_a_minute(session_env: SessionEnv) -> None:
    challenge = session_env.sessions.challenge()
    session_env.now += CHALLENGE_SECONDS
    assert session_env.refused(challenge, session_env.sign(challenge)) == "expired_challenge"
    # Also one that was used: by then it is forgotten that it was.
    other = session_env.sessions.challenge()
    session_env.sessions.open(other, session_env.key.public.fingerprint, session_env.sign(other))
    session_env.now += CHALLENGE_SECONDS
    session_env.open()
    assert session_env.refused(other, session_env.sign(other)) == "expired_challenge"


@pytest.mark.parametrize("odd", ["", "x", "é", "A" * 76, "====", base64.urlsafe_b64encode(bytes(56)).decode()])
def test_a_challenge_must_come_from_this_process(session_env: SessionEnv, odd: str) -> None:
    assert session_env.refused(odd, session_env.sign(odd)) == "unknown_challenge"


def test_a_challenge_of_another_process_is_refused(session_env: SessionEnv) -> None:
    challenge = SessionEnv().sessions.challenge()
    assert session_env.refused(challenge, session_env.sign(challenge)) == "unknown_challenge"


def test_a_modified_challenge_is_refused(session_env: SessionEnv) -> None:
    raw = bytearray(base64.urlsafe_b64decode(session_env.sessions.challenge()))
    for index in range(len(raw)):
        raw[index] ^= 1
        challenge = base64.urlsafe_b64encode(raw).decode()
        assert session_env.refused(challenge, session_env.sign(challenge)) == "unknown_challenge"
        raw[index] ^= 1


def test_a_signature_by_another_key_is_refused(session_env: SessionEnv) -> None:
    other = for_this_run("other")
    challenge = session_env.sessions.challenge()
    assert session_env.refused(challenge, session_env.sign(challenge, other)) == "bad_signature"
    assert session_env.refused(challenge, session_env.sign(challenge, other), other) == "unknown_key"
    session_env.enrol(other, revoked="2026-05-12T11:00:00.000000Z")
    assert session_env.refused(challenge, session_env.sign(challenge, other), other) == "revoked_key"


def test_a_signature_for_another_gate_is_refused(session_env: SessionEnv) -> None:
    challenge = session_env.sessions.challenge()
    assert session_env.refused(challenge, session_env.sign(challenge, instance="gate-2")) == "bad_signature"
    assert session_env.refused(challenge, session_env.sign(challenge, ledger="sha256:" + "2" * 64)) == "bad_signature"


@pytest.mark.parametrize("signature", ["", "!", "é", "AAAA", base64.b64encode(bytes(64)).decode()])
def test_an_invalid_signature_is_refused(session_env: SessionEnv, signature: str) -> None:
    assert session_env.refused(session_env.sessions.challenge(), signature) == "bad_signature"


def test_a_session_ends_when_it_is_not_used(session_env: SessionEnv) -> None:
    token = session_env.open()
    session_env.now += IDLE_SECONDS - 1
    assert session_env.sessions.find(token)
    session_env.now += IDLE_SECONDS - 1
    assert session_env.sessions.find(token)
    session_env.now += IDLE_SECONDS
    assert session_env.sessions.find(token) is None
    session_env.now -= IDLE_SECONDS
    assert session_env.sessions.find(token) is None


def test_a_session_ends_after_its_maximum_time(session_env: SessionEnv) -> None:
    token = session_env.open()
    for _ in range(MAX_SESSION_SECONDS // 300 - 1):
        session_env.now += 300
        assert session_env.sessions.find(token)
    session_env.now += 300
    assert session_env.sessions.find(token) is None


def test_a_session_ends_when_its_key_is_revoked(session_env: SessionEnv) -> None:
    token = session_env.open()
    assert session_env.sessions.find(token)
    session_env.enrol(session_env.key, revoked="2026-05-12T11:00:00.000000Z")
    assert session_env.sessions.find(token) is None
    session_env.enrol(session_env.key)
    assert session_env.sessions.find(token) is None


def test_a_session_can_be_closed(session_env: SessionEnv) -> None:
    token = session_env.open()
    session = session_env.sessions.find(token)
    assert session
    session_env.sessions.close(session)
    assert session_env.sessions.find(token) is None
    assert not session_env.sessions.renew(session)


def test_a_token_must_match_exactly(session_env: SessionEnv) -> None:
    token = session_env.open()
    for odd in ("", token[:-1], token + "x", token.swapcase(), "x" * len(token)):
        assert session_env.sessions.find(odd) is None
    assert session_env.sessions.find(token)


def test_sessions_are_limited_and_the_newest_stay(session_env: SessionEnv) -> None:
    tokens = []
    for _ in range(MAX_SESSIONS + 5):
        session_env.now += 0.001
        tokens.append(session_env.open())
    alive = [token for token in tokens if session_env.sessions.find(token)]
    assert alive == tokens[5:]


def test_a_session_proof_and_a_decision_cannot_be_confused() -> None:
    assert b"application/vnd.aileron.session+json" in session_proof("c", "i", "l")


def test_over_http(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            anonymous = for_this_run("anonymous")
            refused = {
                "unknown_key": await prove(served.anonymous, anonymous),
                "bad_signature": await prove(served.anonymous, anonymous, keyid=env.key.public.fingerprint),
                "unknown_challenge": await prove(served.anonymous, env.key, challenge="AAAA"),
            }
            for expected, answer in refused.items():
                assert (answer.status_code, error_code(answer)) == (403, expected)
            other = await prove(served.anonymous, env.key, instance="gate-0000000000000000")
            assert (other.status_code, error_code(other)) == (403, "bad_signature")
            missing = await served.anonymous.post("/v1/approver/session", json={"challenge": 1})
            assert (missing.status_code, error_code(missing)) == (400, "invalid_body")
            assert (await served.approver.delete("/v1/approver/session")).status_code == 204
            assert (await served.approver.get(WAITING)).status_code == 401
            assert (await served.agent.post(SEND, json=DRAFT)).status_code == 202

    run_async(main())


def test_a_stolen_session_cannot_fill_the_ledger(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(writes_per_second=0.001, writes_burst=3)) as served:
            id_ = (await served.agent.post(SEND, json=DRAFT)).json()["approval_id"]
            item = await served.previewed_request(id_)
            refreshed = [await served.approver.post(f"{WAITING}/{id_}/refresh") for _ in range(5)]
            assert [answer.status_code for answer in refreshed] == [200, 200, 200, 429, 429]
            assert error_code(refreshed[-1]) == "too_many_requests"
            assert int(refreshed[-1].headers["Retry-After"]) > 1
            assert (await served.approver.get(f"{WAITING}/watch")).status_code == 429
            recorded = served.gate.status()["ledger_head"]
            assert (await served.approver.post(f"{WAITING}/{id_}/refresh")).status_code == 429
            assert served.gate.status()["ledger_head"] == recorded

            # What only reads goes on, and so do answers; those that are refused have a bound of their own.
            assert (await served.approver.get(WAITING)).status_code == 200
            bad = env.decision(item, instance="gate-0")
            one = await served.approver.post(f"{WAITING}/{id_}/decide", json=bad)
            assert one.status_code == 403
            batch = {"items": [{"id": id_, **bad}] * 4}
            assert (await served.approver.post(f"{WAITING}/batch/decide", json=batch)).status_code == 200
            over = await served.approver.post(f"{WAITING}/{id_}/decide", json=bad)
            assert (over.status_code, error_code(over)) == (429, "too_many_requests")

            # Another session is not held up by this one, and one that only comes too late is not charged.
            served.approver.headers["Authorization"] = f"Bearer {await session(served.anonymous, env.key)}"
            item = await served.previewed_request(id_)
            denied = await served.approver.post(f"{WAITING}/{id_}/decide", json=env.decision(item, Verdict.DENY))
            assert denied.status_code == 200
            late = [await served.approver.post(f"{WAITING}/{id_}/decide", json=env.decision(item)) for _ in range(6)]
            assert {answer.status_code for answer in late} == {409}

    run_async(main())
