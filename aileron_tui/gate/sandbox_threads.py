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
from typing import Any, Final, TypeVar

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


@dataclass(slots=True, eq=False)
class _Job:
    """One sandbox call."""

    agent: str
    work: Callable[[], Any]
    result: "asyncio.Future[Any]"


class SandboxThreads:
    """All threads that run connectors. Must only be used from one event loop."""

    def __init__(self, sizes: dict[ThreadUse, PoolSize]) -> None:
        self._pools = {use: _ThreadPool(use, size) for use, size in sizes.items()}

    def run(self, use: ThreadUse, agent: str, work: Callable[..., T], *values: Any) -> "asyncio.Future[T]":
        """Starts a blocking call on a thread, now or when one is free. If too many wait, it fails with ThreadsBusy."""
        return self._pools[use].run(agent, lambda: work(*values))

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

    def run(self, agent: str, work: Callable[[], T]) -> "asyncio.Future[T]":
        loop = asyncio.get_running_loop()
        job = _Job(agent, work, loop.create_future())
        if self._shares.fits(agent) and agent not in self._queues:
            self._start(job, loop)
        elif self.is_full(agent):
            job.result.set_exception(ThreadsBusy(f"{self._size.queue:,} other calls of this agent are waiting to run"))
        else:
            self._queues.setdefault(agent, deque()).append(job)
        return job.result

    def is_full(self, agent: str) -> bool:
        return len(self._queues.get(agent, ())) >= self._size.queue

    def shutdown(self, *, wait: bool) -> None:
        self._queues.clear()
        self._executor.shutdown(wait=wait, cancel_futures=True)

    def _start(self, job: _Job, loop: asyncio.AbstractEventLoop) -> None:
        self._shares.add(job.agent)
        future: Future[Any] = Future()
        try:
            queued = self._executor.submit(_run, job.work, future)
        except RuntimeError as error:
            # The executor keeps the call and runs it as soon as another thread is free, which may be now.
            if future.cancel():
                self._shares.remove(job.agent)
                if not job.result.done():
                    job.result.set_exception(ThreadsBusy("the system has no thread left to run it", str(error)))
                return
        else:
            queued.add_done_callback(lambda done: future.cancel() if done.cancelled() else None)

        def ended(future: "Future[Any]") -> None:
            with suppress(RuntimeError):  # the loop is closed: the gate has stopped
                loop.call_soon_threadsafe(self._end, job, future, loop)

        future.add_done_callback(ended)

    def _end(self, job: _Job, future: "Future[Any]", loop: asyncio.AbstractEventLoop) -> None:
        self._shares.remove(job.agent)
        if not job.result.done():
            if future.cancelled():
                job.result.cancel()
            elif error := future.exception():
                job.result.set_exception(error)
            else:
                job.result.set_result(future.result())
        self._start_next(loop)

    def _start_next(self, loop: asyncio.AbstractEventLoop) -> None:
        for agent in tuple(self._queues):
            if not self._shares.fits(agent):
                continue
            queue = self._queues.pop(agent)
            job = queue.popleft()
            if queue:
                self._queues[agent] = queue  # behind the other agents
            if not job.result.done():
                self._start(job, loop)


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
