"""Flood test: `make flood` lets one agent flood a gate while another agent and an operator work.

The hostile agent opens idle connections, holds calls, sends large arguments, makes more requests than it may, and does
not read its responses. The other agent and the operator must get no refusal and lose nothing. Their response times are
compared with those of a quiet gate in the same run; the program fails if the 99th percentile of everything that the
agent does, or that of everything that the operator does, is more than three times as long. The times of each operation
are for information. The memory of the gate must be bounded during the flood, and near the quiet level after it.

The hostile agent and the sample service are processes of their own. The hostile agent has the lowest priority, so that
what is measured is what it costs the gate, and not that it uses a core of a small machine itself.

Consoles fetch the list of waiting requests once and then follow the event stream, so the operator does that, too.
`operator: whole list` is what `aileron-tui list` fetches. It takes as long as the list is long, and is not part of the
operator's figure.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pickle
import shutil
import sys
import tempfile
import time
import traceback
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import Json
from aileron_tui.files.agent_tokens import read_token
from aileron_tui.gate.approver_socket import SOCKET_FILE
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.signing.session_proof import session_proof
from aileron_tui.surface.agent_changes import add_agent
from tests.gate.gate_harness import ACTION, GateHarness, Plan, gate_harness
from tests.gate.gate_process import ROOT, GateAddress, GateProcess, decision
from tests.gate.load import MIB

UNGATED: Final = "get-draft"
HIGHEST_RATIO: Final = 3.0
WHOLE_LIST: Final = "operator: whole list"
_ROUNDS_PER_SESSION: Final = 50
_EXPIRY_SECONDS: Final = 15.0

T = TypeVar("T")

Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FloodSize:
    """What the hostile agent does, and how often the others work before and during the flood."""

    sockets: int = 2_000
    held: int = 2_000
    megabytes: int = 400
    requests: int = 10_000
    unread: int = 200
    rounds: int = 300
    seconds: int = 120  # after which the hostile agent gives up
    timeout: int = 60  # after which a request expires


@dataclass
class Observed:
    """The response times of one phase in seconds, by what was done."""

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def record(self, what: str, began: float) -> None:
        self.seconds.setdefault(what, []).append(time.perf_counter() - began)

    def p99(self, *kinds: str) -> float:
        values = sorted(seconds for what in kinds for seconds in self.seconds[what])
        return values[min(len(values) - 1, int(len(values) * 0.99))]

    def kinds(self, who: str) -> list[str]:
        """What somebody did, without what is only for information."""
        return [what for what in self.seconds if what.startswith(who) and what != WHOLE_LIST]


@dataclass
class FloodResult:
    """What a flood test measured; memory in bytes before, at most during, and after the flood."""

    quiet: Observed
    flooded: Observed
    memory: tuple[int, int, int]
    hostile: dict[str, dict[str, int]]
    waiting: int

    def _p99(self, observed: Observed, who: str) -> float:
        return observed.p99(*observed.kinds(who))

    @property
    def ratios(self) -> dict[str, float]:
        """How many times as long things take under the flood, by who does them."""
        return {who: self._p99(self.flooded, who) / self._p99(self.quiet, who) for who in ("agent", "operator")}

    def verdict(self) -> str:
        """What decides: how long the agent and the operator waited, and how long they may."""
        rows = []
        for who, ratio in self.ratios.items():
            quiet, flooded = self._p99(self.quiet, who) * 1000, self._p99(self.flooded, who) * 1000
            passed = "passed" if ratio <= HIGHEST_RATIO else "FAILED"
            rows.append(
                f"{passed}  {who:<8}  99 % took at most {quiet:.1f} ms quiet, {flooded:.1f} ms in the flood: "
                f"{ratio:.2f} times as long; limit {HIGHEST_RATIO:g}"
            )
        return "\n".join(rows)

    def report(self) -> str:
        kinds = {who: self.quiet.kinds(who) for who in self.ratios} | {what: [what] for what in self.quiet.seconds}
        rows = []
        for name, what in kinds.items():
            quiet, flooded = self.quiet.p99(*what) * 1000, self.flooded.p99(*what) * 1000
            count = sum(len(self.flooded.seconds[one]) for one in what)
            rows.append(
                f"{name:<34} quiet 99 % {quiet:7.1f} ms  flooded 99 % {flooded:7.1f} ms  "
                f"ratio {flooded / quiet:5.1f}  ({count:,} times)"
            )
        before, most, after = (size / MIB for size in self.memory)
        rows.append(f"resident memory {before:.0f} -> {most:.0f} -> {after:.0f} MiB")
        rows.append(f"{self.waiting:,} waiting requests at the end of the flood")
        rows += [f"hostile {what}: {counts}" for what, counts in self.hostile.items()]
        return "\n".join(rows)


class Line:
    """One connection to the gate, by its port or by its Unix socket."""

    def __init__(self, address: GateAddress, token: str, socket: Path | None = None) -> None:
        self._address = address
        self.token = token
        self._socket = socket
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, method: str, path: str, body: Json | bytes = None, headers: Headers | None = None
    ) -> tuple[int, bytes]:
        reader, status, reply_headers = await self.send(method, path, body, headers)
        return status, await reader.readexactly(int(reply_headers.get("content-length", 0)))

    async def send(
        self, method: str, path: str, body: Json | bytes = None, headers: Headers | None = None
    ) -> tuple[asyncio.StreamReader, int, dict[str, str]]:
        reader, _ = await self.write(method, path, body, headers)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        reply_headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        return reader, int(lines[0].split()[1]), reply_headers

    async def write(
        self, method: str, path: str, body: Json | bytes = None, headers: Headers | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Sends an HTTP request without waiting for the response."""
        if self._streams is None:
            self._streams = (
                await asyncio.open_unix_connection(self._socket, limit=64 * MIB)
                if self._socket
                else await asyncio.open_connection(self._address.host, self._address.port, limit=64 * MIB)
            )
        reader, writer = self._streams
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        host = f"{self._address.host}:{self._address.port}"
        sent = {"Host": host, "Authorization": f"Bearer {self.token}", "Content-Length": len(content)}
        sent |= {"Content-Type": "application/json"} if content else {}
        head = "".join(f"{name}: {value}\r\n" for name, value in {**sent, **(headers or {})}.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + content)
        await writer.drain()
        return reader, writer

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()
            self._streams = None


