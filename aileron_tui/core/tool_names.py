"""Names of tools: the MCP server that has a tool, and the tool's own name."""

from typing import Final

from aileron_tui.core.tool_call import ToolCall
from aileron_tui.core.values import dataclass

BESIDE_ARGS: Final = "mcp:"
"""What the names of those members of an MCP call begin with that are shown among its args but are none of them."""


@dataclass(frozen=True, slots=True)
class ToolName:
    """A tool and its MCP server, "" for a tool of the agent's own program."""

    tool: str
    server: str = ""


def tool_name(call: ToolCall) -> ToolName:
    """The server and the tool of a call. `mcp__gmail__send` is the tool `send` of the server `gmail`."""
    if call.server:
        for prefix in (f"mcp__{call.server}__", f"mcp_{call.server}_"):
            if call.tool.startswith(prefix) and len(call.tool) > len(prefix):
                return ToolName(call.tool.removeprefix(prefix), call.server)
        return ToolName(call.tool, call.server)
    if call.tool.startswith("mcp__"):
        server, _, tool = call.tool.removeprefix("mcp__").partition("__")
        return ToolName(tool or call.tool, server or "?")
    return ToolName(call.tool)
