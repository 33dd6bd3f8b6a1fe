"""Works on large values outside the event loop, so that everyone else is served meanwhile."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

LARGE_BYTES: Final = 64 * 1024

_thread: Final = ThreadPoolExecutor(1, "large-values")


async def work_on(size: int, work: Callable[[], T]) -> T:
    """Returns what `work` returns. With a large value it runs in a thread, one at a time."""
    if size <= LARGE_BYTES:
        return work()
    try:
        result = asyncio.get_running_loop().run_in_executor(_thread, work)
    except RuntimeError:  # no thread can be started now
        return work()
    return await result
