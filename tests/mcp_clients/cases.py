"""What real clients get from the MCP server. Not collected by `make test`: the clients must be installed first."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.files.agent_tokens import token_path
from tests.doors.test_mcp_server import DRAFT, answer
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import ServedGate, served_gate
from tests.mcp_clients.programs import inspector, old_sdk

TOOL_ERROR = 5
"""How the inspector exits after a result with `isError`."""

Client = Callable[[str, dict[str, str], list[str]], list[str]]


def call_with_old_sdk(tool: str, args: dict[str, str], server: list[str]) -> list[str]:
    """The command that calls a tool with the older SDK."""
    script = Path(__file__).with_name("old_sdk_client.py")
    return [str(old_sdk()), str(script), tool, json.dumps(args), *server]


def call_with_inspector(tool: str, args: dict[str, str], server: list[str]) -> list[str]:
    """The command that calls a tool with the inspector."""
    given = [word for name, value in args.items() for word in ("--tool-arg", f"{name}={value}")]
    return [str(inspector()), "--cli", *server, "--method", "tools/call", "--tool-name", tool, *given]


async def run_client(served: ServedGate, home: Path, command: Callable[[list[str]], list[str]]) -> dict[str, Any]:
    """Runs a client that starts the server; returns what it printed."""
    shim = home / "aileron-mcp"
    token = token_path(served.env.data, "default")
    words = f"mcp --url {served.url} --token-file {token}"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m aileron_tui {words}\n')
    shim.chmod(0o700)
    environment = {**os.environ, "AILERON_TUI_HOME": str(home), "HOME": str(home)}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command([str(shim)]), env=environment, stdout=pipe, stderr=pipe)
    out, error = await process.communicate()
    assert process.returncode in (0, TOOL_ERROR), (out + error).decode()
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize("client", [call_with_old_sdk, call_with_inspector])
@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_call_is_answered_by_a_person(env: GateEnv, tmp_path: Path, client: Client, verdict: Verdict) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            running = asyncio.create_task(
                run_client(served, tmp_path, lambda server: client("send-draft", DRAFT, server))
            )
            await answer(served, verdict)
            found = await running
            if client is call_with_old_sdk:
                assert found["sdk"].startswith("1.")
                assert found["revision"] == "2025-11-25"
                assert "send-draft" in found["tools"]
            result = found.get("result", found)
            assert bool(result.get("isError")) is (verdict is Verdict.DENY)
            expected = "denied" if verdict is Verdict.DENY else "completed"
            assert result["structuredContent"]["status"] == expected

    run_async(main())
    assert len(env.service.sent) == (verdict is Verdict.APPROVE)


def test_the_inspector_lists_the_tools(env: GateEnv, tmp_path: Path) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            found = await run_client(
                served, tmp_path, lambda server: [str(inspector()), "--cli", *server, "--method", "tools/list"]
            )
            tools = {tool["name"]: tool for tool in found["tools"]}
            assert tools["aileron_status"]["annotations"]["readOnlyHint"] is True
            assert tools["send-draft"]["annotations"]["destructiveHint"] is True

    run_async(main())
