"""Sessions: only for who holds an enrolled key, only for a while, and a challenge only once."""

import base64
from datetime import UTC, datetime

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.times import timestamp
from aileron_tui.gate.approver_sessions import (
    CHALLENGE_SECONDS,
    IDLE_SECONDS,
    LONGEST_SECONDS,
    MOST_SESSIONS,
    NotProven,
    Sessions,
)
from aileron_tui.gate.http_limits import HttpLimits
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.session_proof import session_proof
from tests.gate.conftest import Bench, until
from tests.gate.house import DRAFT, SEND, WAITING, error_code, house, prove, session

INSTANCE = "gate-1"
LEDGER = "sha256:" + "1" * 64


class World:
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
        with pytest.raises(NotProven) as error:
            self.sessions.open(challenge, (key or self.key).public.fingerprint, signature)
        return error.value.code


@pytest.fixture
def world() -> World:
    return World()


def test_a_signed_challenge_opens_a_session(world: World) -> None:
    session = world.sessions.find(world.open())
    assert session is not None
    assert (session.name, session.keyid) == ("laptop", world.key.public.fingerprint)
    assert session.expires_at == timestamp(datetime.fromtimestamp(world.now + IDLE_SECONDS, UTC))


def test_a_challenge_is_good_once(world: World) -> None:
    challenge = world.sessions.challenge()
    signature = world.sign(challenge)
    world.sessions.open(challenge, world.key.public.fingerprint, signature)
    assert world.refused(challenge, signature) == "used_challenge"


def test_a_challenge_is_good_for_a_minute(world: World) -> None:
    challenge = world.sessions.challenge()
    world.now += CHALLENGE_SECONDS
    assert world.refused(challenge, world.sign(challenge)) == "expired_challenge"
    # Also one that was used: by then it is forgotten that it was.
    other = world.sessions.challenge()
    world.sessions.open(other, world.key.public.fingerprint, world.sign(other))
    world.now += CHALLENGE_SECONDS
    world.open()
    assert world.refused(other, world.sign(other)) == "expired_challenge"


@pytest.mark.parametrize("odd", ["", "x", "é", "A" * 76, "====", base64.urlsafe_b64encode(bytes(56)).decode()])
def test_a_challenge_must_be_ours(world: World, odd: str) -> None:
    assert world.refused(odd, world.sign(odd)) == "unknown_challenge"


def test_a_challenge_of_another_process_is_not_ours(world: World) -> None:
    challenge = World().sessions.challenge()
    assert world.refused(challenge, world.sign(challenge)) == "unknown_challenge"


def test_a_changed_challenge_is_not_ours(world: World) -> None:
    raw = bytearray(base64.urlsafe_b64decode(world.sessions.challenge()))
    for index in range(len(raw)):
        raw[index] ^= 1
        challenge = base64.urlsafe_b64encode(raw).decode()
        assert world.refused(challenge, world.sign(challenge)) == "unknown_challenge"
        raw[index] ^= 1


def test_another_key_signs_for_nobody_else(world: World) -> None:
    other = for_this_run("other")
    challenge = world.sessions.challenge()
    assert world.refused(challenge, world.sign(challenge, other)) == "bad_signature"
    assert world.refused(challenge, world.sign(challenge, other), other) == "unknown_key"
    world.enrol(other, revoked="2026-05-12T11:00:00.000000Z")
    assert world.refused(challenge, world.sign(challenge, other), other) == "revoked_key"


def test_a_signature_for_another_gate_is_of_no_use_here(world: World) -> None:
    challenge = world.sessions.challenge()
    assert world.refused(challenge, world.sign(challenge, instance="gate-2")) == "bad_signature"
    assert world.refused(challenge, world.sign(challenge, ledger="sha256:" + "2" * 64)) == "bad_signature"


@pytest.mark.parametrize("signature", ["", "!", "é", "AAAA", base64.b64encode(bytes(64)).decode()])
def test_a_signature_must_be_one(world: World, signature: str) -> None:
    assert world.refused(world.sessions.challenge(), signature) == "bad_signature"


def test_a_session_ends_when_it_is_not_used(world: World) -> None:
    token = world.open()
    world.now += IDLE_SECONDS - 1
    assert world.sessions.find(token)
    world.now += IDLE_SECONDS - 1
    assert world.sessions.find(token)
    world.now += IDLE_SECONDS
    assert world.sessions.find(token) is None
    world.now -= IDLE_SECONDS
    assert world.sessions.find(token) is None


