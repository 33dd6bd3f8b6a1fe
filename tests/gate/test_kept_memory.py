"""What a gate keeps in memory after a peak."""

import threading

import pytest

from aileron_tui.gate import gate as gate_module
from aileron_tui.gate.event_feed import EventFeed
from tests.gate.conftest import GateEnv, run_async
from tests.gate.failing_disk import eventually


def test_freed_memory_is_returned_beside_the_event_loop(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    monkeypatch.setattr(gate_module, "_MEMORY_SECONDS", 0.01)
    monkeypatch.setattr(gate_module, "return_freed_memory", lambda: threads.append(threading.current_thread()))

    async def work() -> None:
        async with env.gate():
            await eventually(lambda: len(threads) > 1)

    run_async(work())
    assert threading.main_thread() not in threads


def test_the_feed_keeps_two_mebibytes_of_events_for_watchers_that_come_back() -> None:
    async def names(feed: EventFeed, after: int) -> list[str]:
        subscription = feed.subscribe(after)
        subscription.close()
        return [event.name async for event in subscription]

    async def work() -> None:
        feed = EventFeed(lambda: b'{"items":[]}')
        for _ in range(300):
            feed.publish("updated", bytes(10_000))
        assert await names(feed, 100) == ["updated"] * 200
        assert await names(feed, 50) == ["snapshot"]

    run_async(work())
