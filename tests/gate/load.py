"""Load test: `python -m tests.gate.load` runs one gate with 1,000 waiting requests, 20 watchers and 200 agents.

Nothing may be lost: every agent gets the result of every call, and the records of the ledger, the service and the
agents are compared as after a crash. Every watcher must see the same events in the same order. Memory and response
times are measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import Json
from aileron_tui.files.agent_tokens import read_token
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.signing.session_proof import session_proof
from aileron_tui.surface.agent_changes import add_agent
from tests.gate.gate_harness import ACTION, GateHarness, Plan, gate_harness
from tests.gate.gate_process import ROOT, Client, GateAddress, GateProcess, decision

TIMEOUT: Final = 240.0
APPROVER_CONNECTIONS: Final = 8
MIB: Final = 1024 * 1024

Seen = list[tuple[int, str, int]]


@dataclass(frozen=True, slots=True)
class LoadSize:
    """The size of a load test. Each agent holds one of its calls open and polls for the others."""

    agents: int = 200
    calls: int = 5
    watchers: int = 20
    waves: int = 3

    @property
    def requests(self) -> int:
        return self.agents * self.calls


@dataclass
class Measurements:
    """Response times by kind of call, and the memory of the gate after each wave."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    memory: list[int] = field(default_factory=list)

    def record(self, what: str, began: float) -> None:
        self.seconds.setdefault(what, []).append(time.perf_counter() - began)

    def quantile(self, what: str, part: float) -> float:
        values = sorted(self.seconds[what])
        return values[min(len(values) - 1, int(len(values) * part))]

    def report(self) -> str:
        rows = [
            f"{what:<22} {len(values):>6} x  median {statistics.median(values) * 1000:7.1f} ms"
            f"  99 % {self.quantile(what, 0.99) * 1000:7.1f} ms  longest {max(values) * 1000:7.1f} ms"
            for what, values in self.seconds.items()
        ]
        memory = "resident memory " + " -> ".join(f"{size / MIB:.0f}" for size in self.memory) + " MiB"
        return "\n".join([*rows, memory])


class Connection:
    """One persistent connection to the gate; waits when it is rate limited."""

    def __init__(self, address: GateAddress, token: str) -> None:
        self._address = address
        self._token = token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, method: str, path: str, body: Json = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        while True:
            status, reply_headers, data = await self._exchange(method, path, body, headers or {})
            if status != 429:
                return status, json.loads(data) if data else None
            await asyncio.sleep(float(reply_headers["retry-after"]))

    async def open(self, path: str, headers: Mapping[str, str]) -> asyncio.StreamReader:
        """Requests a stream and returns its reader."""
        reader, _, reply_headers = await self._send("GET", path, None, headers)
        assert reply_headers["transfer-encoding"] == "chunked"
        return reader

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()

    async def _exchange(
        self, method: str, path: str, body: Json, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        reader, status, reply_headers = await self._send(method, path, body, headers)
        return status, reply_headers, await reader.readexactly(int(reply_headers.get("content-length", 0)))

    async def _send(
        self, method: str, path: str, body: Json, headers: Mapping[str, str]
    ) -> tuple[asyncio.StreamReader, int, dict[str, str]]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._address.host, self._address.port, limit=64 * MIB)
        reader, writer = self._streams
        content = b"" if body is None else json.dumps(body).encode()
        host = f"{self._address.host}:{self._address.port}"
        sent = {"Host": host, "Authorization": f"Bearer {self._token}", "Content-Length": len(content), **headers}
        if content:
            sent["Content-Type"] = "application/json"
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + content)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        reply_headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        return reader, int(lines[0].split()[1]), reply_headers


class Watcher:
    """Records the number, name and checksum of every event."""

    def __init__(self, connection: Connection, on_event: Callable[[str, Any], None] | None = None) -> None:
        self.seen: Seen = []
        self.snapshot = asyncio.Event()
        self._connection = connection
        self._on_event = on_event

    async def watch(self) -> None:
        reader = await self._connection.open("/v1/action-approvals/watch?surface=console", {})
        rest = b""
        while size := int(await reader.readline(), 16):
            rest += await reader.readexactly(size)
            await reader.readexactly(2)
            *events, rest = rest.split(b"\n\n")
            for event in events:
                self._note(event)

    def _note(self, event: bytes) -> None:
        if event.startswith(b":"):
            return
        number, name, data = event.split(b"\n")
        self.seen.append((int(number[4:]), name[7:].decode(), zlib.crc32(data)))
        if name == b"event: snapshot":
            self.snapshot.set()
        elif self._on_event:
            self._on_event(name[7:].decode(), json.loads(data[6:]))


