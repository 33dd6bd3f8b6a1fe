"""Many at once: `python -m tests.gate.load` has 1,000 requests waiting, 20 watchers and 200 agents at one gate.

Nothing is lost: every agent is told the end of every call, and what the ledger, the service and the agents know is
compared as after a crash. Every watcher sees the same events in the same order. Memory and answer times are measured.
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
from aileron_tui.signing.session_proof import session_proof
from tests.gate.lives import ACTION, Plan, World, world
from tests.gate.process import ROOT, Caller, Place, Process, decision

PATIENCE: Final = 240.0
DECIDERS: Final = 8
MIB: Final = 1024 * 1024

Seen = list[tuple[int, str, int]]


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything. Of each agent's calls one is held open, the others are polled."""

    agents: int = 200
    calls: int = 5
    watchers: int = 20
    waves: int = 3

    @property
    def requests(self) -> int:
        return self.agents * self.calls


@dataclass
class Figures:
    """What was measured: seconds of answers by what was asked, and the gate's memory after each wave."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    memory: list[int] = field(default_factory=list)

    def took(self, what: str, began: float) -> None:
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


class Line:
    """One connection to the gate, kept open. Whoever is told to slow down does."""

    def __init__(self, place: Place, token: str) -> None:
        self._place = place
        self._token = token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, method: str, path: str, body: Json = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        while True:
            status, told, data = await self._exchange(method, path, body, headers or {})
            if status != 429:
                return status, json.loads(data) if data else None
            await asyncio.sleep(float(told["retry-after"]))

    async def open(self, path: str, headers: Mapping[str, str]) -> asyncio.StreamReader:
        """Asks for an answer without an end and gives what it can be read from."""
        reader, _, told = await self._send("GET", path, None, headers)
        assert told["transfer-encoding"] == "chunked"
        return reader

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()

    async def _exchange(
        self, method: str, path: str, body: Json, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        reader, status, told = await self._send(method, path, body, headers)
        return status, told, await reader.readexactly(int(told.get("content-length", 0)))

    async def _send(
        self, method: str, path: str, body: Json, headers: Mapping[str, str]
    ) -> tuple[asyncio.StreamReader, int, dict[str, str]]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._place.host, self._place.port, limit=64 * MIB)
        reader, writer = self._streams
        content = b"" if body is None else json.dumps(body).encode()
        host = f"{self._place.host}:{self._place.port}"
        sent = {"Host": host, "Authorization": f"Bearer {self._token}", "Content-Length": len(content), **headers}
        if content:
            sent["Content-Type"] = "application/json"
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + content)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        told = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        return reader, int(lines[0].split()[1]), told


class Watcher:
    """Sees everything that happens, and keeps of each event its number, its name and a check sum."""

    def __init__(self, line: Line, look: Callable[[str, Any], None] | None = None) -> None:
        self.seen: Seen = []
        self.snapshot = asyncio.Event()
        self._line = line
        self._look = look

    async def watch(self) -> None:
        reader = await self._line.open("/v1/action-approvals/watch?surface=console", {})
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
        elif self._look:
            self._look(name[7:].decode(), json.loads(data[6:]))


class Crowd:
    """Everyone at one gate."""

    def __init__(self, here: World, process: Process, place: Place, size: Size, say: Callable[[str], None]) -> None:
        self.figures = Figures()
        self.say = say
        self._here = here
        self._process = process
        self._place = place
        self._size = size
        self._lines: list[Line] = []
        self._ready: asyncio.Queue[Any] = asyncio.Queue()
        self._events: Counter[str] = Counter()

    async def run(self) -> None:
        """Waves of requests, each from the call to the answer, with everyone watching."""
        try:
            await self._run()
        finally:
            for line in self._lines:
                line.close()

    def _line(self, token: str) -> Line:
        line = Line(self._place, token)
        self._lines.append(line)
        return line

    async def _run(self) -> None:
        token = await self._session()
        watchers = [Watcher(self._line(token), None if n else self._look) for n in range(self._size.watchers)]
        tasks = [asyncio.create_task(watcher.watch()) for watcher in watchers]
        probe = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.gate.load", "--probe", self._place.host, str(self._place.port), token),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        await asyncio.gather(*(watcher.snapshot.wait() for watcher in watchers))
        self.figures.memory.append(self._process.memory())
        for _ in range(self._size.waves):
            await asyncio.wait_for(self._wave(token), PATIENCE)
            self.figures.memory.append(self._process.memory())
        await self._same(watchers)
        for task in tasks:
            assert not task.done(), task
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.figures.seconds["status, all the while"] = json.loads((await probe.communicate(b""))[0])
        self.say(f"events seen by each of {len(watchers)} watchers: {dict(self._events)}")

    async def _wave(self, token: str) -> None:
        size, began = self._size, time.perf_counter()
        agents = [asyncio.create_task(self._agent(f"agent-{number}")) for number in range(size.agents)]
        items = [await self._ready.get() for _ in range(size.requests)]
        waited = time.perf_counter() - began
        self.say(f"{size.requests} wait after {waited:.1f} s; {self._process.memory() / MIB:.0f} MiB")
        await self._join_late(token)
        lines = [self._line(token) for _ in range(DECIDERS)]
        await asyncio.gather(*(self._decide(line, items[n::DECIDERS]) for n, line in enumerate(lines)))
        decided = time.perf_counter() - began - waited
        await asyncio.gather(*agents)
        self.say(
            f"decided in {decided:.1f} s, all told after {time.perf_counter() - began:.1f} s;"
            f" {self._process.memory() / MIB:.0f} MiB"
        )

    async def _agent(self, name: str) -> None:
        """Makes its calls, holds the last one open, and comes back for the others."""
        line, told = self._line(self._place.token), self._here.told
        calls = []
        for _ in range(self._size.calls - 1):
            began = time.perf_counter()
            status, body = await self._call(line, name, self._here.draft(), {})
            self.figures.took("call", began)
            assert status == 202, body
            calls.append(body["approval_id"])
            told.accepted[body["approval_id"]] = name
        status, body = await self._call(line, name, self._here.draft(), {"Prefer": "wait=200"})
        assert status == 200, body
        if body["status"] == "completed":
            told.ended[body["audit_id"].removeprefix("audit-")] = body
        for id_ in calls:
            while id_ not in told.ended:
                began = time.perf_counter()
                status, body = await line.ask("GET", f"/v1/action-approvals/{id_}/result")
                self.figures.took("result", began)
                assert status == 200, body
                if body["status"] in ("pending_approval", "running"):
                    await asyncio.sleep(2)
                else:
                    told.ended[id_] = body

    async def _call(self, line: Line, name: str, draft: str, headers: dict[str, str]) -> tuple[int, Any]:
        body: Json = {"args": {"draft_id": draft}}
        return await line.ask("POST", f"/v1/actions/{ACTION}/run", body, {"X-Aileron-Agent": name, **headers})

    async def _decide(self, line: Line, items: list[Any]) -> None:
        told = self._here.told
        for number, item in enumerate(items):
            verdict = Verdict.DENY if number % 10 == 9 else Verdict.APPROVE
            if verdict is Verdict.APPROVE:
                told.approving.add(item["id"])
            body = decision(item, verdict, self._here.key)
            began = time.perf_counter()
            status, answer = await line.ask("POST", f"/v1/action-approvals/{item['id']}/decide", body)
            self.figures.took("decide", began)
            assert status == 200, answer
            told.decided[item["id"]] = verdict

    async def _join_late(self, token: str) -> None:
        """A watcher who comes when everything waits."""
        began = time.perf_counter()
        late = Watcher(self._line(token))
        task = asyncio.create_task(late.watch())
        await late.snapshot.wait()
        self.figures.took("snapshot", began)
        task.cancel()
        began = time.perf_counter()
        status, body = await self._line(token).ask("GET", "/v1/action-approvals")
        self.figures.took("list", began)
        assert (status, len(body["items"])) == (200, self._size.requests)

    def _look(self, name: str, data: Any) -> None:
        self._events[name] += 1
        if name == "updated" and data["state"] == "pending" and data["preview_state"] == "ready":
            self._ready.put_nowait(data)

    async def _same(self, watchers: list[Watcher]) -> None:
        """Every watcher has seen the same events, each once, from the first to the last."""
        deadline = time.monotonic() + 30
        total = self._size.requests * self._size.waves
        while self._events["resolved"] != total or len({watcher.seen[-1] for watcher in watchers}) > 1:
            assert time.monotonic() < deadline, [watcher.seen[-1] for watcher in watchers]
            await asyncio.sleep(0.05)
        (first, name, _), *events = watchers[0].seen
        assert (first, name) == (0, "snapshot")
        assert [number for number, _, _ in events] == list(range(1, len(events) + 1)), "events are missing"
        assert all(watcher.seen == watchers[0].seen for watcher in watchers), "not everyone saw the same"
        assert self._events["pending"] == self._events["resolved"] == total

    async def _session(self) -> str:
        line, key = self._line(""), self._here.key
        asked = (await line.ask("POST", "/v1/approver/challenge", {}))[1]
        challenge = asked["challenge"]
        proof = b64encode(key.sign(session_proof(challenge, self._place.instance, asked["ledger"]))).decode()
        body: Json = {"challenge": challenge, "keyid": key.public.fingerprint, "signature": proof}
        return str((await line.ask("POST", "/v1/approver/session", body))[1]["token"])


def load(here: World, size: Size, say: Callable[[str], None] = lambda _: None) -> Figures:
    """Runs it; raises if anything is lost, out of order, or told differently to different people."""
    with here.gate(Plan("under load")) as process:
        place = process.ready()
        assert place is not None, here.log()
        crowd = Crowd(here, process, place, size, say)
        asyncio.run(crowd.run())
    facts = here.memory.facts.values()
    assert len(facts) == size.requests * size.waves
    assert all(fact.state.final for fact in facts)
    return crowd.figures


def probe(host: str, port: str, token: str) -> None:
    """Asks a small question again and again until nobody listens; prints how long each answer took.

    In a process of its own, because the one with the crowd in it is too busy to tell how long it waited.
    """
    over = threading.Event()

    def listen() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=listen, daemon=True).start()
    caller = Caller(Place(host, int(port), "", ""), token)
    seconds: list[float] = []
    while not over.wait(0.02):
        began = time.perf_counter()
        status, _ = caller.ask("GET", "/v1/status")
        seconds.append(time.perf_counter() - began)
        assert status == 200
    sys.stdout.write(json.dumps(seconds))


def main(words: list[str]) -> int:
    """Prints the figures."""
    if words[:1] == ["--probe"]:
        probe(*words[1:])
        return 0
    size, began = Size(), time.monotonic()

    def say(text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - began:5.0f} s  {text}\n")
        sys.stdout.flush()

    parser = argparse.ArgumentParser(prog="python -m tests.gate.load", description=__doc__)
    for name in Size.__slots__:
        parser.add_argument(f"--{name}", type=int, default=getattr(size, name), help="(%(default)s)")
    root = Path(tempfile.mkdtemp(prefix="load-"))
    with world(root) as here:
        say(load(here, Size(**vars(parser.parse_args(words))), say).report())
    shutil.rmtree(root)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
