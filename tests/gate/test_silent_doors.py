"""A door that fell silent, or was passed by, is reported to the operator."""

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.gate.door_sessions import SILENCE, DoorSessions
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.ledger.open_store import open_reader
from tests.gate.conftest import GateEnv, run_async
from tests.gate.ruled_gate import verified
from tests.gate.served_gate import error_code, served_gate
from tests.gate.tool_calls import PERMISSIONS, asked, bash

NOW = datetime(2026, 5, 12, 10, 0, tzinfo=UTC)


class Transcript:
    """A clock and a transcript that change as a test says."""

    def __init__(self) -> None:
        self.now = NOW
        self.changed = NOW.timestamp()
        self.sessions = DoorSessions(lambda: self.now)
        self.sessions.heard("claude", "claude", "s-1", "/tmp/s-1.jsonl")

    def silent(self, after: timedelta, *, grew: bool = True) -> list[str]:
        self.now += after
        if grew:
            self.changed = self.now.timestamp()

        async def modified(agent: str, path: str) -> float:
            assert (agent, path) == ("claude", "/tmp/s-1.jsonl")
            return self.changed

        return [known.session for known in asyncio.run(self.sessions.silent(modified))]


def test_a_session_that_goes_on_without_its_hooks_is_reported_once() -> None:
    transcript = Transcript()
    assert transcript.silent(SILENCE / 2) == []
    assert transcript.silent(SILENCE) == []
    assert transcript.silent(timedelta(seconds=20)) == ["s-1"]
    assert transcript.silent(timedelta(seconds=20)) == []


def test_an_agent_that_floods_hides_no_session_of_another() -> None:
    transcript = Transcript()
    for number in range(2000):
        transcript.sessions.heard("hostile", "http", f"s-{number}", "/tmp/x")
    assert transcript.sessions.knows("claude", "s-1")
    assert not transcript.sessions.knows("hostile", "s-1")
    looked_at: list[str] = []

    async def modified(agent: str, _path: str) -> float:
        looked_at.append(agent)
        return 0.0

    transcript.now += 2 * SILENCE
    asyncio.run(transcript.sessions.silent(modified))
    assert "claude" in looked_at
    assert len(looked_at) < 50


def test_a_session_that_rests_is_not_reported() -> None:
    transcript = Transcript()
    for _ in range(9):
        assert transcript.silent(SILENCE, grew=False) == []


def test_one_long_answer_is_not_reported() -> None:
    transcript = Transcript()
    assert transcript.silent(3 * SILENCE) == []
    for _ in range(9):
        assert transcript.silent(timedelta(seconds=20), grew=False) == []


@pytest.mark.parametrize("sign", ["heard", "ended"])
def test_a_sign_of_life_or_the_end_of_the_session_starts_again(sign: str) -> None:
    transcript = Transcript()
    assert transcript.silent(2 * SILENCE) == []
    if sign == "heard":
        transcript.sessions.heard("claude", "claude", "s-1")
    else:
        transcript.sessions.ended("claude", "s-1")
    assert transcript.silent(timedelta(seconds=20)) == []


def test_the_gate_reads_when_a_transcript_changed(env: GateEnv, tmp_path: Path) -> None:
    path = tmp_path / "s-1.jsonl"
    path.write_text("{}\n")
    os.utime(path, (1_000_000, 1_000_000))

    async def work() -> None:
        async with env.gate() as gate:
            assert await gate._tools.files.modified("claude", str(path)) == 1_000_000
            assert await gate._tools.files.modified("claude", str(tmp_path / "missing")) == 0
            assert await gate._tools.files.modified("claude", "not absolute") == 0

    run_async(work())


def test_a_tool_that_ran_without_asking_is_reported_and_recorded(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            report = {"status": "executed", "session": "s-1", "call_id": "c-2"}
            unknown = await served.agent.post(f"{PERMISSIONS}/outcome", json=report)
            assert (unknown.status_code, error_code(unknown)) == (404, "not_found")
            await asked(served, bash(call_id="c-1"))
            assert (await served.agent.post(f"{PERMISSIONS}/outcome", json=report)).status_code == 404
            told = [json.loads(event.encoded) for event in served.gate.feed._history if event.name == "unasked"]
            assert [(event["agent"], event["session"]) for event in told] == [("default", "s-1")]
        with open_reader(env.data / LEDGER_FILE) as reader:
            assert [entry.body["call_id"] for entry in reader.entries() if entry.kind == EntryKind.UNASKED] == ["c-2"]
        verified(env)

    run_async(work())


@pytest.mark.parametrize(
    "body",
    [{}, {"door": "claude", "session": "s-1", "event": "other"}, {"door": 1, "session": "s-1", "event": "heard"}],
    ids=str,
)
def test_a_bad_sign_of_life_is_refused(env: GateEnv, body: dict[str, object]) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            response = await served.agent.post("/v1/doors", json=body)
            assert (response.status_code, error_code(response)) == (400, "invalid_body")
            good = {"door": "claude", "session": "s-1", "event": "started", "transcript": "/tmp/x"}
            assert (await served.agent.post("/v1/doors", json=good)).status_code == 204

    run_async(work())
