"""The streams of `watch`: a small buffer for each subscriber, filled without waiting and emptied as it reads."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable

from tests.daemon.exchange import Channel
from tests.daemon.garbage import spoil
from tests.daemon.gotext import Object, encode
from tests.daemon.switches import Chances, Switches


class Subscriber:
    """One open stream."""

    def __init__(self, end: asyncio.Future[bytes]) -> None:
        self.buffer: deque[bytes] = deque()
        self.woken = asyncio.Event()
        self.end = end
        self.clean = False
        end.add_done_callback(lambda _: self.woken.set())


class Streams:
    """All open streams. What overflows a buffer is lost, as in the daemon."""

    def __init__(self, switches: Switches) -> None:
        self._switches = switches
        self._chances = Chances(switches)
        self._open: list[Subscriber] = []
        self.dropped = 0
        self.opened = 0
        self.tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    def publish(self, name: str, data: Object) -> None:
        """An event for everybody, with the faults that are switched on."""
        if self._switches.take("drop_events"):
            self.dropped += 1
            return
        for subscriber in self._open:
            for _ in range(self._chances.copies() * (1 + self._switches.duplicate_events)):
                self._offer(subscriber, self.frame(name, data))

    def send(self, frame: bytes) -> None:
        """Any bytes to every stream."""
        for subscriber in self._open:
            self._offer(subscriber, frame)

    def frame(self, name: str, data: Object) -> bytes:
        """One event on the wire."""
        text = encode(data)
        if how := self._switches.of_route("garbage", "watch"):
            text = spoil(how, text, self._switches.huge_bytes)
        return b"event: " + name.encode() + b"\ndata: " + text + b"\n\n"

    def wake(self) -> None:
        """Lets every stream look at the switches again."""
        for subscriber in self._open:
            subscriber.woken.set()

    def disconnect(self, *, clean: bool) -> int:
        """Ends all streams, with the mark of an end or without; gives how many there were."""
        count = len(self._open)
        for subscriber in self._open:
            subscriber.clean = clean
            subscriber.end.cancel()
        self._open.clear()
        return count

    async def settle(self) -> None:
        """Lets the streams write what they have, unless they are stalled."""
        for _ in range(20):
            if self._switches.stall_streams or not any(one.buffer for one in self._open):
                return
            await asyncio.sleep(0)

    async def serve(self, items: Callable[[], list[Object]], channel: Channel) -> None:
        """A stream until its reader goes away."""
        subscriber = Subscriber(asyncio.ensure_future(channel.reader.read()))
        self._open.append(subscriber)
        self.opened += 1
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        try:
            if not self._switches.silent_streams:
                shown = items()
                channel.chunk(self.frame("snapshot", {"items": shown}))
                if self._switches.repeat_snapshot:
                    for item in shown:
                        channel.chunk(self.frame("pending", item))
            await channel.writer.drain()
            await self._pump(subscriber, channel)
            if subscriber.clean:
                channel.chunk(b"")
        finally:
            subscriber.end.cancel()
            with contextlib.suppress(ValueError):
                self._open.remove(subscriber)

    async def _pump(self, subscriber: Subscriber, channel: Channel) -> None:
        loop = asyncio.get_running_loop()
        beat = loop.time()
        while not subscriber.end.done():
            subscriber.woken.clear()
            while subscriber.buffer and not self._switches.stall_streams:
                frame = subscriber.buffer.popleft()
                if not self._switches.silent_streams:
                    channel.chunk(frame)
                    await channel.writer.drain()
            every = self._switches.heartbeat
            if every and loop.time() - beat >= every:
                beat = loop.time()
                if not self._switches.stall_streams:
                    channel.chunk(b": heartbeat\n\n")
                    await channel.writer.drain()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(subscriber.woken.wait(), every - (loop.time() - beat) if every else None)

    def _offer(self, subscriber: Subscriber, frame: bytes) -> None:
        if len(subscriber.buffer) >= self._switches.buffer:
            self.dropped += 1
            return
        subscriber.buffer.append(frame)
        subscriber.woken.set()