def test_a_session_ends_in_any_case(world: World) -> None:
    token = world.open()
    for _ in range(LONGEST_SECONDS // 300 - 1):
        world.now += 300
        assert world.sessions.find(token)
    world.now += 300
    assert world.sessions.find(token) is None


def test_a_session_ends_with_the_right_of_its_key(world: World) -> None:
    token = world.open()
    assert world.sessions.find(token)
    world.enrol(world.key, revoked="2026-05-12T11:00:00.000000Z")
    assert world.sessions.find(token) is None
    world.enrol(world.key)
    assert world.sessions.find(token) is None


def test_a_session_can_be_ended(world: World) -> None:
    token = world.open()
    session = world.sessions.find(token)
    assert session
    world.sessions.close(session)
    assert world.sessions.find(token) is None
    assert not world.sessions.renew(session)


def test_a_token_must_be_right_to_the_last_character(world: World) -> None:
    token = world.open()
    for odd in ("", token[:-1], token + "x", token.swapcase(), "x" * len(token)):
        assert world.sessions.find(odd) is None
    assert world.sessions.find(token)


def test_sessions_are_bounded_and_the_newest_stay(world: World) -> None:
    tokens = []
    for _ in range(MOST_SESSIONS + 5):
        world.now += 0.001
        tokens.append(world.open())
    alive = [token for token in tokens if world.sessions.find(token)]
    assert alive == tokens[5:]


def test_a_proof_is_no_decision_and_no_decision_a_proof() -> None:
    assert b"application/vnd.aileron.session+json" in session_proof("c", "i", "l")


def test_over_http(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at:
            stranger = for_this_run("stranger")
            refused = {
                "unknown_key": await prove(at.stranger, stranger),
                "bad_signature": await prove(at.stranger, stranger, keyid=bench.key.public.fingerprint),
                "unknown_challenge": await prove(at.stranger, bench.key, challenge="AAAA"),
            }
            for expected, answer in refused.items():
                assert (answer.status_code, error_code(answer)) == (403, expected)
            other = await prove(at.stranger, bench.key, instance="gate-0000000000000000")
            assert (other.status_code, error_code(other)) == (403, "bad_signature")
            missing = await at.stranger.post("/v1/approver/session", json={"challenge": 1})
            assert (missing.status_code, error_code(missing)) == (400, "invalid_body")
            assert (await at.approver.delete("/v1/approver/session")).status_code == 204
            assert (await at.approver.get(WAITING)).status_code == 401
            assert (await at.agent.post(SEND, json=DRAFT)).status_code == 202

    until(main())


def test_a_session_that_is_in_the_wrong_hands_cannot_fill_the_ledger(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench, HttpLimits(writes_per_second=0.001, writes_burst=3)) as at:
            id_ = (await at.agent.post(SEND, json=DRAFT)).json()["approval_id"]
            item = await at.item(id_)
            refreshed = [await at.approver.post(f"{WAITING}/{id_}/refresh") for _ in range(5)]
            assert [answer.status_code for answer in refreshed] == [200, 200, 200, 429, 429]
            assert error_code(refreshed[-1]) == "too_many_requests"
            assert int(refreshed[-1].headers["Retry-After"]) > 1
            assert (await at.approver.get(f"{WAITING}/watch")).status_code == 429
            recorded = at.gate.status()["ledger_head"]
            assert (await at.approver.post(f"{WAITING}/{id_}/refresh")).status_code == 429
            assert at.gate.status()["ledger_head"] == recorded

            # What only reads goes on, and so do answers; those that are refused have a bound of their own.
            assert (await at.approver.get(WAITING)).status_code == 200
            bad = bench.answer(item, instance="gate-0")
            one = await at.approver.post(f"{WAITING}/{id_}/decide", json=bad)
            assert one.status_code == 403
            batch = {"items": [{"id": id_, **bad}] * 4}
            assert (await at.approver.post(f"{WAITING}/batch/decide", json=batch)).status_code == 200
            over = await at.approver.post(f"{WAITING}/{id_}/decide", json=bad)
            assert (over.status_code, error_code(over)) == (429, "too_many_requests")

            # Another session is not held up by this one, and one that only comes too late is not charged.
            at.approver.headers["Authorization"] = f"Bearer {await session(at.stranger, bench.key)}"
            item = await at.item(id_)
            denied = await at.approver.post(f"{WAITING}/{id_}/decide", json=bench.answer(item, Verdict.DENY))
            assert denied.status_code == 200
            late = [await at.approver.post(f"{WAITING}/{id_}/decide", json=bench.answer(item)) for _ in range(6)]
            assert {answer.status_code for answer in late} == {409}

    until(main())
