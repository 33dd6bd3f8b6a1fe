"""A small MCP server for tests, which keeps notes in a folder and has a fault if it is told to.

It is started as a script, without the package, in both generations of the protocol.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FOLDER, FAULT = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
MODERN = "io.modelcontextprotocol/protocolVersion"
TEXT = {"type": "object", "properties": {"name": {"type": "string"}, "text": {"type": "string"}}, "required": ["name"]}
TOOLS: list[dict[str, Any]] = [
    {"name": "write_note", "inputSchema": TEXT, "annotations": {"destructiveHint": True}},
    {"name": "read_note", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
    {"name": "touch_note", "inputSchema": TEXT},
    {
        "name": "count",
        "inputSchema": {
            "type": "object",
            "properties": {"number": {"anyOf": [{"type": "null"}, {"type": "integer"}]}, "on": {"type": "boolean"}},
        },
    },
]


def send(message: object) -> None:
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    os.write(1, line + b"\n")


def result(id_: object, value: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": value}


def error(id_: object, code: int, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": text}}


def call(name: str, args: dict[str, Any]) -> dict[str, Any]:
    file = FOLDER / str(args.get("name"))
    (FOLDER / "calls").open("a").write(f"{name}\n")
    if name == "write_note":
        file.write_text(args["text"])
        return {"content": [{"type": "text", "text": "written"}]}
    if not file.exists():
        return {"content": [{"type": "text", "text": f"no note called {file.name}"}], "isError": True}
    return {"content": [{"type": "text", "text": file.read_text()}], "structuredContent": {"size": file.stat().st_size}}


def answer(id_: object, method: str, params: dict[str, Any]) -> object:
    if method == "initialize":
        if FAULT == "modern":
            return error(id_, -32022, "use a newer revision")
        version = "1999-01-01" if FAULT == "version" else params["protocolVersion"]
        return result(id_, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "x"}})
    if FAULT == "modern" and MODERN not in params.get("_meta", {}):
        return error(id_, -32602, "no revision")
    if method == "server/discover":
        return result(id_, {"supportedVersions": ["2026-07-28"], "resultType": "complete"})
    if method == "tools/list":
        if FAULT == "pages":
            at = int(params.get("cursor", "0"))
            more = {"nextCursor": str(at + 1)} if at + 1 < len(TOOLS) else {}
            return result(id_, {"tools": [TOOLS[at]], **more})
        if FAULT == "endless":
            return result(id_, {"tools": [], "nextCursor": "again"})
        if FAULT == "twice":
            return result(id_, {"tools": [TOOLS[0], TOOLS[0]]})
        if FAULT == "odd tools":
            return result(id_, {"tools": [3]})
        return result(id_, {"tools": TOOLS})
    if method == "tools/call":
        return result(id_, call(params["name"], params["arguments"]))
    return error(id_, -32601, "unknown method")


def disturb(id_: object, method: str) -> bool:
    """Does what the fault asks for; returns whether there is no other answer."""
    if FAULT == "crash":
        sys.stderr.write("first words\nthe disk is \x1b[31mfull\n")
        sys.exit(3)
    if FAULT == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if FAULT == "garbage":
        send(b"\xff\xfe not a message")
        return True
    if FAULT == "flood":
        while True:
            os.write(1, b"x" * 65536)
    if FAULT == "chatty":
        send(b"Welcome!")
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        send({"jsonrpc": "2.0", "id": 99, "result": {}})
        send({"jsonrpc": "2.0", "id": str(id_), "result": {}})
        send([{"jsonrpc": "2.0", "id": "p", "method": "ping"}, {"jsonrpc": "2.0", "id": "r", "method": "roots/list"}])
    if FAULT == "two ids":
        send(f'{{"jsonrpc":"2.0","id":7,"id":{id_},"result":{{}}}}'.encode())
        return True
    if FAULT == "list result":
        send({"jsonrpc": "2.0", "id": id_, "result": []})
        return True
    if FAULT == "hang" or (FAULT == "slow call" and method == "tools/call"):
        return True
    if FAULT == "call error" and method == "tools/call":
        send(error(id_, -32000, "the note \x1b[2J is locked"))
        return True
    return False


def main() -> None:
    if FAULT == "deaf":
        time.sleep(60)
    if FAULT == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        (FOLDER / "pids").write_text(f"{os.getpid()} {child.pid}")
    for line in sys.stdin:
        message = json.loads(line)
        with (FOLDER / "received").open("a") as log:
            log.write(line)
        if "method" in message and "id" in message and not disturb(message["id"], message["method"]):
            send(answer(message["id"], message["method"], message.get("params", {})))
    if FAULT == "stubborn":
        time.sleep(60)


main()
