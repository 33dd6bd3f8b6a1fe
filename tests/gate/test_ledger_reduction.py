"""A running gate removes what is older than `[ledger] keep`, and goes on as before."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.files.boot_clock import BootClock
from aileron_tui.gate import gate as gate_module
from aileron_tui.gate import ledger_reduction
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.ledger.store import Ledger
from aileron_tui.signing.approvers import Approvers
from tests.gate.conftest import GateEnv, ask, previewed_request, run_async
from tests.ledger.scenes import check
from tests.stepping_clock import SteppingClock

SECRET = "xylophone"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "_REDUCTION_CHECK_SECONDS", 0.01)
    monkeypatch.setattr(ledger_reduction, "_AFTER_START", 0.0)


@contextmanager
def old_ledger(env: GateEnv, time: datetime) -> Iterator[Ledger]:
    """A new ledger in the place of the first one, which is not old."""
    shutil.rmtree(env.data)
    with open_ledger(env.data / LEDGER_FILE, clock=SteppingClock(time)) as ledger:
        ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("tester", env.key.public))
        yield ledger


def fill(env: GateEnv) -> Path:
    """Withdrawn requests, a waiting one, and a call that was handed over, all 40 days old."""
    path = env.data / LEDGER_FILE
    with old_ledger(env, datetime.now(UTC) - timedelta(days=40)) as ledger:
        for number in range(20):
            body: JsonObject = {"action": "send-draft", "agent": "agent-1", "says": "", "args": {"note": SECRET}}
            ledger.append(EntryKind.REQUESTED, body, f"act-{number}")
            ledger.append(EntryKind.WITHDRAWN, {"error": f"{SECRET} {number}"}, f"act-{number}")
    return path


async def reduced(path: Path) -> None:
    """Waits until the gate has removed and erased everything."""
    while True:
        await asyncio.sleep(0.01)
        with open_reader(path) as reader:
            listed = any(entry.kind == EntryKind.REDUCED for entry in reader.entries())
        if listed and not any(SECRET.encode() in file.read_bytes() for file in path.parent.glob("ledger.db*")):
            return


def test_a_gate_removes_what_is_old_and_goes_on(env: GateEnv) -> None:
    env.keep = "30d"
    path = fill(env)

    async def main() -> None:
        async with env.gate() as gate:
            await reduced(path)
            id_ = str((await ask(gate)).body["approval_id"])
            decision = env.decision(await previewed_request(gate, id_), Verdict.DENY)
            assert (await gate.decide(id_, decision)).status == 200

    run_async(main())
    report = check(path, noted=True)
    assert (report.fault, report.reduced) == (None, 40)
    with open_reader(path) as reader:
        assert {record.outcome for record in reader.every() if record.reduced} == {"withdrawn"}
        assert [record.outcome for record in reader.every() if not record.reduced] == ["denied"]


def test_a_gate_starts_again_on_a_reduced_ledger(env: GateEnv) -> None:
    env.keep = "30d"
    path = fill(env)

    async def main() -> None:
        for _ in range(2):
            async with env.gate():
                await reduced(path)

    run_async(main())
    with open_reader(path) as reader:
        assert sum(entry.kind == EntryKind.REDUCED for entry in reader.entries()) == 1
    assert check(path, noted=True).fault is None


def test_a_clock_that_is_wrong_for_a_while_removes_nothing(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    env.keep, ahead, uptime = "30d", timedelta(), 1000.0
    path = env.data / LEDGER_FILE

    def clock() -> datetime:
        return datetime(2024, 5, 12, tzinfo=UTC) + timedelta(seconds=uptime) + ahead

    async def reduced_after(seconds: float) -> int:
        nonlocal uptime
        uptime += seconds
        await asyncio.sleep(0.1)
        with open_reader(path) as reader:
            return sum(entry.kind == EntryKind.REDUCED for entry in reader.entries())

    async def main() -> None:
        nonlocal ahead
        monkeypatch.setattr(ledger_reduction, "_AFTER_START", 600.0)
        with old_ledger(env, clock()) as ledger:
            ledger.append(EntryKind.REQUESTED, {"action": "send-draft", "agent": "a", "says": "", "args": {}}, "act-1")
            ledger.append(EntryKind.WITHDRAWN, {}, "act-1")
        ahead = timedelta(days=365)  # the machine starts with a wrong clock
        async with env.gate(clock=clock, boot_clock=BootClock("b", lambda: uptime)):
            assert await reduced_after(300) == 0
            ahead = timedelta()
            assert await reduced_after(3500) == 0
            assert await reduced_after(3500) == 0
            ahead = timedelta(days=365)  # somebody sets it for a while
            assert await reduced_after(60) == 0
            ahead = timedelta()
            assert await reduced_after(60) == 0
            ahead = timedelta(days=365)  # or for good
            assert await reduced_after(60) == 0
            assert await reduced_after(3700) == 1

    run_async(main())


def test_without_the_setting_everything_is_kept(env: GateEnv) -> None:
    path = fill(env)

    async def main() -> None:
        async with env.gate():
            await asyncio.sleep(0.3)

    run_async(main())
    assert check(path).reduced == 0
    with open_reader(path) as reader:
        assert not any(entry.removed for entry in reader.entries())
