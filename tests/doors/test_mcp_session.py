"""A short conversation with a real server process, which may be of either generation or have a fault."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.errors import AileronError
from aileron_tui.doors import mcp_session_process
from aileron_tui.doors.mcp_session import McpSession, SessionLimits
from aileron_tui.doors.mcp_session_process import SessionFault, SessionProcess

SERVER = Path(__file__).with_name("small_mcp_server.py")
SHORT = SessionLimits(start=0.4, listing=0.4, call=0.4)
LONG = SessionLimits(start=20, listing=20, call=20)


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that do not want to end are not waited for as long as usual."""
    monkeypatch.setattr(mcp_session_process, "_SECONDS_TO_END", 0.1)


def session(folder: Path, fault: str = "", limits: SessionLimits = LONG) -> McpSession:
    return McpSession(SessionProcess([sys.executable, "-I", str(SERVER), str(folder), fault]), limits)


def received(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "received").read_text().splitlines()]


@pytest.mark.parametrize("fault", ["", "modern", "chatty", "pages"])
def test_tools_are_listed_and_called(tmp_path: Path, fault: str) -> None:
    (tmp_path / "a").write_text("hello")
    with session(tmp_path, fault) as talk:
        talk.start()
        assert list(talk.tools()) == ["write_note", "read_note", "touch_note", "count"]
        assert talk.call("read_note", {"name": "a"})["content"] == [{"type": "text", "text": "hello"}]
        assert talk.call("read_note", {"name": "b"})["isError"] is True
    sent = received(tmp_path)
    assert sent[0]["method"] == "initialize"
    if fault == "modern":
        assert [message["method"] for message in sent[1:3]] == ["server/discover", "tools/list"]
        meta = sent[-1]["params"]["_meta"]
        assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        assert meta["io.modelcontextprotocol/clientCapabilities"] == {}
    else:
        assert "notifications/initialized" in [message.get("method") for message in sent]
        assert all("_meta" not in message.get("params", {}) for message in sent)


def test_nothing_is_done_for_the_server(tmp_path: Path) -> None:
    with session(tmp_path, "chatty") as talk:
        talk.start()
        talk.tools()
    answers = {message["id"]: message for message in received(tmp_path) if "method" not in message}
    assert answers["p"]["result"] == {}
    assert answers["r"]["error"]["code"] == -32601


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("crash", "exited with code 3: it says: the disk is"),
        ("killed", "was ended by signal 9"),
        ("version", "unknown revision of MCP: 1999-01-01"),
        ("flood", "a line that is too long"),
        ("two ids", "can be understood in two ways"),
        ("list result", "is not an object"),
        ("endless", "does not end"),
        ("twice", "two tools called write_note"),
        ("odd tools", "cannot be read"),
    ],
)
def test_a_server_with_a_fault_is_told_apart(tmp_path: Path, fault: str, words: str) -> None:
    with session(tmp_path, fault) as talk, pytest.raises(AileronError) as raised:
        listed(talk)
    assert words in str(raised.value)


def listed(talk: McpSession) -> object:
    talk.start()
    return talk.tools()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("hang", "did not answer initialize within 0."),
        ("garbage", "such as: \ufffd\ufffd not a message"),
        ("deaf", "did not answer initialize"),
    ],
)
def test_a_silent_server_is_not_waited_for(tmp_path: Path, fault: str, words: str) -> None:
    with pytest.raises(SessionFault) as raised, session(tmp_path, fault, SHORT) as talk:
        talk.start()
    assert words in str(raised.value)


def test_a_server_that_reads_nothing_cannot_block_a_large_call(tmp_path: Path) -> None:
    with session(tmp_path, "deaf", SHORT) as talk:
        started = time.monotonic()
        with pytest.raises(SessionFault, match="did not answer tools/call"):
            talk.call("write_note", {"name": "x" * 10_000_000})
        assert time.monotonic() - started < 5


def test_a_slow_and_a_failing_call(tmp_path: Path) -> None:
    with session(tmp_path, "slow call", SessionLimits(start=20, listing=20, call=0.2)) as talk:
        talk.start()
        with pytest.raises(SessionFault, match="did not answer tools/call"):
            talk.call("read_note", {})
    with session(tmp_path, "call error") as talk:
        talk.start()
        with pytest.raises(SessionFault, match="refused tools/call: the note"):
            talk.call("read_note", {})


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks at processes in /proc")
def test_a_server_that_does_not_want_to_end_is_killed_with_its_children(tmp_path: Path) -> None:
    with session(tmp_path, "stubborn") as talk:
        talk.start()
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 10
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_running, pids))


@pytest.mark.parametrize("command", [[], ["/nonexistent/server"], ["a\0b"], [""]])
def test_a_command_that_cannot_be_started(command: list[str]) -> None:
    with pytest.raises(SessionFault, match="cannot start"):
        SessionProcess(command)
