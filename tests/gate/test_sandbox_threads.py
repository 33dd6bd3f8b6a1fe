"""The threads for sandbox calls: shares, order, and what happens when there are too many calls or no threads."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from aileron_tui.gate.sandbox_threads import PoolSize, SandboxThreads, ThreadsBusy, ThreadUse
from tests.gate.conftest import run_async

Work = Callable[[SandboxThreads, threading.Event], Awaitable[None]]


def with_threads(work: Work, size: PoolSize) -> None:
    """Runs work with pools of this size, and with an event that lets blocked calls end."""

    async def main() -> None:
        threads, go_on = SandboxThreads(dict.fromkeys(ThreadUse, size)), threading.Event()
        try:
            await work(threads, go_on)
        finally:
            go_on.set()
            await asyncio.to_thread(threads.shutdown, wait=True)

    run_async(main())


def test_an_agent_with_slow_calls_delays_neither_others_nor_other_uses() -> None:
    async def work(threads: SandboxThreads, go_on: threading.Event) -> None:
        slow = [threads.run(ThreadUse.UNGATED, "a", go_on.wait) for _ in range(10)]
        assert await threads.run(ThreadUse.UNGATED, "b", lambda: "b") == "b"
        for use in (ThreadUse.OP, ThreadUse.PREVIEW, ThreadUse.REFRESH):
            assert await threads.run(use, "a", lambda: "a") == "a"
        go_on.set()
        await asyncio.gather(*slow)

    with_threads(work, PoolSize(threads=4, per_agent=2, queue=20))


def test_the_waiting_calls_of_one_agent_are_not_before_those_of_another() -> None:
    async def work(threads: SandboxThreads, go_on: threading.Event) -> None:
        order: list[str] = []
        slow = [threads.run(ThreadUse.OP, "a", go_on.wait) for _ in range(2)]
        later = [threads.run(ThreadUse.OP, "a", order.append, "a") for _ in range(5)]
        await asyncio.gather(*(threads.run(ThreadUse.OP, "b", order.append, "b") for _ in range(3)))
        assert order == ["b"] * 3
        go_on.set()
        await asyncio.gather(*slow, *later)
        assert order == ["b"] * 3 + ["a"] * 5

    with_threads(work, PoolSize(threads=1, per_agent=2, queue=20))


def test_more_calls_than_may_wait_are_refused() -> None:
    async def work(threads: SandboxThreads, go_on: threading.Event) -> None:
        running = [threads.run(ThreadUse.UNGATED, "a", go_on.wait) for _ in range(2)]
        waiting = [threads.run(ThreadUse.UNGATED, "a", go_on.wait) for _ in range(3)]
        assert threads.is_full(ThreadUse.UNGATED, "a")
        with pytest.raises(ThreadsBusy, match="3 other calls of this agent"):
            await threads.run(ThreadUse.UNGATED, "a", go_on.wait)
        assert not threads.is_full(ThreadUse.UNGATED, "b")
        go_on.set()
        await asyncio.gather(*running, *waiting)

    with_threads(work, PoolSize(threads=2, per_agent=2, queue=3))


def test_a_call_that_got_no_thread_never_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(threads: SandboxThreads, go_on: threading.Event) -> None:
        ran: list[str] = []
        adjust = ThreadPoolExecutor._adjust_thread_count

        def no_thread(_: Any) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(ThreadPoolExecutor, "_adjust_thread_count", no_thread)
        with pytest.raises(ThreadsBusy, match="no thread left"):
            await threads.run(ThreadUse.OP, "a", ran.append, "refused")
        monkeypatch.setattr(ThreadPoolExecutor, "_adjust_thread_count", adjust)
        await threads.run(ThreadUse.OP, "a", ran.append, "later")
        assert ran == ["later"]
        go_on.set()

    with_threads(work, PoolSize(threads=2, per_agent=2, queue=3))


def test_an_error_reaches_the_caller_and_frees_the_thread() -> None:
    async def work(threads: SandboxThreads, go_on: threading.Event) -> None:
        for _ in range(5):
            with pytest.raises(ZeroDivisionError):
                await threads.run(ThreadUse.OP, "a", lambda: 1 / 0)
        assert await threads.run(ThreadUse.OP, "a", lambda: 1) == 1
        go_on.set()

    with_threads(work, PoolSize(threads=1, per_agent=1, queue=0))