class LoadTest:
    """All agents, watchers and approvers of one gate."""

    def __init__(
        self,
        harness: GateHarness,
        process: GateProcess,
        address: GateAddress,
        *,
        tokens: Mapping[str, str],
        size: LoadSize,
        say: Callable[[str], None],
    ) -> None:
        self.measurements = Measurements()
        self.say = say
        self._harness = harness
        self._process = process
        self._address = address
        self._tokens = tokens
        self._size = size
        self._connections: list[Connection] = []
        self._ready: asyncio.Queue[Any] = asyncio.Queue()
        self._events: Counter[str] = Counter()

    async def run(self) -> None:
        """Runs several waves of requests, from call to result, while all watchers watch."""
        try:
            await self._run()
        finally:
            for connection in self._connections:
                connection.close()

    def _connection(self, token: str) -> Connection:
        connection = Connection(self._address, token)
        self._connections.append(connection)
        return connection

    async def _run(self) -> None:
        token = await self._session()
        watchers = [Watcher(self._connection(token), None if n else self._on_event) for n in range(self._size.watchers)]
        tasks = [asyncio.create_task(watcher.watch()) for watcher in watchers]
        probe = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.gate.load", "--probe", self._address.host, str(self._address.port), token),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        await asyncio.gather(*(watcher.snapshot.wait() for watcher in watchers))
        self.measurements.memory.append(self._process.memory())
        for _ in range(self._size.waves):
            await asyncio.wait_for(self._wave(token), TIMEOUT)
            self.measurements.memory.append(self._process.memory())
        await self._check_same_events(watchers)
        for task in tasks:
            assert not task.done(), task
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.measurements.seconds["status, throughout"] = json.loads((await probe.communicate(b""))[0])
        self.say(f"events seen by each of {len(watchers)} watchers: {dict(self._events)}")

    async def _wave(self, session: str) -> None:
        size, began = self._size, time.perf_counter()
        agents = [asyncio.create_task(self._agent(name, token)) for name, token in self._tokens.items()]
        items = [await self._ready.get() for _ in range(size.requests)]
        waited = time.perf_counter() - began
        self.say(f"{size.requests} waiting after {waited:.1f} s; {self._process.memory() / MIB:.0f} MiB")
        await self._join_late(session)
        connections = [self._connection(session) for _ in range(APPROVER_CONNECTIONS)]
        await asyncio.gather(
            *(self._decide(connection, items[n::APPROVER_CONNECTIONS]) for n, connection in enumerate(connections))
        )
        decided = time.perf_counter() - began - waited
        await asyncio.gather(*agents)
        self.say(
            f"decided in {decided:.1f} s, all results delivered after {time.perf_counter() - began:.1f} s;"
            f" {self._process.memory() / MIB:.0f} MiB"
        )

    async def _agent(self, name: str, token: str) -> None:
        """Makes the calls of one agent: holds the last one open and polls for the others."""
        connection, observed = self._connection(token), self._harness.observed
        calls = []
        for _ in range(self._size.calls - 1):
            began = time.perf_counter()
            status, body = await self._call(connection, self._harness.draft(), {})
            self.measurements.record("call", began)
            assert status == 202, body
            calls.append(body["approval_id"])
            observed.accepted[body["approval_id"]] = name
        status, body = await self._call(connection, self._harness.draft(), {"Prefer": "wait=200"})
        assert status == 200, body
        if body["status"] == "completed":
            observed.ended[body["audit_id"].removeprefix("audit-")] = body
        for id_ in calls:
            while id_ not in observed.ended:
                began = time.perf_counter()
                status, body = await connection.ask("GET", f"/v1/action-approvals/{id_}/result")
                self.measurements.record("result", began)
                assert status == 200, body
                if body["status"] in ("pending_approval", "running"):
                    await asyncio.sleep(2)
                else:
                    observed.ended[id_] = body

    async def _call(self, connection: Connection, draft: str, headers: dict[str, str]) -> tuple[int, Any]:
        body: Json = {"args": {"draft_id": draft}}
        return await connection.ask("POST", f"/v1/actions/{ACTION}/run", body, headers)

    async def _decide(self, connection: Connection, items: list[Any]) -> None:
        observed = self._harness.observed
        for number, item in enumerate(items):
            verdict = Verdict.DENY if number % 10 == 9 else Verdict.APPROVE
            if verdict is Verdict.APPROVE:
                observed.approving.add(item["id"])
            body = decision(item, verdict, self._harness.key)
            began = time.perf_counter()
            status, answer = await connection.ask("POST", f"/v1/action-approvals/{item['id']}/decide", body)
            self.measurements.record("decide", began)
            assert status == 200, answer
            observed.decided[item["id"]] = verdict

    async def _join_late(self, token: str) -> None:
        """Adds a watcher while all requests are waiting."""
        began = time.perf_counter()
        late = Watcher(self._connection(token))
        task = asyncio.create_task(late.watch())
        await late.snapshot.wait()
        self.measurements.record("snapshot", began)
        task.cancel()
        began = time.perf_counter()
        status, body = await self._connection(token).ask("GET", "/v1/action-approvals")
        self.measurements.record("list", began)
        assert (status, len(body["items"])) == (200, self._size.requests)

    def _on_event(self, name: str, data: Any) -> None:
        self._events[name] += 1
        if name == "updated" and data["state"] == "pending" and data["preview_state"] == "ready":
            self._ready.put_nowait(data)

    async def _check_same_events(self, watchers: list[Watcher]) -> None:
        """Checks that all watchers have seen the same events, each exactly once."""
        deadline = time.monotonic() + 30
        total = self._size.requests * self._size.waves
        while self._events["resolved"] != total or len({watcher.seen[-1] for watcher in watchers}) > 1:
            assert time.monotonic() < deadline, [watcher.seen[-1] for watcher in watchers]
            await asyncio.sleep(0.05)
        (first, name, _), *events = watchers[0].seen
        assert (first, name) == (0, "snapshot")
        assert [number for number, _, _ in events] == list(range(1, len(events) + 1)), "events are missing"
        assert all(watcher.seen == watchers[0].seen for watcher in watchers), "the watchers saw different events"
        assert self._events["pending"] == self._events["resolved"] == total

    async def _session(self) -> str:
        connection, key = self._connection(""), self._harness.key
        asked = (await connection.ask("POST", "/v1/approver/challenge", {}))[1]
        challenge = asked["challenge"]
        proof = b64encode(key.sign(session_proof(challenge, self._address.instance, asked["ledger"]))).decode()
        body: Json = {"challenge": challenge, "keyid": key.public.fingerprint, "signature": proof}
        return str((await connection.ask("POST", "/v1/approver/session", body))[1]["token"])


