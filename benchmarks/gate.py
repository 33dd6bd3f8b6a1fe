"""The gate, compared with its bare parts: an HTTP server, a durable write, a signature, a thread, an engine.

Each side is a process of its own. This process calls them in turns, and is also the watcher and the upstream service.
"""

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from benchmarks._bare_wasmtime import TOKEN
from benchmarks._gate_home import WATCH, decision, gate_command, gate_environment, make_home, open_session
from benchmarks._http_connection import Connection, Upstream, Watcher, process, upstream_service
from benchmarks._result import Result

ROUNDS: Final = 150
WARM: Final = 20
TURN_SECONDS: Final = 120.0
"""How long a turn may take; the first one compiles the connector."""


def measure() -> list[Result]:
    """Name, ratio, limit and note of each measurement."""
    with tempfile.TemporaryDirectory() as folder, for_this_run("bench") as key:
        return asyncio.run(_measured(Path(folder), key))


async def _measured(folder: Path, key: UnlockedKey) -> list[Result]:
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(upstream_service())
        bundle = materialise(folder / "suite", upstream.port)
        ours = await stack.enter_async_context(_gate(folder, bundle, key))
        await ours.turn(upstream)  # the bare side uses what the gate sent and wrote in this turn
        bare = await stack.enter_async_context(_bare(folder, bundle, upstream.port, key, ours))
        sides: tuple[tuple[Side, list[tuple[float, float]]], ...] = ((ours, []), (bare, []))
        for _ in range(ROUNDS):
            for side, times in sides:
                times.append(await side.turn(upstream))
        shown, begun = (
            [statistics.median(turn[column] for turn in times[WARM:]) for _, times in sides] for column in (0, 1)
        )
    return [
        _result("call to `pending` at a watcher / bare SSE echo + durable write", shown),
        _result("decide to the op's first byte upstream / signed POST + write + wasmtime", begun),
    ]


def _result(name: str, medians: list[float]) -> Result:
    ours, bare = medians
    return Result(name, ours / bare, 2.0, f"{ours * 1000:.2f} ms", f"{bare * 1000:.2f} ms")


class Side:
    """One side of the comparison: from a call to the event, and from a decision to the op."""

    def __init__(self, agent: Connection, approver: Connection, watcher: Watcher) -> None:
        self.agent = agent
        self.approver = approver
        self.watcher = watcher
        self.event = self.reply = b""
        self._number = 0

    async def turn(self, upstream: Upstream) -> tuple[float, float]:
        """Makes one request, decides it, and returns both times. Waits until everything has ended."""
        async with asyncio.timeout(TURN_SECONDS):
            return await self._turn(upstream)

    async def _turn(self, upstream: Upstream) -> tuple[float, float]:
        self._number += 1
        call = json.dumps({"args": {"draft_id": f"r-{self._number}"}}).encode()
        began = time.perf_counter()
        reader = await self.agent.send("POST", "/v1/actions/send-draft/run", call)
        came, self.event = await self.watcher.next(b"pending")
        self.reply = await self.agent.receive(reader)
        path, body = await self.decision()
        decided = time.perf_counter()
        reader = await self.approver.send("POST", path, body)
        started, _ = await asyncio.gather(upstream.sends.get(), self.approver.receive(reader))  # fails if refused
        await self.settle()
        return came - began, started - decided

    async def decision(self) -> tuple[str, bytes]:
        """Returns the path and the body of the decision."""
        raise NotImplementedError

    async def settle(self) -> None:
        """Waits until everything has ended."""
        await asyncio.sleep(0.01)


class Ours(Side):
    """The gate."""

    key: UnlockedKey
    data: Path
    body = b""

    async def decision(self) -> tuple[str, bytes]:
        """Signs the prompt once the preview was fetched."""
        item = await self._next(lambda item: bool(item["preview_state"] == "ready"))
        self.body = decision(item, Verdict.APPROVE, self.key)
        return f"/v1/action-approvals/{item['id']}/decide", self.body

    async def settle(self) -> None:
        """Waits until the op has ended."""
        await self._next(lambda item: bool(item["state"] == "executed"))
        await super().settle()

    async def _next(self, wanted: Callable[[Any], bool]) -> Any:
        """Returns the request of the next `updated` event for which this is true; a compiling connector tells too."""
        while True:
            _, event = await self.watcher.next(b"updated")
            item = json.loads(event.split(b"\ndata: ")[1])
            if wanted(item):
                return item

    def written(self) -> tuple[list[bytes], list[bytes]]:
        """Returns the entries that the last request and the last decision wrote."""
        with SqliteReader(self.data / "ledger.db") as reader:
            entries = [(json.loads(data)["kind"], data) for _, data, _ in reader.rows()]
        asked = [data for kind, data in entries if kind == EntryKind.REQUESTED]
        begun = [data for kind, data in entries if kind in (EntryKind.DECIDED, EntryKind.RUNNING)]
        return asked[-1:], begun[-2:]


@asynccontextmanager
async def _gate(folder: Path, bundle: Path, key: UnlockedKey) -> AsyncIterator[Ours]:
    home = make_home(folder, key)
    async with process(gate_command(bundle), gate_environment(home)) as line:
        said = json.loads(line)
        port = int(said["url"].rpartition(":")[2])
        session = await open_session(port, said["instance"], key)
        watcher = Watcher(port, session, WATCH)
        await watcher.open()
        await watcher.next(b"snapshot")
        agent = Connection(port, Path(said["agent_token_file"]).read_text().strip())
        side = Ours(agent, Connection(port, session), watcher)
        side.key, side.data = key, home / "data"
        yield side
        for connection in (side.agent, side.approver, watcher):
            connection.close()


class Bare(Side):
    """The same bytes, without any checks."""

    body = b""

    async def decision(self) -> tuple[str, bytes]:
        """Returns the decision that the gate got."""
        return "/decide", self.body


@asynccontextmanager
async def _bare(folder: Path, bundle: Path, upstream: int, key: UnlockedKey, ours: Ours) -> AsyncIterator[Bare]:
    asked, begun = ours.written()
    given = {"event": ours.event, "reply": ours.reply, "asked": b"".join(asked), "begun": b"".join(begun)}
    for name, data in given.items():
        (folder / name).write_bytes(data)
    public = key.public.raw.hex()
    async with process(("-m", "benchmarks._bare_gate", str(folder), str(bundle), str(upstream), public)) as line:
        port = int(line)
        watcher = Watcher(port, TOKEN, "/watch")
        await watcher.open()
        side = Bare(Connection(port, TOKEN), Connection(port, TOKEN), watcher)
        side.body = ours.body
        yield side
        for connection in (side.agent, side.approver, watcher):
            connection.close()
