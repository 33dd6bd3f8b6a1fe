"""A console in this process, with a driver that records what is drawn instead of writing it to a terminal."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from textual import events
from textual.drivers.headless_driver import HeadlessDriver
from textual.geometry import Size

from aileron_tui.console.app import Console
from aileron_tui.console.run import collect_rarely, quick_start
from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.core.request import Request
from aileron_tui.core.times import timestamp
from aileron_tui.runtime.source_events import SourceEvent, read_events
from aileron_tui.signing import key_store
from aileron_tui.surface.operator_key import TemporaryOperatorKey
from aileron_tui.surface.source import Connect, Source, SourceSpec
from benchmarks._running_gate import SIZE
from tests.console.scripted_gate import ScriptedGate, request

SETTINGS: Final = ConsoleSettings(
    arm_seconds=0.0, undo_seconds=0.0, follow=False, fastest_reading=0, bell=False, notify=False
)
LATER: Final = timestamp(datetime.now(UTC) + timedelta(hours=9))


class RecordingDriver(HeadlessDriver):
    """Receives what would be written to a terminal, and notes when a wanted text is written."""

    wanted: Callable[[str], bool] = staticmethod(bool)
    shown: asyncio.Event
    at = 0.0

    @property
    def is_headless(self) -> bool:
        """False, so that everything is drawn."""
        return False

    def write(self, data: str) -> None:
        """Notes the time if this is the wanted text."""
        if not self.shown.is_set() and self.wanted(data):
            self.at = time.perf_counter()
            self.shown.set()


class ObservedConsole(Console):
    """A console whose drawing can be waited for."""

    @property
    def painted(self) -> RecordingDriver:
        """The driver."""
        if not isinstance(self._driver, RecordingDriver):
            raise TypeError
        return self._driver

    async def until_painted(self, wanted: Callable[[str], bool], begin: Callable[[], object]) -> float:
        """Calls `begin` and returns the time at which the wanted text was drawn."""
        self.painted.wanted = wanted
        self.painted.shown.clear()
        begin()
        await asyncio.wait_for(self.painted.shown.wait(), 20)
        return self.painted.at

    def resize(self, size: tuple[int, int]) -> None:
        """Changes the size of the terminal."""
        self.post_message(events.Resize(Size(*size), Size(*size)))

    def press(self, key: str) -> None:
        """Presses a key."""
        self.post_message(events.Key(key, key if len(key) == 1 else None))


@asynccontextmanager
async def console(source: Source | Connect, key: key_store.UnlockedKey) -> AsyncIterator[ObservedConsole]:
    """A console that is connected to this source."""
    connect = source if callable(source) else lambda _: source
    app = ObservedConsole([SourceSpec("", connect)], TemporaryOperatorKey(key), SETTINGS)
    app.driver_class = RecordingDriver
    RecordingDriver.shown = asyncio.Event()
    with quick_start():
        running = asyncio.create_task(app.run_async(size=SIZE))
        try:
            await wait_until(lambda: not app.sources.trouble)
            await asyncio.sleep(0.5)
            collect_rarely()  # as the command does once it has started
            yield app
        finally:
            app.exit()
            await running


async def wait_until(condition: Callable[[], bool]) -> None:
    """Returns once the condition is true."""
    for _ in range(4000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise RuntimeError("the condition did not become true")


def item(number: int) -> Request:
    """A request that waits for a long time."""
    made = request(number)
    return replace(made, expires_at=LATER, fields=made.fields | {"expires_at": LATER})


def arrival(item: Request) -> bytes:
    """The event for a new request."""
    return b"id: 1\nevent: pending\ndata: %b\n\n" % json.dumps(item.fields).encode()


class StreamedGate(ScriptedGate):
    """A gate whose events are bytes on a socket, read as the client does; notes when they were read."""

    def __init__(self, *items: Request) -> None:
        super().__init__(*items)
        self._near, self._far = socket.socketpair()
        self.read_at = 0.0

    def send(self, event: bytes) -> None:
        """Sends an event over the socket."""
        self._near.sendall(event)

    def watch(self, after: int = 0) -> Iterator[SourceEvent | None]:  # noqa: ARG002  # as a source declares it
        """Yields everything that is sent."""
        yield SourceEvent(0, "snapshot", {}, tuple(self.items.values()))
        yield from read_events(self._chunks(), self.instance)

    def _chunks(self) -> Iterator[bytes]:
        while chunk := self._far.recv(1 << 16):
            self.read_at = time.perf_counter()
            yield chunk
