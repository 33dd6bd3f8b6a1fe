"""Threads for sandbox calls, in pools that do not wait for each other.

Approved ops, previews that an approver asks for, first previews and ungated calls have a pool each. In every pool each
agent has a share, and agents whose calls wait for a thread take turns.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from enum import StrEnum
from typing import Any, Final, Protocol, TypeVar

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.gate.agent_shares import AgentShares, Share

T = TypeVar("T")

_MINIMUM: Final = 2
_AGENTS_WITH_MINIMUM: Final = 32
"""For how many agents a pool has threads beyond its total."""


class ThreadsBusy(AileronError):
    """Too many calls of one agent already wait for a thread, or the system has none left."""


class ThreadUse(StrEnum):
    """What a thread is used for."""

    OP = "op"
    REFRESH = "refresh"
    PREVIEW = "preview"
    UNGATED = "ungated call"


@dataclass(frozen=True, slots=True)
class PoolSize:
    """The threads of a pool together and for one agent, and how many calls of one agent may wait for a thread."""

    threads: int
    per_agent: int
    queue: int


class Turn(Protocol):
    """When a call may begin, and what to do when it begins and ends. A call that is not run ends too."""

    @property
    def must_wait(self) -> bool:
        """Whether the call must not begin yet."""
        ...

    def begin(self) -> None:
        """The call begins."""

    def end(self) -> None:
        """The call has ended."""


class _AnyTime:
    """The turn of a call that need not wait for anything but a thread."""

    must_wait = False

    def begin(self) -> None:
        """Does nothing."""

    def end(self) -> None:
        """Does nothing."""


_ANY_TIME: Final = _AnyTime()


@dataclass(slots=True, eq=False)
class _Job:
    """One sandbox call. Its result may be cancelled while it runs; its turn ends when it really has."""

    agent: str
    work: Callable[[], Any]
    result: "asyncio.Future[Any]"
    turn: Turn
    queued: bool = True

    def refuse(self, error: Exception) -> None:
        self.turn.end()
        if not self.result.done():
            self.result.set_exception(error)


class SandboxThreads:
    """All threads that run connectors. Must only be used from one event loop."""

    def __init__(self, sizes: dict[ThreadUse, PoolSize]) -> None:
        self._pools = {use: _ThreadPool(use, size) for use, size in sizes.items()}

    def run(
        self, use: ThreadUse, agent: str, work: Callable[..., T], *values: Any, turn: Turn = _ANY_TIME
    ) -> "asyncio.Future[T]":
        """Starts a blocking call on a thread, now or when one is free. If too many wait, it fails with ThreadsBusy."""
        return self._pools[use].run(agent, lambda: work(*values), turn)

    def start_waiting(self) -> None:
        """Starts the calls that waited for their turn and may begin now."""
        for pool in self._pools.values():
            pool.start_waiting()

    def is_full(self, use: ThreadUse, agent: str) -> bool:
        """Whether no more calls of this agent may wait for a thread."""
        return self._pools[use].is_full(agent)

    def shutdown(self, *, wait: bool) -> None:
        """Starts no more calls; with `wait`, returns when those that run have ended."""
        for pool in self._pools.values():
            pool.shutdown(wait=wait)


class _ThreadPool:
    """The threads for one use."""

    def __init__(self, use: ThreadUse, size: PoolSize) -> None:
        self._use = use
        self._size = size
        self._shares = AgentShares(Share(size.threads, size.per_agent, min(_MINIMUM, size.per_agent)))
        self._queues: dict[str, deque[_Job]] = {}
        most = size.threads + _MINIMUM * _AGENTS_WITH_MINIMUM
        self._executor = ThreadPoolExecutor(most, thread_name_prefix=f"sandbox-{use.name.lower()}")

    def run(self, agent: str, work: Callable[[], T], turn: Turn) -> "asyncio.Future[T]":
        loop = asyncio.get_running_loop()
        job = _Job(agent, work, loop.create_future(), turn)
        was_full = self.is_full(agent)
        self._queues.setdefault(agent, deque()).append(job)
        self._start_next(loop)
        if job.queued and was_full:
            self._take(job)
            job.refuse(ThreadsBusy(f"{self._size.queue:,} other calls of this agent are waiting to run"))
        return job.result

    def start_waiting(self) -> None:
        loop = asyncio.get_running_loop()
        while self._start_next(loop):
            pass

    def is_full(self, agent: str) -> bool:
        return len(self._queues.get(agent, ())) >= self._size.queue

    def shutdown(self, *, wait: bool) -> None:
        self._queues.clear()
        self._executor.shutdown(wait=wait, cancel_futures=True)

    def _start(self, job: _Job, loop: asyncio.AbstractEventLoop) -> None:
        self._shares.add(job.agent)
        job.turn.begin()
        future: Future[Any] = Future()
        try:
            queued = self._executor.submit(_run, job.work, future)
        except RuntimeError as error:
            # The executor keeps the call and runs it as soon as another thread is free, which may be now.
            if future.cancel():
                self._shares.remove(job.agent)
                job.refuse(ThreadsBusy("the system has no thread left to run it", str(error)))
                return
        else:
            queued.add_done_callback(lambda done: future.cancel() if done.cancelled() else None)

        def ended(future: "Future[Any]") -> None:
            with suppress(RuntimeError):  # the loop is closed: the gate has stopped
                loop.call_soon_threadsafe(self._end, job, future, loop)

        future.add_done_callback(ended)

    def _end(self, job: _Job, future: "Future[Any]", loop: asyncio.AbstractEventLoop) -> None:
        self._shares.remove(job.agent)
        job.turn.end()
        if not job.result.done():
            if future.cancelled():
                job.result.cancel()
            elif error := future.exception():
                job.result.set_exception(error)
            else:
                job.result.set_result(future.result())
        self._start_next(loop)

    def _start_next(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Starts at most one call of each agent; returns whether it started any."""
        started = False
        for agent in tuple(self._queues):
            if not self._shares.fits(agent):
                continue
            job = next((job for job in self._queues[agent] if not job.turn.must_wait), None)
            if job is None:
                continue
            self._take(job)
            if job.result.done():
                job.turn.end()
            else:
                self._start(job, loop)
            started = True
        return started

    def _take(self, job: _Job) -> None:
        """Takes a call from its queue; its agent is behind the others then."""
        job.queued = False
        queue = self._queues.pop(job.agent)
        queue.remove(job)
        if queue:
            self._queues[job.agent] = queue


def _run(work: Callable[[], Any], future: "Future[Any]") -> None:
    """Runs a call unless it was cancelled before it started."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001  # the caller gets it
        future.set_exception(error)
    else:
        future.set_result(result)
