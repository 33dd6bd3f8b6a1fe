"""An agent that asks too often is refused, and that is recorded and told."""

import json

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.rule import RuleReach
from aileron_tui.files.config import Policy
from aileron_tui.gate.asking_limit import WINDOW_SECONDS, AskedTooOften, AskingLimit
from aileron_tui.gate.http_request import reply_response
from aileron_tui.ledger.entry_check import verify
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.gate.conftest import ASKER, GateEnv, ask, code, dig, run_async
from tests.gate.ruled_gate import call, make_from, waiting


class Clock:
    """A clock that a test moves forward."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def test_an_agent_may_ask_so_often_in_ten_minutes_and_others_too() -> None:
    clock = Clock()
    limit = AskingLimit(3, clock)
    for _ in range(3):
        assert limit.ask("laptop") is None
        clock.now += 10
    assert limit.ask("laptop") == AskedTooOften(WINDOW_SECONDS - 30, first=True)
    clock.now += 60
    assert limit.ask("laptop") == AskedTooOften(WINDOW_SECONDS - 90, first=False)
    assert limit.ask("server") is None
    clock.now += WINDOW_SECONDS - 90
    assert limit.ask("laptop") is None
    assert limit.ask("laptop") == AskedTooOften(10, first=True)


def test_agents_that_are_quiet_are_forgotten_and_a_limit_of_zero_is_none() -> None:
    clock = Clock()
    limit = AskingLimit(1, clock)
    for number in range(100):
        limit.ask(f"agent-{number}")
    clock.now += WINDOW_SECONDS
    limit.ask("laptop")
    assert len(limit._asked) == 1
    without = AskingLimit(0, clock)
    assert not any(without.ask("laptop") for _ in range(5000))


def test_the_agent_is_told_it_is_recorded_once_and_watchers_are_told(env: GateEnv) -> None:
    most = 2
    env.policy = Policy(asks_per_10_minutes=most)

    async def work() -> None:
        async with env.gate() as gate:
            watching = gate.feed.subscribe()
            replies = [await ask(gate, draft_id=f"r-{number}") for number in range(most + 3)]
            assert [reply.status for reply in replies] == [202] * most + [429] * 3
            assert {code(reply) for reply in replies[most:]} == {"asked_too_often"}
            message = str(dig(replies[-1].body, "error", "message"))
            assert message.startswith(f"asked too often: this agent has made {most} requests in 10 minutes")
            assert 590 <= int(reply_response(replies[-1]).headers["Retry-After"]) <= WINDOW_SECONDS
            assert (await ask(gate, draft_id="r-0")).status == 202  # joins the one that waits
            other = await gate.call("send-draft", {"draft_id": "x"}, ASKER, agent="b")
            assert other.status == 202
            watching.close()
            told = [json.loads(event.encoded) async for event in watching if event.name == "limited"]
            assert [(item["agent"], item["most"]) for item in told] == [("agent-1", most)]

    run_async(work())
    with open_reader(env.data / "ledger.db") as reader:
        entries = [entry for entry in reader.entries() if entry.kind == EntryKind.LIMITED]
        assert [entry.body for entry in entries] == [{"agent": "agent-1", "most": most}]
        assert verify(reader.rows(), RecordedSigners()).fault is None


def test_what_a_rule_answers_does_not_count(env: GateEnv) -> None:
    env.policy = Policy(asks_per_10_minutes=1)
    mail = {"to": "team@example.com", "subject": "Weekly recap", "body": "Text"}

    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate, "draft-mail", **mail), RuleReach.ANY)
            for number in range(3):
                reply = await call(gate, "draft-mail", **mail | {"subject": f"Mail {number}"})
                assert (reply.status, reply.body["status"]) == (200, "completed")
            assert code(await call(gate, "send-draft", draft_id="r-12345")) == "asked_too_often"

    run_async(work())