class Hostile:
    """The agent that floods. It ignores what the gate tells it and goes on until it has done all it wants."""

    def __init__(self, address: GateAddress, size: FloodSize) -> None:
        self._address = address
        self._size = size
        self.counts: dict[str, Counter[str]] = {}
        self._open: list[Any] = []

    async def run(self) -> None:
        tasks = [asyncio.create_task(work) for work in (self._idle(), self._unread(), self._held())]
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(self._megabytes(), self._requests()), self._size.seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _count(self, what: str, outcome: object) -> None:
        self.counts.setdefault(what, Counter())[str(outcome)] += 1

    async def _ask(self, line: Line, what: str, *request: Any) -> None:
        try:
            status, _ = await line.ask(*request)
        except (OSError, EOFError, ValueError):
            line.close()
            status = 0
        self._count(what, status or "closed")

    async def _idle(self) -> None:
        """Keeps connections open that never send anything, and opens new ones for those that were closed."""

        async def one() -> None:
            while True:
                with suppress(OSError):
                    reader, writer = await asyncio.open_connection(self._address.host, self._address.port)
                    self._count("idle connections", "opened")
                    await reader.read()
                    self._count("idle connections", "closed by the gate")
                    writer.close()
                await asyncio.sleep(1)

        await asyncio.gather(*(one() for _ in range(self._size.sockets)))

    async def _held(self) -> None:
        async def one(number: int) -> None:
            line = Line(self._address, self._address.token)
            body = {"args": {"draft_id": f"r-held-{number}"}}
            while True:
                await self._ask(line, "held calls", "POST", _path(ACTION), body, {**_HOSTILE, "Prefer": "wait=300"})
                await asyncio.sleep(1)

        await asyncio.gather(*(one(number) for number in range(self._size.held)))

    async def _megabytes(self) -> None:
        async def some(line: Line, count: int) -> None:
            for number in range(count):
                action = ACTION if number % 2 else UNGATED
                body = json.dumps({"args": {"draft_id": f"{id(line)}-{number}-".ljust(MIB - 100, "x")}}).encode()
                await self._ask(line, "megabytes", "POST", _path(action), body, _HOSTILE)

        lines = [Line(self._address, self._address.token) for _ in range(20)]
        await asyncio.gather(*(some(line, self._size.megabytes // len(lines)) for line in lines))

    async def _requests(self) -> None:
        async def some(line: Line, count: int) -> None:
            for number in range(count):
                body = {"args": {"draft_id": f"r-{id(line)}-{number}"}}
                await self._ask(line, "requests", "POST", _path(ACTION), body, _HOSTILE)

        lines = [Line(self._address, self._address.token) for _ in range(50)]
        await asyncio.gather(*(some(line, self._size.requests // len(lines)) for line in lines))

    async def _unread(self) -> None:
        """Asks again and again without reading a response."""

        async def one() -> None:
            while True:
                line = Line(self._address, self._address.token)
                with suppress(OSError, TimeoutError):
                    async with asyncio.timeout(20):
                        while True:
                            reader, _ = await line.write("GET", "/v1/actions")
                            reader._transport.pause_reading()  # type: ignore[attr-defined]
                            self._count("unread", "asked")
                            await asyncio.sleep(0.2)
                line.close()

        await asyncio.gather(*(one() for _ in range(self._size.unread)))


_HOSTILE: Final = {"X-Aileron-Agent": "hostile"}


class Workers:
    """The other agent and the operator, who measure how long everything takes."""

    def __init__(self, harness: GateHarness, address: GateAddress, token: str, drafts: Iterator[str]) -> None:
        self._harness = harness
        self._drafts = drafts
        self._address = address
        self._token = token
        socket = harness.data / SOCKET_FILE
        self._socket = socket if socket.exists() else None  # a path that is too long has none
        self._agent = Line(address, token)
        self._ready: dict[str, asyncio.Future[Any]] = {}
        self.waiting = 0
        self._operator: Line
        self._watching: asyncio.Task[None]

    async def start(self) -> None:
        await self._open_session()
        self._watching = asyncio.create_task(self._watch(Line(self._address, self._operator.token, self._socket)))

    async def _open_session(self) -> None:
        line, key = Line(self._address, "", self._socket), self._harness.key
        asked = json.loads((await line.ask("POST", "/v1/approver/challenge", {}))[1])
        proof = b64encode(key.sign(session_proof(asked["challenge"], asked["instance"], asked["ledger"]))).decode()
        body: Json = {"challenge": asked["challenge"], "keyid": key.public.fingerprint, "signature": proof}
        session = json.loads((await line.ask("POST", "/v1/approver/session", body))[1])["token"]
        line.close()
        self._operator = Line(self._address, session, self._socket)

    async def stop(self) -> None:
        self._watching.cancel()
        with suppress(asyncio.CancelledError):
            await self._watching

    def reconnect(self) -> None:
        """Uses new connections, because a gate closes those that were not used for a minute."""
        self._agent.close()
        self._operator.close()

    async def _watch(self, line: Line) -> None:
        reader, status, _ = await line.send("GET", "/v1/action-approvals/watch?surface=console")
        assert status == 200
        rest = b""
        while size := int(await reader.readline(), 16):
            rest += await reader.readexactly(size)
            await reader.readexactly(2)
            *events, rest = rest.split(b"\n\n")
            for event in events:
                self._on_event(event)

    def _on_event(self, event: bytes) -> None:
        if b'"agent":"good"' not in event or b"event: snapshot" in event:  # the operator looks at one agent
            return
        data = json.loads(event.partition(b"\ndata: ")[2])
        if data.get("preview_state") == "ready" and data.get("state") == "pending":
            draft = data["args"]["draft_id"]
            if (waiting := self._ready.get(draft)) and not waiting.done():
                waiting.set_result(data)

    async def work(self, rounds: int, observed: Observed) -> None:
        """Calls, watches, approves and fetches results; a refusal ends the test."""
        for number in range(rounds):
            await self._ungated(observed)
            await self._gated(observed)
            await self._operator_reads(observed)
            if number % _ROUNDS_PER_SESSION == 0:
                await self._open_session()  # because each may only refresh a few hundred previews
            await asyncio.sleep(0.01)

    async def _ungated(self, observed: Observed) -> None:
        began = time.perf_counter()
        await self._checked(self._agent, "POST", _path(UNGATED), {"args": {"draft_id": "r-12345"}})
        observed.record("agent: ungated call", began)
        began, line = time.perf_counter(), Line(self._address, self._token)
        await self._checked(line, "GET", f"/v1/actions/{ACTION}")
        observed.record("agent: new connection", began)
        line.close()

    async def _gated(self, observed: Observed) -> None:
        draft = next(self._drafts)
        ready = self._ready[draft] = asyncio.get_running_loop().create_future()
        began = time.perf_counter()
        body: Json = {"args": {"draft_id": draft}}
        reply = json.loads(await self._checked(self._agent, "POST", _path(ACTION), body, expected=202))
        observed.record("agent: gated call", began)
        id_ = reply["approval_id"]
        self._harness.observed.accepted[id_] = draft
        await asyncio.wait({ready, self._watching}, timeout=120, return_when=asyncio.FIRST_COMPLETED)
        assert not self._watching.done(), "the gate ended the operator's watch"
        item = ready.result()
        observed.record("operator: request with preview", began)
        del self._ready[draft]
        began = time.perf_counter()
        await self._checked(self._operator, "GET", f"/v1/action-approvals/{id_}")
        observed.record("operator: show", began)
        began = time.perf_counter()
        path = f"/v1/action-approvals/{id_}/refresh"
        item = json.loads(await self._checked(self._operator, "POST", path, {}))["item"]
        observed.record("operator: refresh", began)
        self._harness.observed.approving.add(id_)
        signed = decision(item, Verdict.APPROVE, self._harness.key)
        began = time.perf_counter()
        await self._checked(self._operator, "POST", f"/v1/action-approvals/{id_}/decide", signed)
        observed.record("operator: approve", began)
        self._harness.observed.decided[id_] = Verdict.APPROVE
        while True:
            asked = time.perf_counter()
            result = json.loads(await self._checked(self._agent, "GET", f"/v1/action-approvals/{id_}/result"))
            observed.record("agent: poll", asked)
            if result["status"] not in ("pending_approval", "running"):
                break
            await asyncio.sleep(0.005)
        observed.record("agent: result after approval", began)
        assert result["status"] == "completed", result
        self._harness.observed.ended[id_] = result

    async def _operator_reads(self, observed: Observed) -> None:
        for what, path in (("status", "/v1/status"), ("history", "/v1/history?limit=50")):
            began = time.perf_counter()
            await self._checked(self._operator, "GET", path)
            observed.record(f"operator: {what}", began)
        began = time.perf_counter()
        items = await self._checked(self._operator, "GET", "/v1/action-approvals")
        observed.record(WHOLE_LIST, began)
        self.waiting = items.count(b'"connector_fqn":')

    async def _checked(self, line: Line, method: str, path: str, body: Json = None, *, expected: int = 200) -> bytes:
        status, data = await line.ask(method, path, body)
        assert status == expected, f"{method} {path}: {status} {data[:300]!r}"
        return data


def _path(action: str) -> str:
    return f"/v1/actions/{action}/run"


async def _flood(
    workers: Workers, process: GateProcess, address: GateAddress, size: FloodSize, say: Callable[[str], None]
) -> FloodResult:
    await workers.start()
    await workers.work(max(20, size.rounds // 10), Observed())  # until everything is loaded
    quiet, flooded, memory = Observed(), Observed(), [process.memory()]
    await workers.work(size.rounds, quiet)
    say("the flood begins")
    hostile = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.gate.flood", "--hostile", json.dumps([asdict(address), asdict(size)])),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    output = asyncio.create_task(hostile.communicate())
    await asyncio.sleep(1)
    rounds = 0
    while not output.done() or rounds < size.rounds:
        await workers.work(10, flooded)
        rounds += 10
        memory.append(process.memory())
    waiting = workers.waiting
    say(f"the flood is over after {rounds} rounds")
    deadline = time.monotonic() + size.timeout + _EXPIRY_SECONDS
    while process.memory() > 1.5 * memory[0] and time.monotonic() < deadline:
        await asyncio.sleep(0.5)
    workers.reconnect()
    await workers.work(10, Observed())
    await workers.stop()
    return FloodResult(
        quiet, flooded, (memory[0], max(memory), process.memory()), json.loads((await output)[0]), waiting
    )


def flood(harness: GateHarness, size: FloodSize, say: Callable[[str], None] = lambda _: None) -> FloodResult:
    """Runs a flood; raises if the other agent or the operator is refused anything, or if anything is lost."""
    with harness.gate(Plan("under a flood", timeout=size.timeout)) as process:
        address = process.ready()
        assert address is not None, harness.log()
        token = read_token(add_agent(harness.data / LEDGER_FILE, "good", harness.key))
        drafts = iter([harness.draft() for _ in range(20 * size.rounds + 200)])
        workers = Workers(harness, address, token, drafts)
        result, harness.observed = _in_child(
            lambda: (asyncio.run(_flood(workers, process, address, size, say)), harness.observed)
        )
        say("\n" + result.report())
    return result


def _in_child(work: Callable[[], T]) -> T:
    """Runs work in a forked process, so that it does not wait for the threads of the sample service."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with os.fdopen(theirs, "wb") as out:
                pickle.dump(work(), out)
            code = 0
        except BaseException:  # noqa: BLE001  # the parent reports that the child failed
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(theirs)
    with os.fdopen(ours, "rb") as source:
        data = source.read()
    assert os.waitpid(pid, 0)[1] == 0, "the flood failed; see the traceback above"
    result: T = pickle.loads(data)  # from our own child
    return result


async def _hostile(text: str) -> None:
    os.nice(19)
    address, size = json.loads(text)
    agent = Hostile(GateAddress(**address), FloodSize(**size))
    await agent.run()
    sys.stdout.write(json.dumps(agent.counts))


def main(words: list[str]) -> int:
    """Runs a flood and prints what was measured; returns 1 if somebody had to wait too long."""
    if words[:1] == ["--hostile"]:
        asyncio.run(_hostile(words[1]))
        return 0
    size, began = FloodSize(), time.monotonic()

    def say(text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - began:5.0f} s  {text}\n")
        sys.stdout.flush()

    parser = argparse.ArgumentParser(prog="python -m tests.gate.flood", description=__doc__)
    for name in FloodSize.__slots__:
        parser.add_argument(f"--{name}", type=int, default=getattr(size, name), help="(%(default)s)")
    root = Path(tempfile.mkdtemp(prefix="flood-"))
    with gate_harness(root) as harness:
        result = flood(harness, FloodSize(**vars(parser.parse_args(words))), say)
    shutil.rmtree(root)
    say("\n" + result.verdict())
    return 0 if max(result.ratios.values()) <= HIGHEST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
