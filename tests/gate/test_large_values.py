"""Work on large values, outside the event loop."""

import asyncio
import threading

from aileron_tui.core.jsontext import Json, canonical
from aileron_tui.core.prompt import Asker
from aileron_tui.gate.call_inputs import fingerprint
from aileron_tui.gate.large_values import LARGE_BYTES, work_on
from tests.gate.conftest import GateEnv, ask, previewed_request, run_async


def test_only_large_values_leave_the_event_loop() -> None:
    async def threads() -> tuple[str, str]:
        return (
            await work_on(LARGE_BYTES, lambda: threading.current_thread().name),
            await work_on(LARGE_BYTES + 1, lambda: threading.current_thread().name),
        )

    small, large = asyncio.run(threads())
    assert small == threading.main_thread().name
    assert large.startswith("large-values")


def test_the_fingerprint_covers_who_calls_and_what() -> None:
    def of(agent: str = "laptop", says: str = "claude", action: str = "send", **args: Json) -> str:
        return fingerprint(agent, Asker(agent, says=says), action, canonical(args))

    same = of(to="a")
    assert of(to="a") == same
    assert len({same, of("other", to="a"), of(says="codex", to="a"), of(action="move", to="a"), of(to="b"), of()}) == 6


def test_a_large_call_is_shown_whole_and_joined(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            long = "x" * (2 * LARGE_BYTES)
            first, second = await ask(gate, draft_id=long), await ask(gate, draft_id=long)
            assert first.status == second.status == 202
            assert first.body["approval_id"] == second.body["approval_id"]
            item = await previewed_request(gate, str(first.body["approval_id"]))
            assert item["args"] == {"draft_id": long}

    run_async(work())