def load(harness: GateHarness, size: LoadSize, say: Callable[[str], None] = lambda _: None) -> Measurements:
    """Runs a load test; raises if anything is lost, out of order or inconsistent."""
    with harness.gate(Plan("under load")) as process:
        address = process.ready()
        assert address is not None, harness.log()
        ledger = harness.data / LEDGER_FILE
        names = [f"agent-{number}" for number in range(size.agents)]
        tokens = {name: read_token(add_agent(ledger, name, harness.key)) for name in names}
        load_test = LoadTest(harness, process, address, tokens=tokens, size=size, say=say)
        asyncio.run(load_test.run())
    requests = harness.disk_state.requests.values()
    assert len(requests) == size.requests * size.waves
    assert all(request.state.final for request in requests)
    return load_test.measurements


def probe(host: str, port: str, token: str) -> None:
    """Requests the status repeatedly until stdin closes; prints the response times.

    Runs in its own process, because the load test itself is too busy to measure them.
    """
    stopped = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        stopped.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    client = Client(GateAddress(host, int(port), "", ""), token)
    seconds: list[float] = []
    while not stopped.wait(0.02):
        began = time.perf_counter()
        status, _ = client.ask("GET", "/v1/status")
        seconds.append(time.perf_counter() - began)
        assert status == 200
    sys.stdout.write(json.dumps(seconds))


def main(words: list[str]) -> int:
    """Runs a load test and prints the measurements."""
    if words[:1] == ["--probe"]:
        probe(*words[1:])
        return 0
    size, began = LoadSize(), time.monotonic()

    def say(text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - began:5.0f} s  {text}\n")
        sys.stdout.flush()

    parser = argparse.ArgumentParser(prog="python -m tests.gate.load", description=__doc__)
    for name in LoadSize.__slots__:
        parser.add_argument(f"--{name}", type=int, default=getattr(size, name), help="(%(default)s)")
    root = Path(tempfile.mkdtemp(prefix="load-"))
    with gate_harness(root) as harness:
        say(load(harness, LoadSize(**vars(parser.parse_args(words))), say).report())
    shutil.rmtree(root)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
