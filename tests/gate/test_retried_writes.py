"""What cannot be recorded is tried again, and one entry that never can be holds up no other."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import InvalidTransition, RequestEvent, RequestState
from aileron_tui.gate import retried_writes
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.retried_writes import RetriedWrites
from aileron_tui.ledger.errors import EntryRefused, EntryTooLarge, LedgerUnusable
from tests.gate.conftest import GateEnv, run_async
from tests.gate.failing_disk import eventually


def writing(done: list[str], key: str, *errors: Exception) -> Callable[[], Awaitable[None]]:
    """A write that fails with these errors first."""
    left = list(errors)

    async def write() -> None:
        if left:
            raise left.pop(0)
        done.append(key)

    return write


BAD = [RuntimeError("a bug"), LedgerUnusable("the ledger cannot be written", "ValueError: a bad entry"), OSError(5)]


@pytest.mark.parametrize("error", BAD, ids=["bug", "entry", "disk"])
def test_an_entry_that_cannot_be_recorded_holds_up_no_other(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []
    writes = RetriedWrites()
    writes.add("act-1", writing(done, "act-1", *[error] * 3))
    writes.add("act-1 delivery", writing(done, "act-1 delivery"))
    writes.add("act-2", writing(done, "act-2"))

    async def work() -> None:
        await writes.retry()
        assert done == ["act-2"]
        assert writes.problem.startswith("what happened to act-1 cannot be recorded: ")
        await writes.retry()
        await writes.retry()
        assert caplog.text.count("cannot record what happened to act-1 yet") == 1
        await writes.retry()

    asyncio.run(work())
    assert done == ["act-2", "act-1", "act-1 delivery"]
    assert (len(writes), writes.problem) == (0, "")


NOT_ENDED = InvalidTransition(None, RequestEvent.SUCCEED)
ENDED_BEFORE = InvalidTransition(RequestState.EXECUTED, RequestEvent.SUCCEED)
LOST = "what happened to act-1 is missing in the history, because the ledger refuses it"


@pytest.mark.parametrize("error", [EntryRefused("made twice"), EntryTooLarge("too large"), NOT_ENDED], ids=repr)
def test_what_the_ledger_refuses_is_given_up_and_stays_a_problem(error: AileronError) -> None:
    done: list[str] = []
    writes = RetriedWrites()
    writes.add("act-1", writing(done, "act-1", error))
    writes.add("act-1 delivery", writing(done, "act-1 delivery", EntryRefused("it has not ended")))
    writes.add("act-2", writing(done, "act-2", OSError(5)))
    asyncio.run(writes.retry())
    assert (done, len(writes)) == ([], 1)
    assert writes.problem == f"{LOST}: {error}; what happened to act-2 cannot be recorded: 5"
    asyncio.run(writes.retry())
    assert (done, len(writes), writes.problem) == (["act-2"], 0, f"{LOST}: {error}")


def test_an_end_that_was_recorded_before_is_not_lost() -> None:
    writes = RetriedWrites()
    writes.add("act-1", writing([], "act-1", ENDED_BEFORE))
    asyncio.run(writes.retry())
    assert (len(writes), writes.problem) == (0, "")


def test_health_names_what_cannot_be_recorded(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retried_writes, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(retried_writes, "LONGEST_PAUSE", 0.05)
    done: list[str] = []

    async def work() -> None:
        async with env.gate() as gate:
            assert isinstance(gate, Gate)
            gate._ends.retried.add("act-1", writing(done, "act-1", *[RuntimeError("a bug")] * 10))
            gate._ends.retried.add("act-2", writing(done, "act-2"))
            await eventually(lambda: gate.problem == "what happened to act-1 cannot be recorded: a bug")
            await eventually(lambda: done == ["act-2", "act-1"])
            await eventually(lambda: not gate.problem)

    run_async(work())
