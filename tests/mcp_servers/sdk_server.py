# mypy: ignore-errors
"""A server made with the Python SDK: over pipes, or over HTTP if a port is given. It needs the SDK and nothing else."""

import asyncio
import sys
from pathlib import Path

import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

SCHEMA = {"type": "object", "properties": {"path": {"type": "string", "x-mcp-header": "Path"}}}


async def list_tools(ctx, params):
    """Lists the only tool."""
    return types.ListToolsResult(tools=[types.Tool(name="append", description="Appends.", input_schema=SCHEMA)])


async def call_tool(ctx, params):
    """Appends a text to a file, and reports progress before."""
    await ctx.session.report_progress(1, 2)
    with Path(params.arguments["path"]).open("a") as file:
        file.write(params.arguments["text"])
    return types.CallToolResult(content=[types.TextContent(type="text", text="done")])


server = Server("sdk", on_list_tools=list_tools, on_call_tool=call_tool)


async def over_pipes():
    """Serves standard input and output."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if len(sys.argv) > 1:
    import uvicorn

    app = server.streamable_http_app(host="127.0.0.1")
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
else:
    asyncio.run(over_pipes())
