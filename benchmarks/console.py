"""The console against what it cannot be faster than: an empty Textual app, a bare script, the bare wire, a short list.

Start, memory and idle time are those of the real command in a terminal of its own, beside a gate in this process.
What happens between a key or an event and the screen is measured in this process, on a driver that writes nowhere.
"""

import asyncio
import fcntl
import json
import os
import pty
import random
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import httpx
from textual import events
from textual.drivers.headless_driver import HeadlessDriver

from aileron_tui.cli.screen import collect_rarely, quick_start
from aileron_tui.console.app import Console
from aileron_tui.console.keys import RunKeyholder
from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.console.source import Connect, Source, Upstream
from aileron_tui.core.decision import Verdict, timestamp
from aileron_tui.core.jsontext import JsonObject, canonical
from aileron_tui.demo.embedded import EmbeddedGate, enrolled
from aileron_tui.demo.home import SampleHome, sample_home
from aileron_tui.runtime.client import AgentClient, ApproverClient
from aileron_tui.runtime.discovery import Found, agent_token
from aileron_tui.runtime.feed import Happening, read_events
from aileron_tui.runtime.items import Item
from aileron_tui.signing import keys
from tests.console.scripted import ScriptedGate, request

Result = tuple[str, float, float, str]

FRAME: Final = 1 / 60
SIZE: Final = (120, 36)
STARTS: Final = 15
CALLS: Final = 15
IDLE_SECONDS: Final = 10.0
ARRIVALS: Final = 25
ANSWERS: Final = 40
SMALL, LARGE = 100, 10_000
STEPS: Final = 40
LOAD_SECONDS: Final = 3.0
LOAD_RATE: Final = 500
LOADS: Final = 3
SETTINGS: Final = ConsoleSettings(arm_seconds=0.0, undo_seconds=0.0, bell=False, notify=False)
TICK: Final = 0.005
LATER: Final = timestamp(datetime.now(UTC) + timedelta(hours=9))

EMPTY: Final = "from textual.app import App; App().run()"
SAME_IMPORTS: Final = (
    "import aileron_tui.cli.console, aileron_tui.console.app, aileron_tui.signing.pkcs8; "
    "import aileron_tui.console.widgets.prompt_view, aileron_tui.runtime.client; "
    "from cryptography.hazmat.primitives.asymmetric import ed25519; "
)
LIST: Final = """import httpx, sys
response = httpx.get(sys.argv[1] + "/v1/action-approvals", headers={"Authorization": "Bearer " + sys.argv[2]})
response.raise_for_status()
for item in response.json()["items"]:
    print(item["id"], item["action_name"])
"""
RUN: Final = """import httpx, sys
headers = {"Authorization": "Bearer " + sys.argv[2]}
response = httpx.post(sys.argv[1] + "/v1/actions/list-drafts/run", json={"args": {}}, headers=headers)
response.raise_for_status()
print(response.text)
"""


def measure() -> Iterator[Result]:
    """Name, ratio, limit and note of each measurement."""
    yield from _growth()
    yield asyncio.run(_arrival())
    yield asyncio.run(_stall())
    with _served() as served:
        yield asyncio.run(_answers(served))
        yield _start(served)
        yield from _commands(served)
        yield from _idle(served)


# a gate, and the command on it


@dataclass(frozen=True, slots=True)
class Served:
    """A gate in this process and a home in which the real command finds it."""

    home: SampleHome
    found: Found
    agent: AgentClient

    @property
    def environment(self) -> dict[str, str]:
        """What the command is started with: a terminal of many colours, and modules that are compiled, as installed."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        kept |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "AILERON_TUI_HOME": str(self.home.root)}
        return {**kept, "PYTHONPYCACHEPREFIX": str(self.home.root / "compiled")}


@contextmanager
def _served() -> Iterator[Served]:
    with ExitStack() as stack:
        home = stack.enter_context(sample_home())
        keys.create(home.root / "keys", "bench", None)
        stack.enter_context(enrolled(home.setup.data, keys.unlock(home.root / "keys", "bench", None)))
        gate = stack.enter_context(EmbeddedGate(home.setup))
        agent = stack.enter_context(AgentClient(gate.found, agent_token(gate.found)))
        yield Served(home, gate.found, agent)


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, words: list[str], environment: dict[str, str]) -> None:
        self._began = time.perf_counter()
        self.pid, self._screen = pty.fork()
        if not self.pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
            os.execve(sys.executable, [sys.executable, *words], environment)
        self._seen = b""

    def wait_for(self, mark: bytes, seconds: float = 30.0) -> float:
        """When this was written to the terminal, in seconds since the start."""
        while mark not in self._seen:
            self._read(seconds)
            if time.perf_counter() - self._began > seconds:
                raise RuntimeError(f"never shown: {mark!r}; {self._seen[-2000:]!r}")
        return time.perf_counter() - self._began

    def look_on(self, seconds: float) -> None:
        """Takes what is written for a while, as a terminal does."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self._read(left)

    def _read(self, seconds: float) -> None:
        if select.select([self._screen], [], [], seconds)[0]:
            self._seen += os.read(self._screen, 1 << 16)

    @property
    def cpu(self) -> float:
        """The processor's seconds so far, of all threads."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    @property
    def memory(self) -> float:
        """Resident memory, in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def end(self) -> float:
        """Stops it at once; the processor's seconds it took."""
        os.kill(self.pid, signal.SIGKILL)
        usage = os.wait4(self.pid, 0)[2]
        os.close(self._screen)
        return usage.ru_utime + usage.ru_stime


