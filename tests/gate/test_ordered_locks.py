"""Whoever needs several locks gets them in the end, whatever others need, and whoever shares none does not wait."""

import asyncio
import itertools

import pytest

from aileron_tui.gate.connector_activity import ConnectorActivity
from aileron_tui.gate.ordered_locks import OrderedLocks
from tests.gate.conftest import run_async

NEEDS = [frozenset(names) for count in (1, 2, 3) for names in itertools.combinations("abcd", count)]


def test_many_that_need_several_all_get_them_and_never_two_the_same() -> None:
    async def work() -> None:
        locks, in_use = OrderedLocks(), set[str]()

        async def use(names: frozenset[str]) -> None:
            for _ in range(20):
                async with locks.held(names, 10):
                    assert not in_use & names
                    in_use.update(names)
                    await asyncio.sleep(0)
                    in_use.difference_update(names)

        await asyncio.gather(*map(use, NEEDS * 3))

    run_async(work())


def test_whoever_gives_up_leaves_no_lock_behind() -> None:
    async def work() -> None:
        locks = OrderedLocks()
        async with locks.held("b"):
            with pytest.raises(TimeoutError):
                async with locks.held("ab", 0.01):
                    raise AssertionError("it holds what somebody else has")
            async with locks.held("ac", 0.01):
                pass

    run_async(work())


def test_whoever_has_nothing_in_common_does_not_wait() -> None:
    async def work() -> None:
        activity = ConnectorActivity(lambda: None)
        async with activity.exclusive("ab", 10), activity.exclusive("cd", 0.01):
            with pytest.raises(TimeoutError):
                async with activity.exclusive("bc", 0.01):
                    raise AssertionError("both others have one of these")

    run_async(work())
