"""Short conversations with real servers: over HTTP, and in the newest revision of the protocol."""

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from aileron_tui.doors.mcp_session import McpSession
from aileron_tui.doors.mcp_session_http import SessionHttp
from aileron_tui.doors.mcp_session_process import SessionFault, SessionProcess
from tests.mcp_servers.programs import program


def test_a_server_over_http() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [program("mcp-server-everything"), "streamableHttp"]
    environment = {**os.environ, "PORT": str(port)}
    with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            assert answer(f"http://127.0.0.1:{port}/mcp") == {"content": [{"type": "text", "text": "Echo: hi"}]}
        finally:
            process.terminate()


def answer(url: str) -> object:
    """What the server says once it has started."""
    deadline = time.monotonic() + 30
    while True:
        with McpSession(SessionHttp(url)) as session:
            try:
                session.start()
            except SessionFault:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
                continue
            assert "echo" in session.tools()
            return session.call("echo", {"message": "hi"})


def test_both_generations_have_the_same_definitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [program("mcp-server-git")]
    with McpSession(SessionProcess(command)) as session:
        session.start()
        before = session.tools()
    with McpSession(SessionProcess(command)) as session:
        monkeypatch.setattr(session, "_is_modern", True)
        assert {name: tool.hash for name, tool in session.tools().items()} == {
            name: tool.hash for name, tool in before.items()
        }
        failed = session.call("git_status", {"repo_path": str(tmp_path)})
        assert (failed["isError"], failed["resultType"]) == (True, "complete")
