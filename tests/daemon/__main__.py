"""Runs a fake daemon: `python -m tests.daemon --home DIR`. Prints its address as one line of JSON."""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import os
import secrets
import signal
import sys
import time
from pathlib import Path
from typing import TextIO

from tests.daemon.control import PATH, Control
from tests.daemon.exchange import Channel, Request, Response, serve
from tests.daemon.gotext import Object, go_time
from tests.daemon.queue import Queue
from tests.daemon.records import STATE, write_private
from tests.daemon.routes import VERSION, Api
from tests.daemon.switches import Switches

SEEDED = {"action", "comms_send", "comms_draft", "http_request"}


def main() -> None:
    """Reads the command line and serves until it is told to stop."""
    parser = argparse.ArgumentParser(prog="python -m tests.daemon", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="the home folder of its user")
    parser.add_argument("--bind", default="127.0.0.1:0")
    parser.add_argument("--token", default="", help="instead of a new one")
    parser.add_argument(
        "--seed", type=Path, help="JSON: requests, or an object with items, sessions, actions, bindings"
    )
    parser.add_argument("--dev-seed-approvals", type=Path, help="as the real one: no preview, and nothing runs")
    parser.add_argument("--switches", default="{}", help="JSON of switches and their values")
    parser.add_argument("--until-eof", action="store_true", help="also ends with its standard input")
    options = parser.parse_args()
    state = options.home / STATE
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (state / "daemon.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("a daemon is already running in this home")
        asyncio.run(_run(options, state))


async def _run(options: argparse.Namespace, state: Path) -> None:
    switches = Switches()
    switches.turn(json.loads(options.switches))
    queue = Queue(options.home, switches)
    _seed(queue, options)
    host, _, port = options.bind.rpartition(":")
    loopback = host in ("127.0.0.1", "localhost", "::1", "[::1]")
    token = "" if switches.unprotected or not loopback else options.token or secrets.token_hex(32)
    control_secret = secrets.token_hex(16)
    api = Api(queue, token)
    control = Control(queue, api, control_secret)
    connections: set[asyncio.Task[None]] = set()

    async def answer(request: Request, channel: Channel) -> Response | None:
        return await control(request) if request.path == PATH else await api(request, channel)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        task.add_done_callback(connections.discard)
        await serve(reader, writer, answer)

    server = await asyncio.start_server(connected, host.strip("[]"), int(port), backlog=512)
    bound = server.sockets[0].getsockname()[1]
    url = f"http://{host}:{bound}"
    api.gateway_url = url
    write_private(state / "daemon.pid", {"pid": os.getpid()})
    told: Object = {"url": url, "pid": os.getpid(), "version": VERSION}
    told["started_at"] = go_time(time.time_ns() // 10**9 * 10**9, "Z")
    write_private(state / "daemon.json", told | ({"token": token} if token else {}))
    stop = _told_to_stop(sys.stdin if options.until_eof else None)
    print(json.dumps({"url": url, "token": token, "pid": os.getpid(), "control": control_secret}), flush=True)  # noqa: T201  # the ready line
    await stop.wait()
    server.close()
    await _lingered(queue, connections, switches.linger)
    for task in connections:
        task.cancel()
    await asyncio.gather(*connections, return_exceptions=True)
    queue.close(compact=True)
    for name in ("daemon.json", "daemon.pid"):
        (state / name).unlink(missing_ok=True)


async def _lingered(queue: Queue, connections: set[asyncio.Task[None]], seconds: float) -> None:
    """As in Go: idle connections end at once, open streams have some time left, and the process waits for them."""
    for task in connections - queue.streams.tasks:
        task.cancel()
    if streams := connections & queue.streams.tasks:
        await asyncio.wait(streams, timeout=seconds)


def _told_to_stop(until_end_of: TextIO | None) -> asyncio.Event:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if until_end_of is not None:
        descriptor = until_end_of.fileno()

        def read() -> None:
            if not os.read(descriptor, 4096):
                stop.set()

        loop.add_reader(descriptor, read)
    return stop


def _seed(queue: Queue, options: argparse.Namespace) -> None:
    """Registers what the seeds hold."""
    if options.seed is not None:
        seed = json.loads(options.seed.read_bytes())
        seed = {"items": seed} if isinstance(seed, list) else seed
        for name in ("actions", "sessions", "bindings"):
            if name in seed:
                setattr(queue, name, seed[name])
        queue.remember()
        for item in seed.get("items", []):
            queue.register(**item)
    if options.dev_seed_approvals is not None:
        seed = json.loads(options.dev_seed_approvals.read_bytes())
        for item in seed if isinstance(seed, list) else seed["items"]:
            if item["kind"] not in SEEDED:
                sys.exit(f"cannot seed a {item['kind']}")
            plain: Object = {"args": {}, "session_id": "", "connector_fqn": "", "preview": None, "input_fields": []}
            queue.register(seeded=True, **plain | item, outcome="nothing")


if __name__ == "__main__":
    main()
