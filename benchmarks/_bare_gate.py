"""The bare side of the gate's benchmark: the least server that does the same, in a process of its own."""

import asyncio
import base64
import json
import socket
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from aileron_tui.core.decision import pae
from aileron_tui.core.jsontext import JsonObject
from benchmarks._bare_wasmtime import bare_call
from benchmarks._http_connection import HOST


def _serve_bare(folder: Path, bundle: Path, upstream: int, public: str) -> None:
    """The least server that does the same, without checks, order or limits."""
    event, reply, asked, begun = ((folder / name).read_bytes() for name in ("event", "reply", "asked", "begun"))
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
    write = _writer(folder / "bare.db")
    inputs: JsonObject = {"base_url": f"http://{HOST}:{upstream}", "draft_id": "r-1"}
    call = bare_call(bundle, httpx.Client(trust_env=False), "send_draft", inputs)
    pool = ThreadPoolExecutor(100)
    watchers: list[asyncio.Queue[bytes]] = []

    async def run(request: Request) -> Response:
        json.loads(await request.body())
        await asyncio.to_thread(write, asked)
        for watcher in watchers:
            watcher.put_nowait(event)
        return Response(reply, 202, media_type="application/json")

    async def decide(request: Request) -> Response:
        envelope = json.loads(await request.body())["envelope"]
        payload = base64.b64decode(envelope["payload"])
        key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), pae(envelope["payloadType"], payload))
        await asyncio.to_thread(write, begun)
        asyncio.get_running_loop().run_in_executor(pool, call)
        return Response(b"{}", media_type="application/json")

    async def watch(_: Request) -> Response:
        mine: asyncio.Queue[bytes] = asyncio.Queue()
        watchers.append(mine)

        async def events() -> AsyncIterator[bytes]:
            while True:
                yield await mine.get()

        return StreamingResponse(events(), media_type="text/event-stream")

    routes = [
        Route("/v1/actions/{name}/run", run, methods=["POST"]),
        Route("/decide", decide, methods=["POST"]),
        Route("/watch", watch),
    ]
    config = uvicorn.Config(Starlette(routes=routes), http="h11", log_level="error", access_log=False)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind((HOST, 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(config).run([listener])


def _writer(path: Path) -> Callable[[bytes], None]:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE entries (seq INTEGER PRIMARY KEY, data BLOB NOT NULL, hash BLOB NOT NULL)")
    guard = threading.Lock()

    def write(data: bytes) -> None:
        with guard:
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO entries (data, hash) VALUES (?, ?)", (data, bytes(32)))
            db.execute("COMMIT")

    return write


if __name__ == "__main__":
    folder, bundle, upstream, public = sys.argv[1:]
    _serve_bare(Path(folder), Path(bundle), int(upstream), public)
