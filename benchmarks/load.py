"""A gate under load: calls recorded a second, its memory, and its start after `kill -9` with many waiting."""

import asyncio
import json
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, Self

from aileron_tui.core.decision import Verdict
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.files.agent_tokens import read_token
from aileron_tui.ledger.file_names import FILE
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.surface.agent_changes import add_agent
from benchmarks._bulk_ledger import checked
from benchmarks._gate_home import WATCH, decision, gate_command, gate_environment, make_home, open_session
from benchmarks._http_connection import Connection, Watcher, upstream_service
from benchmarks._result import QUICK, Result, duration

AGENTS: Final = 100
WAITING: Final = 1_000 if QUICK else 5_000
WAVES: Final = 1 if QUICK else 4
WAVE: Final = 5
"""Calls of each agent in a wave; all are decided before the next wave."""
AT_ONCE: Final = 16
"""Agents that call at the same time, and connections of the approver."""
ACTION: Final = "/v1/actions/send-draft/run"
LIST: Final = "/v1/action-approvals"

CALLS_A_SECOND: Final = 200.0
READY_SECONDS: Final = 5.0
MEMORY_MIB: Final = 120.0


def measure() -> list[Result]:
    """Each measurement."""
    with tempfile.TemporaryDirectory() as folder, for_this_run("bench") as key:
        return asyncio.run(_measured(Path(folder), key))


async def _measured(folder: Path, key: UnlockedKey) -> list[Result]:
    async with upstream_service() as upstream:
        bundle = materialise(folder / "suite", upstream.port)
        home = make_home(folder, key)
        tokens = [read_token(add_agent(home / "data" / FILE, f"agent-{number}", key)) for number in range(AGENTS)]
        numbers = count()
        async with _gate(home, bundle) as gate:
            empty = gate.memory("VmRSS")
            session = await open_session(gate.port, gate.instance, key)
            for _ in range(WAVES):
                await _wave(gate, tokens, session, key, numbers)
            memory = gate.memory("VmRSS")
            rate = await _calls(gate, tokens, WAITING // AGENTS, numbers, [])
            full = gate.memory("VmRSS")
            gate.process.send_signal(signal.SIGKILL)
        began = time.perf_counter()
        async with _gate(home, bundle) as gate:
            listening = time.perf_counter() - began
            await _all_listed(gate, await open_session(gate.port, gate.instance, key))
            ready = time.perf_counter() - began
            peak = gate.memory("VmHWM")
    decided = f"{WAVES * WAVE * AGENTS:,} calls of {AGENTS} agents were decided"
    title = f"gate ready after kill -9 with {WAITING:,} waiting"
    note = f"listening after {duration(listening)}; at most {peak:.0f} MiB"
    return [
        Result("gated calls recorded a second", rate, CALLS_A_SECOND, f"{rate:.0f} a second", unit="/s", at_least=True),
        Result(title, ready, READY_SECONDS, duration(ready), note=note, unit="s"),
        Result(
            "memory of a gate after load",
            memory,
            MEMORY_MIB,
            f"{memory:.0f} MiB",
            f"{empty:.0f} MiB",
            f"{decided}; then {full:.0f} MiB with {WAITING:,} waiting; against the same gate at its start",
            "MiB",
        ),
    ]


@dataclass
class _Gate:
    """A gate as a process of its own."""

    process: asyncio.subprocess.Process
    port: int
    instance: str

    @classmethod
    async def start(cls, home: Path, bundle: Path) -> Self:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *gate_command(bundle),
            env=gate_environment(home),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        if process.stdout is None or not (line := await process.stdout.readline()):
            raise RuntimeError("the gate does not start")
        said = json.loads(line)
        return cls(process, int(said["url"].rpartition(":")[2]), said["instance"])

    def memory(self, name: str) -> float:
        """Its memory in MiB by this name: VmRSS now, VmHWM at most so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return int(status.partition(f"{name}:")[2].split()[0]) / 1024


@asynccontextmanager
async def _gate(home: Path, bundle: Path) -> AsyncIterator[_Gate]:
    gate = await _Gate.start(home, bundle)
    try:
        yield gate
    finally:
        if gate.process.returncode is None:
            gate.process.send_signal(signal.SIGTERM)
        await gate.process.wait()


async def _calls(
    gate: _Gate, tokens: list[str], each: int, numbers: Iterator[int], asked: list[tuple[str, str]]
) -> float:
    """Every agent makes some calls; the answer to each comes once it is in the ledger. Returns calls a second.

    Each call is another one, because identical calls share one request.
    """

    async def call(some: list[str]) -> None:
        for token in some:
            connection = Connection(gate.port, token)
            for _ in range(each):
                body = json.dumps({"args": {"draft_id": f"r-{next(numbers)}"}}).encode()
                reply = await connection.ask("POST", ACTION, body)
                checked(reply["status"] == "pending_approval")
                asked.append((token, reply["approval_id"]))
            connection.close()

    began = time.perf_counter()
    await asyncio.gather(*(call(tokens[start::AT_ONCE]) for start in range(AT_ONCE)))
    return each * len(tokens) / (time.perf_counter() - began)


async def _wave(gate: _Gate, tokens: list[str], session: str, key: UnlockedKey, numbers: Iterator[int]) -> None:
    """Every agent makes some calls; all are decided, one of ten denied; they end, and the agents fetch the results."""
    watcher = Watcher(gate.port, session, WATCH)
    await watcher.open()
    asked: list[tuple[str, str]] = []
    calling = asyncio.create_task(_calls(gate, tokens, WAVE, numbers, asked))
    ready: list[Any] = []
    while len(ready) < WAVE * len(tokens):
        item = await _updated(watcher)
        if item["state"] == "pending" and item["preview_state"] == "ready":
            ready.append(item)
    await calling
    deciding = asyncio.gather(*(_decide(gate, session, ready[start::AT_ONCE], key) for start in range(AT_ONCE)))
    ran = 0
    while ran < sum(_verdict(number) is Verdict.APPROVE for number in _numbers(len(ready))):
        ran += (await _updated(watcher))["state"] == "executed"
    await deciding
    watcher.close()
    for token, id_ in asked:
        agent = Connection(gate.port, token)
        checked((await agent.ask("GET", f"{LIST}/{id_}/result"))["status"] in ("completed", "denied"))
        agent.close()


def _numbers(count: int) -> list[int]:
    return [number // AT_ONCE for number in range(count)]


def _verdict(number: int) -> Verdict:
    return Verdict.DENY if number % 10 == 9 else Verdict.APPROVE


async def _updated(watcher: Watcher) -> Any:
    async with asyncio.timeout(120):
        _, event = await watcher.next(b"updated")
    return json.loads(event.split(b"\ndata: ")[1])


async def _decide(gate: _Gate, session: str, items: list[Any], key: UnlockedKey) -> None:
    connection = Connection(gate.port, session)
    for number, item in enumerate(items):
        await connection.ask("POST", f"{LIST}/{item['id']}/decide", decision(item, _verdict(number), key))
    connection.close()


async def _all_listed(gate: _Gate, session: str) -> None:
    """Waits until the gate lists everything that waited before."""
    connection = Connection(gate.port, session)
    while len((await connection.ask("GET", LIST))["items"]) < WAITING:
        await asyncio.sleep(0.05)
    connection.close()
