"""A client with an older SDK, run by the Python that has it: calls one tool of the server given as words.

Usage: old_sdk_client.py TOOL ARGUMENTS COMMAND…
"""

import asyncio
import importlib.metadata
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(tool: str, arguments: str, command: str, *words: str) -> None:
    """Prints the version of the SDK, the revision, the tools and the result."""
    told: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    server = StdioServerParameters(command=command, args=list(words), env=dict(os.environ))
    async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as session:
        opened = (await session.initialize()).model_dump(by_alias=True)
        tools = (await session.list_tools()).model_dump(by_alias=True)["tools"]
        result = await session.call_tool(tool, json.loads(arguments), progress_callback=on_progress)
        found = {
            "sdk": importlib.metadata.version("mcp"),
            "revision": opened["protocolVersion"],
            "tools": [item["name"] for item in tools],
            "progress": told,
            "result": result.model_dump(by_alias=True, mode="json"),
        }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