_FIRST_CELLS: Final = b"[48;2;"
_COMMAND: Final = ["-m", "aileron_tui"]


def _start(served: Served) -> Result:
    """From the start of the process to the first painted screen.

    The console's has its frame on it: header, list, answer keys. What the gate tells comes when it was asked.
    """
    wall: tuple[list[float], list[float]] = ([], [])
    cpu: tuple[list[float], list[float]] = ([], [])
    sides = ((["-c", EMPTY], _FIRST_CELLS), (_COMMAND, b"approve"))
    heard: list[float] = []
    for turn in range(STARTS + 1):
        for index, (words, mark) in enumerate(sides):
            terminal = Terminal(words, served.environment)
            seconds = terminal.wait_for(mark)
            used = terminal.cpu
            if turn:  # the first of each compiles
                wall[index].append(seconds)
                cpu[index].append(used)
                if words == _COMMAND:
                    heard.append(terminal.wait_for("● connected".encode()))
            terminal.end()
    empty, ours = map(statistics.median, wall)
    busy_empty, busy = map(statistics.median, cpu)
    note = (
        f"{ours * 1e3:.0f} ms and {empty * 1e3:.0f} ms; of processor time {busy * 1e3:.0f} and {busy_empty * 1e3:.0f}; "
        f"the gate heard after {statistics.median(heard) * 1e3:.0f} ms"
    )
    return "start to first paint / an empty Textual app", ours / empty, 1.3, note


def _commands(served: Served) -> Iterator[Result]:
    """Two commands against scripts that make the same call with a token that they are given."""
    token = agent_token(served.found)
    with ApproverClient(served.found, served.home.key) as client:
        client.waiting()
        scripts = {("list",): (LIST, client._token), ("run", "list-drafts"): (RUN, token)}
        for words, (script, bearer) in scripts.items():
            bare = [sys.executable, "-c", script, served.found.url, bearer]
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(CALLS):
                for into, command in zip(times, ([sys.executable, *_COMMAND, *words], bare), strict=True):
                    began = time.perf_counter()
                    subprocess.run(command, env=served.environment, capture_output=True, check=True)
                    into.append(time.perf_counter() - began)
            ours, theirs = map(statistics.median, times)
            note = f"{ours * 1e3:.0f} ms and {theirs * 1e3:.0f} ms"
            yield f"{words[0]} / five lines of httpx", ours / theirs, 1.5, note


def _idle(served: Served) -> Iterator[Result]:
    """Memory and work of a console that shows a request and is left alone, and of an empty app with its imports."""
    served.agent.run("send-draft", {"draft_id": "r-12345"})
    ours, empty = Terminal(_COMMAND, served.environment), Terminal(["-c", SAME_IMPORTS + EMPTY], served.environment)
    try:
        ours.wait_for(b"1 waiting")
        empty.wait_for(_FIRST_CELLS)
        ours.look_on(3.0)
        before = ours.cpu, empty.cpu
        ours.look_on(IDLE_SECONDS)
        busy, rest = ((side.cpu - start) / IDLE_SECONDS for side, start in zip((ours, empty), before, strict=True))
        large, small = ours.memory, empty.memory
    finally:
        ours.end()
        empty.end()
    yield (
        "memory when idle / an empty Textual app, same imports",
        large / small,
        1.5,
        f"{large:.0f} and {small:.0f} MiB",
    )
    yield "work when idle, in % of a core", busy * 100, 0.5, f"an empty Textual app: {rest * 100:.2f} %"


# a console in this process


class Screen(HeadlessDriver):
    """Takes what would be written to a terminal, and tells whoever waits for a piece of it."""

    wanted = ""
    shown: asyncio.Event

    @property
    def is_headless(self) -> bool:
        """So that everything is drawn."""
        return False

    def write(self, data: str) -> None:
        """Looks for what is waited for."""
        if self.wanted in data:
            self.shown.set()


