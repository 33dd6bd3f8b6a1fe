"""A tiny MCP server over standard input and output, with one tool that adds a line to a file."""

import json
import sys
from pathlib import Path
from typing import Any

_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def result(method: str, params: Any) -> Any:
    """The result of a request, or None if the method is unknown."""
    if method == "initialize":
        server = {"name": "marker", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [{"name": "mark", "description": "Writes a file", "inputSchema": _SCHEMA}]}
    if method == "tools/call":
        with Path(params["arguments"]["path"]).open("a") as file:
            file.write("marked\n")
        return {"content": [{"type": "text", "text": "marked"}]}
    return None


def main() -> None:
    """Answers requests until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        found = result(request.get("method", ""), request.get("params"))
        unknown = {"error": {"code": -32601, "message": "method not found"}}
        reply = {"jsonrpc": "2.0", "id": request["id"], **({"result": found} if found is not None else unknown)}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
