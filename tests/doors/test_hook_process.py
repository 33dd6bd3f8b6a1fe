"""A hook as a real process: whatever happens, it writes one JSON object, or exits with 2 and a reason."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors.fake_gate import TOKEN, FakeGate, deny, edit, fail, fake_gate, hold, refuse

CALL = {
    "session_id": "s-1",
    "transcript_path": "/tmp/t.jsonl",
    "cwd": "/work",
    "permission_mode": "default",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "date"},
    "tool_use_id": "toolu_1",
}


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[FakeGate]:
    with fake_gate(tmp_path / "home") as running:
        yield running


def environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "AILERON_TUI_HOME": str(home), "SECRET_OF_THE_AGENT": "canary-environment"}


def start(home: Path, *words: str, agent: str = "claude") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "aileron_tui", "hook", agent, *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment(home), stdin=pipe, stdout=pipe, stderr=pipe)


def hook(home: Path, data: object, *words: str, agent: str = "claude") -> tuple[int, dict[str, Any] | None, str]:
    """Runs a hook; returns its exit code, the JSON that it wrote, and the reason on standard error."""
    sent = data if isinstance(data, bytes) else json.dumps(data).encode()
    with start(home, *words, agent=agent) as process:
        out, err = process.communicate(sent, timeout=30)
    assert TOKEN not in (out + err).decode()
    assert b"canary-environment" not in out + err
    return process.returncode, json.loads(out) if out else None, err.decode()


def decision(answer: tuple[int, dict[str, Any] | None, str]) -> dict[str, Any]:
    """The decision about a tool call, which must be the only thing that was written."""
    code, output, error = answer
    assert (code, error) == (0, "")
    assert output is not None
    assert list(output) == ["hookSpecificOutput"]
    found: dict[str, Any] = output["hookSpecificOutput"]
    assert found["hookEventName"] == "PreToolUse"
    return found


def test_an_allowed_call_runs_with_the_approved_input(gate: FakeGate) -> None:
    found = decision(hook(gate.home, CALL, "--timeout", "60"))
    assert found["permissionDecision"] == "allow"
    assert found["updatedInput"] == {"command": "date"}
    (asked,) = gate.bodies("/v1/permissions")
    seconds = asked.pop("seconds")
    assert 50 <= seconds <= 55
    assert asked == {
        "tool": "Bash",
        "input": {"command": "date"},
        "folder": "/work",
        "session": "s-1",
        "call_id": "toolu_1",
        "door": "claude",
        "can_edit": True,
    }


def test_the_token_is_sent_only_after_the_gate_has_said_who_it_is(gate: FakeGate) -> None:
    gate.instance = "another"
    found = decision(hook(gate.home, CALL))
    assert found["permissionDecision"] == "deny"
    assert "another gate" in found["permissionDecisionReason"]
    assert [path for _, path, _, _ in gate.received] == ["/v1/health"]
    assert "Authorization" not in gate.received[0][3]


def test_an_edited_call_runs_with_the_edited_input(gate: FakeGate) -> None:
    gate.answer = edit(command="date -u")
    assert decision(hook(gate.home, CALL))["updatedInput"] == {"command": "date -u"}


def test_a_denied_call_says_why(gate: FakeGate) -> None:
    gate.answer = deny("not\x1b[2J today")
    found = decision(hook(gate.home, CALL))
    assert found["permissionDecision"] == "deny"
    assert found["permissionDecisionReason"] == "The operator denied this call: not⟨ESC⟩[2J today"
    assert "updatedInput" not in found


def test_a_pending_call_is_polled(gate: FakeGate) -> None:
    gate.polls, gate.answer = 2, edit(command="date -u")
    assert decision(hook(gate.home, CALL))["permissionDecision"] == "allow"
    assert [path for _, path, _, _ in gate.received][-1] == "/v1/permissions/req-1"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (fail("approval_timeout"), "Nobody answered"),
        (fail("withdrawn"), "it was withdrawn"),
        (refuse(401, "unauthorized"), "does not accept the token"),
        (refuse(409, "call_id_reused"), "call_id_reused"),
        (refuse(429, "asked_too_often"), "asked_too_often"),
        (refuse(503, "unavailable"), "unavailable"),
        (lambda _: (200, {}), "invalid reply"),
        (lambda _: (200, {"status": "allowed"}), "invalid reply"),
        (lambda _: (200, {"status": "allowed", "input": "x", "edited": False}), "invalid reply"),
        (lambda _: (500, {"status": "allowed", "input": {}, "edited": False}), "invalid reply"),
        (lambda _: (202, {"approval_id": "../agent"}), "invalid reply"),
    ],
)
def test_whatever_else_the_gate_says_is_no_permission(gate: FakeGate, answer: Any, words: str) -> None:
    gate.answer = answer
    found = decision(hook(gate.home, CALL))
    assert found["permissionDecision"] == "deny"
    assert words in found["permissionDecisionReason"]
    assert "operator denied" not in found["permissionDecisionReason"]


ALLOWED = b'{"status":"allowed","approval_id":"a","input":{},"edited":false}'


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + ALLOWED,
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Length: 64\r\n\r\n" + ALLOWED,
        b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\nTransfer-Encoding: chunked\r\n\r\n" + ALLOWED,
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + ALLOWED,
        b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n" + ALLOWED,
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + ALLOWED,
        b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 50_000,
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n" + ALLOWED,
    ],
)
def test_an_invalid_reply_is_no_permission(gate: FakeGate, raw: bytes) -> None:
    gate.raw = raw
    found = decision(hook(gate.home, CALL))
    assert found["permissionDecision"] == "deny"


def test_a_gate_that_never_ends_its_reply_is_left_in_time(gate: FakeGate) -> None:
    gate.raw, gate.drip = b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000, 0.05
    began = time.monotonic()
    found = decision(hook(gate.home, CALL, "--timeout", "3"))
    assert "Nobody answered" in found["permissionDecisionReason"]
    assert time.monotonic() - began < 3


def test_nobody_answered_in_time(gate: FakeGate) -> None:
    gate.answer = hold(10)
    began = time.monotonic()
    found = decision(hook(gate.home, CALL, "--timeout", "2"))
    assert found["permissionDecision"] == "deny"
    assert "not a denial" in found["permissionDecisionReason"]
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_it_waits_is_a_refusal(gate: FakeGate, number: signal.Signals) -> None:
    gate.answer = hold(1)
    with start(gate.home) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(CALL).encode())
        process.stdin.close()
        process.stdin = None
        assert gate.asked.wait(20)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    found = decision((process.returncode, json.loads(out), err.decode()))
    assert found["permissionDecision"] == "deny"
    assert number.name in found["permissionDecisionReason"]


def test_no_gate(tmp_path: Path) -> None:
    found = decision(hook(tmp_path, CALL))
    assert found["permissionDecision"] == "deny"
    assert "aileron-tui gate" in found["permissionDecisionReason"]


def test_a_dead_gate(tmp_path: Path) -> None:
    with fake_gate(tmp_path):
        pass
    found = decision(hook(tmp_path, CALL))
    assert "no gate is running" in found["permissionDecisionReason"]


def test_an_unknown_token(gate: FakeGate) -> None:
    (gate.home / "data/agents/claude.token").write_text("other")
    assert "does not accept the token" in decision(hook(gate.home, CALL))["permissionDecisionReason"]


def test_no_token(gate: FakeGate) -> None:
    (gate.home / "data/agents/claude.token").unlink()
    assert "aileron-tui agent add claude" in decision(hook(gate.home, CALL))["permissionDecisionReason"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"hook_event_name": "PreToolUse", "hook_event_name": "Stop"}',
        json.dumps(CALL).encode()[:-3],
        json.dumps({**CALL, "hook_event_name": "BeforeEverything"}).encode(),
        json.dumps({**CALL, "tool_input": []}).encode(),
        json.dumps({**CALL, "tool_name": 7}).encode(),
        json.dumps({**CALL, "tool_input": {"x": "\ud800"}}).encode(),
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"tool_input": {"n": 1e999999}}',
        b"x" * (9 * 1024 * 1024),
    ],
    ids=range(15),
)
def test_bad_input_is_refused(gate: FakeGate, data: bytes) -> None:
    code, output, error = hook(gate.home, data)
    assert (code, output) == (2, None)
    assert error.startswith("aileron-tui")
    assert not gate.bodies("/v1/permissions")


@pytest.mark.parametrize("words", [["--timeout", "x"], ["--timeout", "0"], ["--nope"], ["--agent", "../x"], ["--help"]])
def test_wrong_options_are_refused(gate: FakeGate, words: list[str]) -> None:
    code, output, error = hook(gate.home, CALL, *words)
    assert (code, output) == (2, None)
    assert "not run" in error


def test_closed_streams_are_refused(gate: FakeGate) -> None:
    for closing in ("<&-", ">&-", "<&- >&- 2>&-"):
        command = f"exec {sys.executable} -m aileron_tui hook claude {closing}"
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            input=None if "<&-" in closing else json.dumps(CALL).encode(),
            env=environment(gate.home),
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert (done.returncode, done.stdout) == (2, b"")
    assert not gate.bodies("/v1/permissions")


def test_a_reply_that_nobody_reads_is_a_refusal(gate: FakeGate) -> None:
    gate.answer = edit(content="x" * 300_000)
    with start(gate.home, "--timeout", "2") as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(CALL).encode())
        process.stdin.close()
        process.stdin = None
        assert process.wait(20) == 2
    with start(gate.home) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        process.communicate(json.dumps(CALL).encode(), timeout=20)
    assert process.returncode == 2


def test_a_large_reply_is_written_in_full(gate: FakeGate) -> None:
    gate.answer = edit(content="é" * 700_000)
    assert decision(hook(gate.home, CALL))["updatedInput"] == {"content": "é" * 700_000}


BROKEN = """
import importlib.abc, importlib.util, sys

class Broken(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name == sys.argv[1] else None

    def exec_module(self, module):
        exec(sys.argv[2], module.__dict__)

sys.meta_path.insert(0, Broken())
from aileron_tui.cli import main
sys.argv[1:] = ["hook", "claude"]
main()
"""


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("core.claude_hooks", "raise MemoryError"),
        ("core.claude_hooks", "raise SystemExit(0)"),
        ("core.claude_hooks", "def read_event(fields): return 1 / 0"),
        ("core.claude_hooks", "def read_event(fields): return read_event(fields)"),
        ("core.hook_event", "raise ImportError"),
        ("doors.hook_process", "raise KeyboardInterrupt"),
        ("doors.hook_process", "import nowhere"),
    ],
)
def test_a_bug_is_a_refusal(gate: FakeGate, module: str, code: str) -> None:
    program = BROKEN.replace("name == sys.argv[1]", f"name == {f'aileron_tui.{module}'!r}").replace(
        "sys.argv[2]", repr(code)
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(CALL).encode(),
        env=environment(gate.home),
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"aileron-tui")
