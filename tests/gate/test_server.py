"""The gate process: where it listens, what it writes and logs, and how it stops."""

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
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import DRAFT, SEND, WAITING, served_gate, session


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.7.7", "example.com"])
def test_other_machines_need_allow_remote(host: str) -> None:
    with pytest.raises(GateStartError) as refused:
        bind(ListenAddress(host, 0))
    assert "--allow-remote" in refused.value.hint


def test_allow_remote_lets_other_machines_in() -> None:
    bind(ListenAddress("0.0.0.0", 0, remote=True)).close()


def test_a_port_in_use_is_reported() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(GateStartError) as refused:
            bind(ListenAddress(port=taken.getsockname()[1]))
    assert "another program" in refused.value.detail


def test_a_complete_gate_process(env: GateEnv) -> None:
    ready, log = io.StringIO(), io.StringIO()

    async def main() -> tuple[dict[str, Any], dict[str, Any], list[int], list[int]]:
        gate_log = GateLog(log, as_json=True)
        gate = asyncio.create_task(
            run(Gate(env.setup()), env.data, ListenAddress(port=0), output=ready, gate_log=gate_log)
        )
        while not ready.getvalue():
            assert not gate.done(), gate.exception()
            await asyncio.sleep(0.01)
        address = json.loads(ready.getvalue())
        token_file = Path(address["agent_token_file"])
        found = json.loads((env.data / "gate.json").read_text())
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (token_file, env.data / "gate.json")]
        token = token_file.read_text().strip()
        async with httpx.AsyncClient(base_url=address["url"], trust_env=False) as client:
            headers = {"Authorization": f"Bearer {token}"}
            answers = [(await client.get("/v1/actions", headers=headers)).status_code]
        assert token not in json.dumps(found) + ready.getvalue() + log.getvalue()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(gate, 20)
        return address, found, modes, answers

    address, found, modes, answers = run_async(main())
    assert ready.getvalue().count("\n") == 1
    assert set(address) == {"url", "instance", "agent_token_file"}
    assert set(found) == {"url", "pid", "instance", "version", "started_at", "agent_token_file", "socket", "ledger"}
    assert (modes, answers) == ([0o600, 0o600], [200])
    assert not (env.data / "gate.json").exists()
    assert (env.data / "agent.token").exists(), "the token stays valid after a restart"
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    events = [line["event"] for line in lines]
    assert events[-1] == "stopped"
    assert "http" in events
    assert {line["level"] for line in lines} == {"info"}


@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL])
def test_a_line_of_json_says_how_serious_it_is_and_has_no_control_characters(level: int) -> None:
    stream = io.StringIO()
    record = logging.LogRecord("aileron_tui.gate", level, "", 0, "%s", ("a\n\x1b[31m\u202eb\ud800",), None)
    GateLogHandler(GateLog(stream, as_json=True)).emit(record)
    (line,) = stream.getvalue().splitlines()
    assert line.isprintable()
    assert json.loads(line)["level"] == {"critical": "error"}.get(record.levelname.lower(), record.levelname.lower())
    assert json.loads(line)["text"] == "a⏎⟨ESC⟩[31m⟨U+202E⟩b⟨U+D800⟩"


def test_two_gates_do_not_share_a_data_folder(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env):
            before = env.data / "gate.json"
            with pytest.raises(AileronError) as refused:
                await run(Gate(env.setup()), env.data, ListenAddress(port=0), output=io.StringIO(), gate_log=GateLog())
            assert "gate" in str(refused.value)
            assert not before.exists()

    run_async(main())


def test_the_log_contains_no_secret_and_no_argument(env: GateEnv) -> None:
    async def main() -> str:
        async with served_gate(env) as served:
            other = await session(served.anonymous, env.key)
            id_ = (await served.agent.post(SEND, json=DRAFT)).json()["approval_id"]
            item = await served.previewed_request(id_)
            await served.approver.post(f"{WAITING}/{id_}/decide", json=env.decision(item))
            await served.result(id_)
            await served.anonymous.get(f"/v1/{served.token}")
            await served.anonymous.get("/v1/health", params={"token": served.token})
            await served.anonymous.get(
                "/v1/health", headers={"X-Request-ID": "\x1b]0;title\x07".replace("\x07", "")[1:]}
            )
            log = served.log.getvalue()
            for secret in (
                served.token,
                other,
                served.approver.headers["Authorization"][7:],
                "r-12345",
                "team@example.com",
            ):
                assert secret not in log
            return log

    log = run_async(main())
    assert "POST /v1/actions/send-draft/run 202" in log
    assert "(no route) 401" in log
    assert all(character.isprintable() or character == "\n" for character in log)


def test_a_log_entry_is_one_line_of_visible_text() -> None:
    stream = io.StringIO()
    gate_log = GateLog(stream)
    gate_log.note("http", "\x1b[2J\nforged line\u202e")
    handler = GateLogHandler(gate_log)
    try:
        raise ValueError("secret argument")
    except ValueError:
        record = logging.LogRecord("aileron_tui", logging.ERROR, "", 1, "it failed", None, sys.exc_info())
    handler.emit(record)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert "⟨ESC⟩[2J⏎forged line⟨U+202E⟩" in lines[0]
    assert "it failed (ValueError at test_a_log_entry" in lines[1]
    assert "secret argument" not in stream.getvalue()


def test_a_closed_log_does_not_stop_the_gate() -> None:
    stream = io.StringIO()
    gate_log = GateLog(stream)
    stream.close()
    gate_log.note("http", "nobody reads this")
    gate_log.note("http", "nor this")
