"""The MCP server as a real process, with the client of the official SDK in each of its modes."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, MCPError, StdioServerParameters

from aileron_tui.core.decision import Verdict
from aileron_tui.files.agent_tokens import token_path
from tests.doors.test_mcp_server import DRAFT, answer, waiting
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import ServedGate, served_gate

Mode = Literal["legacy", "auto", "2026-07-28"]
MODES: tuple[Mode, ...] = ("legacy", "auto", "2026-07-28")


def server_of(served: ServedGate, home: Path, *words: str) -> StdioServerParameters:
    """The command that a client starts."""
    token = str(token_path(served.env.data, "default"))
    args = ["-m", "aileron_tui", "mcp", "--url", served.url, "--token-file", token, *words]
    environment = {"PATH": os.environ["PATH"], "AILERON_TUI_HOME": str(home)}
    return StdioServerParameters(command=sys.executable, args=args, env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_calls_actions(env: GateEnv, tmp_path: Path, mode: Mode) -> None:
    told: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def call(client: Client, **args: Any) -> dict[str, Any]:
        result = await client.call_tool("send-draft", DRAFT | args, progress_callback=on_progress)
        assert isinstance(result.structured_content, dict)
        return result.structured_content | {"is_error": result.is_error}

    async def main() -> None:
        async with served_gate(env) as served, Client(server_of(served, tmp_path), mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["send-draft"].annotations
            assert tools["send-draft"].annotations.destructive_hint is True
            assert tools["aileron_status"].annotations
            assert tools["aileron_status"].annotations.read_only_hint is True
            denied = asyncio.create_task(call(client))
            await asyncio.sleep(1.5)
            await answer(served, Verdict.DENY, reason="not today")
            assert (await denied)["reason"] == "not today"
            assert "send-draft" in str(told[0])
            cancelled = asyncio.create_task(call(client))
            await waiting(served)
            cancelled.cancel()
            await waiting(served, 0)
            approved = asyncio.create_task(call(client))
            await answer(served)
            assert (await approved)["status"] == "completed"
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("no-such-tool", {})

    run_async(main())


@pytest.mark.slow
def test_a_client_that_is_gone_leaves_nothing_waiting(env: GateEnv, tmp_path: Path) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            async with Client(server_of(served, tmp_path, "--hold", "1")) as client:
                result = await client.call_tool("send-draft", DRAFT)
                assert isinstance(result.structured_content, dict)
                assert result.structured_content["status"] == "waiting"
                await waiting(served)
            await waiting(served, 0)

    run_async(main())
