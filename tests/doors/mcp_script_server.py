"""A small MCP server for tests, as a process of its own. Its first argument says how it behaves; it logs what it got.

It imports little, so that it starts fast.
"""

import json
import os
import sys
import time
from typing import Any

WRITE: dict[str, Any] = {"name": "write", "inputSchema": {"type": "object"}}
READ: dict[str, Any] = {"name": "read", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}


def append(path: str, data: bytes) -> None:
    """Adds data to a file."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, data)
    os.close(file)


def send(message: object) -> None:
    """Writes one message."""
    os.write(1, json.dumps(message).encode() + b"\n")


def result(id_: object, value: object) -> None:
    """Answers a request."""
    send({"jsonrpc": "2.0", "id": id_, "result": value})


def initialize(params: dict[str, Any]) -> dict[str, Any]:
    """The answer of a server of a generation with a handshake."""
    info = {"name": "script", "version": "1"}
    return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}


def call(id_: object, params: dict[str, Any], mode: str) -> None:
    """Calls the tool: writes the text to the file."""
    arguments = params.get("arguments") or {}
    if mode == "crash":
        os._exit(3)
    if mode == "hang":
        return
    if mode == "fail":
        result(id_, {"content": [{"type": "text", "text": "disk full"}], "isError": True})
        return
    if mode == "not unicode":
        result(id_, {"content": [{"type": "text", "text": "disk full \ud800"}], "isError": True})
        return
    if "path" in arguments:
        append(arguments["path"], arguments.get("text", "").encode())
    value = {"content": [{"type": "text", "text": json.dumps(params)}]}
    if mode == "twice":
        result(str(id_), value)
        result(id_, value)
    result(id_, value)


def other(id_: object, mode: str, waiting: list[object]) -> None:
    """Answers a request that is not about tools."""
    if mode == "garbage":
        os.write(1, b"Server started!\n\xff\xfe\x00\n\x1b[2J\n[]\n5\n\n")
    if mode != "slow order":
        result(id_, {})
        return
    waiting.append(id_)
    if len(waiting) == 3:
        for each in reversed(waiting):
            result(each, {})


def serve(mode: str, log: str) -> None:
    """Reads requests until the end of the input."""
    waiting: list[object] = []
    for line in sys.stdin.buffer:
        append(log, line)
        if mode == "echo":
            os.write(1, line)
            continue
        message = json.loads(line) if line.strip() else {}
        id_, params = message.get("id"), message.get("params", {})
        match message.get("method"):
            case None:
                continue
            case "initialize":
                result(id_, initialize(params))
            case "tools/list":
                result(id_, {"tools": [WRITE, READ]})
            case "tools/call":
                call(id_, params, mode)
            case str() if id_ is not None:
                other(id_, mode, waiting)
    if mode == "stubborn":
        time.sleep(60)
    if mode == "tail":
        os.write(1, b'{"jsonrpc":"2.0","method":"notifications/message"}')
    sys.exit(7 if mode == "exit code" else 0)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])
