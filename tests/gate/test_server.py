"""The process around the doors: where it listens, what it writes, what it tells, and how it ends."""

import asyncio
import io
import json
import logging
import os
import signal
import socket
import stat
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from aileron_tui.core.errors import AileronError
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_log import GateLog, GateLogHandler
from aileron_tui.gate.server import GateStartError, ListenAddress, bind, run
from tests.gate.conftest import Bench, until
from tests.gate.house import DRAFT, SEND, WAITING, house, session


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.7.7", "example.com"])
def test_other_machines_are_let_in_only_on_purpose(host: str) -> None:
    with pytest.raises(GateStartError) as refused:
        bind(ListenAddress(host, 0))
    assert "--allow-remote" in refused.value.hint


def test_it_can_be_told_to_let_them_in() -> None:
    bind(ListenAddress("0.0.0.0", 0, remote=True)).close()


def test_a_port_that_is_taken_is_said_to_be() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(GateStartError) as refused:
            bind(ListenAddress(port=taken.getsockname()[1]))
    assert "another program" in refused.value.detail


def test_a_whole_gate(bench: Bench) -> None:
    ready, log = io.StringIO(), io.StringIO()

    async def main() -> tuple[dict[str, Any], dict[str, Any], list[int], list[int]]:
        journal = GateLog(log, as_json=True)
        gate = asyncio.create_task(
            run(Gate(bench.setup()), bench.data, ListenAddress(port=0), output=ready, gate_log=journal)
        )
        while not ready.getvalue():
            assert not gate.done(), gate.exception()
            await asyncio.sleep(0.01)
        place = json.loads(ready.getvalue())
        token_file = Path(place["agent_token_file"])
        found = json.loads((bench.data / "gate.json").read_text())
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (token_file, bench.data / "gate.json")]
        token = token_file.read_text().strip()
        async with httpx.AsyncClient(base_url=place["url"], trust_env=False) as client:
            headers = {"Authorization": f"Bearer {token}"}
            answers = [(await client.get("/v1/actions", headers=headers)).status_code]
        assert token not in json.dumps(found) + ready.getvalue() + log.getvalue()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(gate, 20)
        return place, found, modes, answers

    place, found, modes, answers = until(main())
    assert ready.getvalue().count("\n") == 1
    assert set(place) == {"url", "instance", "agent_token_file"}
    assert set(found) == {"url", "pid", "instance", "version", "started_at", "agent_token_file"}
    assert (modes, answers) == ([0o600, 0o600], [200])
    assert not (bench.data / "gate.json").exists()
    assert not (bench.data / "agent.token").exists()
    events = [json.loads(line)["event"] for line in log.getvalue().splitlines()]
    assert events[-1] == "stopped"
    assert "http" in events


def test_two_gates_do_not_share_a_data_folder(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench):
            before = bench.data / "gate.json"
            with pytest.raises(AileronError) as refused:
                await run(
                    Gate(bench.setup()), bench.data, ListenAddress(port=0), output=io.StringIO(), gate_log=GateLog()
                )
            assert "gate" in str(refused.value)
            assert not before.exists()

    until(main())


def test_the_log_holds_no_secret_and_no_argument(bench: Bench) -> None:
    async def main() -> str:
        async with house(bench) as at:
            other = await session(at.stranger, bench.key)
            id_ = (await at.agent.post(SEND, json=DRAFT)).json()["approval_id"]
            item = await at.item(id_)
            await at.approver.post(f"{WAITING}/{id_}/decide", json=bench.answer(item))
            await at.ending(id_)
            await at.stranger.get(f"/v1/{at.token}")
            await at.stranger.get("/v1/health", params={"token": at.token})
            await at.stranger.get("/v1/health", headers={"X-Request-ID": "\x1b]0;title\x07".replace("\x07", "")[1:]})
            log = at.log.getvalue()
            for secret in (at.token, other, at.approver.headers["Authorization"][7:], "r-12345", "team@example.com"):
                assert secret not in log
            return log

    log = until(main())
    assert "POST /v1/actions/send-draft/run 202" in log
    assert "(no route) 401" in log
    assert all(character.isprintable() or character == "\n" for character in log)


def test_a_line_of_the_log_is_one_line_of_visible_text() -> None:
    stream = io.StringIO()
    journal = GateLog(stream)
    journal.note("http", "\x1b[2J\nforged line\u202e")
    handler = GateLogHandler(journal)
    try:
        raise ValueError("secret argument")
    except ValueError:
        record = logging.LogRecord("aileron_tui", logging.ERROR, "", 1, "it failed", None, sys.exc_info())
    handler.emit(record)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert "⟨ESC⟩[2J⏎forged line⟨U+202E⟩" in lines[0]
    assert "it failed (ValueError at test_a_line_of_the_log" in lines[1]
    assert "secret argument" not in stream.getvalue()


def test_a_log_that_nobody_reads_does_not_stop_the_gate() -> None:
    stream = io.StringIO()
    journal = GateLog(stream)
    stream.close()
    journal.note("http", "nobody reads this")
    journal.note("http", "nor this")