class Watched(Console):
    """A console that tells when it has drawn its board anew."""

    drawn: Callable[[], None] | None = None

    def redraw(self) -> None:
        """Shows the board as it is now."""
        super().redraw()
        if self.drawn:
            self.drawn()

    @property
    def painted(self) -> Screen:
        """Where it draws."""
        if not isinstance(self._driver, Screen):
            raise TypeError
        return self._driver

    async def until_painted(self, words: str, begin: Callable[[], object]) -> None:
        """Begins something and returns when the words have been drawn."""
        self.painted.wanted = words
        self.painted.shown.clear()
        begin()
        await asyncio.wait_for(self.painted.shown.wait(), 20)

    def strike(self, key: str) -> None:
        """Strikes a key."""
        self.post_message(events.Key(key, key if len(key) == 1 else None))


@asynccontextmanager
async def _console(source: Source | Connect, key: keys.UnlockedKey) -> AsyncIterator[Watched]:
    connect = source if callable(source) else lambda _: source
    app = Watched([Upstream("", connect)], RunKeyholder(key), SETTINGS)
    app.driver_class = Screen
    Screen.shown = asyncio.Event()
    with quick_start():
        running = asyncio.create_task(app.run_async(size=SIZE))
        try:
            await _until(lambda: not app.trouble)
            await asyncio.sleep(0.5)
            collect_rarely()  # as the command does when it has come up
            yield app
        finally:
            app.exit()
            await running


async def _until(true: Callable[[], bool]) -> None:
    for _ in range(4000):
        if true():
            return
        await asyncio.sleep(0.005)
    raise RuntimeError("it did not come to that")


def _item(number: int) -> Item:
    made = request(number)
    return replace(made, expires_at=LATER, fields=made.fields | {"expires_at": LATER})


def _growth() -> Iterator[Result]:
    """Moving and filtering in a long list and in a short one, in turns, in processor time."""
    sides = {count: [_item(number) for number in range(count)] for count in (SMALL, LARGE)}

    async def side(count: int, work: Callable[[Watched], Awaitable[None]]) -> float:
        async with _console(ScriptedGate(*sides[count]), keys.for_this_run()) as app:
            await work(app)
            began = time.process_time()
            await work(app)
            return time.process_time() - began

    for name, work in {"moving": _moving, "filtering": _filtering}.items():
        times = {count: [asyncio.run(side(count, work)) for _ in range(3)] for count in sides}
        small, large = (min(times[count]) / STEPS for count in (SMALL, LARGE))
        note = f"{large * 1e3:.1f} ms and {small * 1e3:.1f} ms of processor time a key"
        yield f"{name} among {LARGE:,} waiting / among {SMALL}", large / small, 2.0, note


