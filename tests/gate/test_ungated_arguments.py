"""What the ledger keeps of the arguments of ungated calls, and how much one agent can write to it."""

import hashlib

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject, canonical
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.gate.gate_state import GateLimits
from aileron_tui.ledger.open_store import open_reader
from tests.gate.conftest import ASKER, GateEnv, ask, code, run_async


def test_large_arguments_are_in_the_ledger_by_digest(env: GateEnv) -> None:
    large: JsonObject = {"draft_id": "x" * 900_000}

    async def work() -> None:
        async with env.gate() as gate:
            for _ in range(4):
                await gate.call("get-draft", large, ASKER, agent="agent-1")
            await ask(gate, "get-draft")

    run_async(work())
    assert (env.data / LEDGER_FILE).stat().st_size < 1_000_000
    reader = open_reader(env.data / LEDGER_FILE)
    bodies = [entry.body for entry in reader.entries() if entry.kind == EntryKind.RUNNING]
    digest = f"sha256:{hashlib.sha256(canonical(large)).hexdigest()}"
    assert [body.get("cut") for body in bodies] == [{"args": {"digest": digest, "bytes": 900_015}}] * 4 + [None]
    assert [body.get("args") for body in bodies] == [None] * 4 + [{"draft_id": "r-12345"}]
    reader.close()


def test_one_agent_cannot_fill_the_ledger(env: GateEnv) -> None:
    env.limits = GateLimits(ledger_bytes_per_second=1, ledger_bytes_burst=5000)

    async def work() -> None:
        async with env.gate() as gate:
            replies = [await ask(gate, draft_id="x" * 2000 + str(number)) for number in range(3)]
            assert [reply.status for reply in replies] == [202, 429, 429]
            assert "this agent writes too much to the ledger" in str(replies[1].body)
            ungated = [await ask(gate, "get-draft") for _ in range(3)]
            assert [reply.status for reply in ungated][1:] == [429, 429]
            assert code(ungated[2]) == "too_many_calls"
            other = await gate.call("send-draft", {"draft_id": "r-12345"}, ASKER, agent="b")
            assert other.status == 202

    run_async(work())
