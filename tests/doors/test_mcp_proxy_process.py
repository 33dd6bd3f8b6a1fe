"""The MCP proxy as a process: byte for byte, with servers that behave and servers that do not."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors.fake_gate import FakeGate, deny, fake_gate, hold, refuse
from tests.doors.proxy_process import Conversation, proxied, server_command

HELLO = b'{ "jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"} }\r\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[FakeGate]:
    with fake_gate(tmp_path, "mcp-files") as running:
        yield running


def conversation() -> list[bytes]:
    """What a client might send, in odd spellings and sizes."""
    requests = [
        HELLO,
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n',
        b'{"jsonrpc":"2.0","id":"\xc3\xa9","method":"resources\\/read","params":{"n":1.50}}\n',
        b'{"jsonrpc":"2.0","id":2,"method":"completion/complete","params":{"x":"' + b"y" * 3_000_000 + b'"}}\n',
        b"\n",
    ]
    return [*requests, b'{"jsonrpc":"2.0","id":3,"method":"ping"}']


@pytest.mark.parametrize("mode", ["plain", "garbage", "slow order", "tail", "exit code"])
def test_what_is_not_gated_is_the_same_byte_for_byte(home: Path, mode: str) -> None:
    """The same conversation with and without the proxy."""
    results = []
    for is_proxied in (False, True):
        with proxied(home, mode) if is_proxied else Conversation(server_command(mode, home / "alone.log")) as talk:
            for line in conversation()[: 4 if mode in ("garbage", "tail") else None]:
                talk.write(line)
            code, _ = talk.finish()
            results.append((code, talk.received))
    assert results[0] == results[1]
    assert (home / "alone.log").read_bytes() == (home / "server.log").read_bytes()


def test_ten_megabytes_pass_in_both_directions(home: Path) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"y" * 10_000_000 + b'"}}\n'
    with proxied(home, "echo") as talk:
        received = b""
        for start in range(0, len(line), 60_000):
            talk.write(line[start : start + 60_000])
        received = talk.line()
        assert received == line
        assert talk.finish()[0] == 0


def test_a_client_that_does_not_read_does_not_stop_its_calls(home: Path, gate: FakeGate) -> None:
    gate.answer = deny("no")
    line = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"x":"' + b"y" * 50_000 + b'"}}\n'
    with proxied(home, "echo") as talk:
        for _ in range(10):
            talk.write(line)
        talk.write(b'{"jsonrpc":"2.0","id":1,"method":"x/y"}\n')
        assert gate.asked.wait(10)
        lines = [talk.line() for _ in range(11)]
        assert lines.count(line) == 10
        (answer,) = (json.loads(other) for other in lines if other != line)
        assert answer["error"]["message"] == "The operator denied this call: no. Nothing was run."


def test_a_denied_call_is_answered_and_not_made(home: Path, gate: FakeGate) -> None:
    gate.answer = deny("not\x1b[2J today")
    with proxied(home, "plain") as talk:
        talk.call(1, path=str(home / "file"), text="x")
        assert talk.text() == "The operator denied this call: not⟨ESC⟩[2J today. Nothing was run."
        talk.request(2, "ping")
        assert talk.message()["id"] == 2
        assert talk.finish() == (0, b"")
    (asked,) = gate.bodies("/v1/permissions")
    assert asked.pop("session").startswith("mcp-")
    assert asked.pop("definition").startswith("sha256:")
    assert asked == {
        "tool": "write",
        "input": {"path": str(home / "file"), "text": "x"},
        "server": "files",
        "call_id": "1",
        "door": "mcp-proxy",
        "can_edit": True,
        "resumable": True,
    }
    assert not (home / "file").exists()
    assert b"tools/call" not in (home / "server.log").read_bytes()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refuse(401, "unauthorized"), "agent rotate mcp-files"),
        (refuse(429, "too_many_calls"), "status 429"),
        (
            lambda _: (200, {"status": "allowed", "approval_id": "req-1", "input": {}, "edited": False}),
            "Nothing was run",
        ),
        (lambda _: (200, {"status": "allowed"}), "Nothing was run"),
        (lambda _: (200, {}), "invalid reply"),
        (lambda _: (202, {"approval_id": "../x"}), "invalid reply"),
    ],
    ids=["401", "429", "unsigned", "short", "empty", "bad id"],
)
def test_only_a_signed_answer_allows_a_call(home: Path, gate: FakeGate, answer: Any, words: str) -> None:
    gate.answer = answer
    with proxied(home, "plain") as talk:
        talk.call(1, path=str(home / "file"), text="x")
        message = talk.message()
        assert message["result"]["isError"] is True
        assert words in message["result"]["content"][0]["text"]
    assert not (home / "file").exists()


def test_without_a_gate_the_agent_is_told_how_to_start_one(home: Path) -> None:
    with proxied(home, "plain") as talk:
        talk.call(1)
        assert talk.text() == (
            "Nothing was run, because aileron-tui could not ask: no gate is running here: "
            f"{home}/data/gate.json does not exist. Start one with `aileron-tui gate`."
        )


def test_without_a_setup_every_request_says_what_to_run(home: Path) -> None:
    with proxied(home, "plain", "--name", "other") as talk:
        for id_, method in enumerate(("initialize", "server/discover", "tools/call")):
            talk.request(id_, method, name="x")
            message = talk.message()
            assert message["id"] == id_
            assert "aileron-tui setup mcp" in message["error"]["message"]
        talk.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert talk.finish() == (0, b"")
    assert not (home / "server.log").exists()


def test_a_command_that_does_not_exist_is_named(home: Path) -> None:
    with proxied(home, "plain", command=["/nonexistent/server"]) as talk:
        talk.request(1, "initialize")
        assert "/nonexistent/server cannot be started" in talk.message()["error"]["message"]


def test_a_call_that_is_held_too_long_can_be_made_again(home: Path, gate: FakeGate) -> None:
    gate.polls, gate.answer = 2, deny("no")
    with proxied(home, "plain", "--hold", "1") as talk:
        for id_ in (1, 2):
            talk.call(id_, a=1)
            assert "still waits" in talk.text()
        talk.call(3, a=1)
        assert talk.text() == "The operator denied this call: no. Nothing was run."
    asked = [(method, path) for method, path, _, _ in gate.received if path != "/v1/health"]
    assert asked == [("POST", "/v1/permissions"), *[("GET", "/v1/permissions/req-1")] * 2]


def test_a_held_call_reports_progress_and_is_withdrawn_when_it_is_cancelled(home: Path, gate: FakeGate) -> None:
    gate.answer = hold(8)
    with proxied(home, "plain") as talk:
        talk.request(1, "tools/call", name="write", _meta={"progressToken": "t"})
        assert gate.asked.wait(10)
        progress = talk.message()
        assert progress["method"] == "notifications/progress"
        assert progress["params"]["progressToken"] == "t"
        talk.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        talk.request(2, "ping")
        assert talk.message()["id"] == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["eof", "vanish", "term"])
def test_a_client_that_leaves_ends_everything(home: Path, gate: FakeGate, how: str) -> None:
    gate.answer = hold(30)
    with proxied(home, "stubborn") as talk:
        talk.call(1)
        assert gate.asked.wait(10)
        began = time.monotonic()
        if how == "eof":
            talk.stdin.close()
        elif how == "vanish":
            talk.stdout.close()
        else:
            talk.process.send_signal(signal.SIGTERM)
        assert talk.process.wait(15) == (143 if how == "term" else 0)
        assert 1.5 < time.monotonic() - began < 8
    assert b"tools/call" not in (home / "server.log").read_bytes()


def test_a_server_that_crashes_ends_the_proxy_with_its_code(home: Path) -> None:
    with proxied(home, "crash") as talk:
        talk.request(1, "tools/list")
        talk.message()
        os.kill(server_of(talk), signal.SIGKILL)
        assert talk.process.wait(15) == 137


def server_of(talk: Conversation) -> int:
    """The process of the server behind a proxy."""
    children = Path(f"/proc/{talk.process.pid}/task/{talk.process.pid}/children").read_text()
    return int(children.split()[0])


def test_the_server_runs_in_a_group_of_its_own_and_gets_the_standard_error(home: Path) -> None:
    with proxied(home, "plain") as talk:
        talk.request(1, "ping")
        talk.message()
        pid = server_of(talk)
        assert os.getpgid(pid) == pid
        errors = [Path(f"/proc/{each}/fd/2").readlink() for each in (pid, talk.process.pid)]
        assert errors[0] == errors[1]


def test_lines_that_are_too_odd_are_answered_and_the_rest_goes_on(home: Path) -> None:
    with proxied(home, "plain") as talk:
        talk.write(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
        assert talk.message()["error"]["code"] == -32600
        assert talk.message() == {"jsonrpc": "2.0", "id": 2, "result": {}}
    assert json.loads((home / "server.log").read_bytes())["id"] == 2