async def _moving(app: Watched) -> None:
    for step in range(STEPS):
        await app.until_painted("", partial(app.strike, "down" if step < STEPS // 2 else "up"))


async def _filtering(app: Watched) -> None:
    app.strike("slash")
    await asyncio.sleep(0.1)
    for _ in range(STEPS // 8):
        for key in ("o", "n", "-", "9", *["backspace"] * 4):
            await app.until_painted("", partial(app.strike, key))
    app.strike("escape")
    await asyncio.sleep(0.1)


# events


class Stream(ScriptedGate):
    """A gate whose events are bytes on a socket, read as the client reads them; notes when they were read."""

    def __init__(self, *items: Item) -> None:
        super().__init__(*items)
        self._near, self._far = socket.socketpair()
        self.read_at = 0.0

    def send(self, item: Item) -> None:
        """A new request, as it comes over the wire."""
        self._near.sendall(b"id: 1\nevent: pending\ndata: %b\n\n" % json.dumps(item.fields).encode())

    def watch(self, after: int = 0) -> Iterator[Happening | None]:  # noqa: ARG002  # as a source declares it
        """Everything that is sent."""
        yield Happening(0, "snapshot", {}, tuple(self.items.values()))
        yield from read_events(self._chunks(), self.instance)

    def _chunks(self) -> Iterator[bytes]:
        while chunk := self._far.recv(1 << 16):
            self.read_at = time.perf_counter()
            yield chunk


async def _arrival() -> Result:
    """From the bytes of an event in the client's hands to the row that is written to the terminal."""
    late: list[float] = []
    items = [_item(1000 + number) for number in range(ARRIVALS)]
    for _ in range(3):
        gate = Stream()
        async with _console(gate, keys.for_this_run()) as app:
            for item in items:
                await asyncio.sleep(random.uniform(0.03, 0.08))  # so as not to fall in step with frames
                await app.until_painted(item.prompt.action, partial(gate.send, item))
                late.append(time.perf_counter() - gate.read_at)
    middle, worst = statistics.median(late), max(late)
    note = f"median {middle * 1e3:.1f} ms, worst {worst * 1e3:.1f} ms; a frame is {FRAME * 1e3:.1f} ms"
    return "arrival at the client to painted row, in frames", middle / FRAME, 1.0, note


async def _stall() -> Result:
    """By how much the loop is late at worst while requests pour in and the operator walks through them."""
    worst: list[float] = []
    items = [_item(1000 + number) for number in range(int(LOAD_SECONDS * LOAD_RATE))]
    for _ in range(LOADS):
        gate = Stream()
        async with _console(gate, keys.for_this_run()) as app:
            pouring = asyncio.create_task(asyncio.to_thread(_pour, gate, items))
            worst.append(await _latest(app, pouring))
            await _until(lambda: len(app.board.items) == len(items))
    note = f"{LOAD_RATE} arrivals a second; each of {LOADS} rounds: {', '.join(f'{one * 1e3:.0f}' for one in worst)}"
    return "longest stall of the loop under load, in ms", max(worst) * 1e3, 50.0, note


def _pour(gate: Stream, items: list[Item]) -> None:
    began = time.perf_counter()
    for number, item in enumerate(items):
        time.sleep(max(0.0, began + number / LOAD_RATE - time.perf_counter()))
        gate.send(item)


async def _latest(app: Watched, until: asyncio.Task[None]) -> float:
    worst, ticks = 0.0, 0
    while not until.done():
        began = time.perf_counter()
        await asyncio.sleep(TICK)
        worst = max(worst, time.perf_counter() - began - TICK)
        ticks += 1
        if not ticks % 6:
            app.strike("down")
    return worst


# answers


async def _answers(served: Served) -> Result:
    """From the key to the console that knows the gate took the answer, against signing and posting the same by hand.

    When that is on the screen too is told beside it.
    """
    found, key = served.found, served.home.key
    ours: list[float] = []
    drawn: list[float] = []
    bare: list[float] = []
    with ApproverClient(found, key) as client, httpx.Client(base_url=found.url) as wire:
        client.waiting()
        headers = {"Authorization": f"Bearer {client._token}", "Content-Type": "application/json"}

        def post(item: Item) -> None:
            body = canonical(client.decision(item, Verdict.APPROVE))
            wire.post(f"/v1/action-approvals/{item.id}/decide", content=body, headers=headers).raise_for_status()

        async with _console(lambda _: ApproverClient(found, key, surface="console"), key) as app:
            for number in range(ANSWERS):
                for console in (True, False):
                    item = await _asked(served, app, f"d-{number}-{console}")
                    began = time.perf_counter()
                    if console:
                        known, shown = await _approved(app)
                        ours.append(known - began)
                        drawn.append(shown - began)
                    else:
                        await asyncio.to_thread(post, item)
                        bare.append(time.perf_counter() - began)
                    await _until(partial(_ended, app, item.id))
                    await asyncio.sleep(0.05)
    mine, base, seen = (statistics.median(times[5:]) for times in (ours, bare, drawn))
    note = f"{mine * 1e3:.1f} ms and {base * 1e3:.1f} ms; drawn after {seen * 1e3:.1f} ms"
    return "`a` to decision acknowledged / a bare signed POST", mine / base, 1.5, note


def _ended(app: Watched, id_: str) -> bool:
    return not app.board.waits(id_)


async def _asked(served: Served, app: Watched, folder: str) -> Item:
    """A new request that the console shows and would take an answer to."""
    args: JsonObject = {"file_id": "f-1001", "folder_id": folder}
    id_ = str((await asyncio.to_thread(served.agent.run, "move-file", args))["approval_id"])
    await _until(lambda: id_ in app.board.items and not app.board.items[id_].fetching)
    app.board.chosen = id_
    app.redraw()
    await _until(lambda: not app._main.obstacle())
    await asyncio.sleep(0.05)
    return app.board.items[id_]


class _Noted(set[str]):
    """What was answered, and when the first of it became known."""

    at = 0.0

    def add(self, element: str) -> None:
        self.at = self.at or time.perf_counter()
        super().add(element)


async def _approved(app: Watched) -> tuple[float, float]:
    """When the board has it that the gate took the answer, and when that is drawn."""
    app.board.answered_here = noted = _Noted()
    taken = asyncio.Event()

    def look() -> None:
        if noted.at:
            taken.set()

    app.drawn = look
    app.strike("a")
    await asyncio.wait_for(taken.wait(), 20)
    app.drawn = None
    return noted.at, time.perf_counter()


if __name__ == "__main__":
    for name, ratio, limit, note in measure():
        print(f"{name:<56} {ratio:5.2f} (limit {limit})  {note}", flush=True)
