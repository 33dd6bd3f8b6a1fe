"""Verifies the ranges of a ledger in processes of their own, one for each processor."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.ledger.entry_check import Signers
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.ledger.range_check import Doubt, Progress, Range, RangeResult, check_range

SMALLEST: Final = 15_000
"""How many entries a range has at least. To start a process takes as long as to verify some thousand."""


def processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def ranges(after: int, last: int, changes: Sequence[int], most: int) -> tuple[Range, ...]:
    """Divides the entries after number `after` into ranges of about the same length, at most `most`."""
    count = max(1, min(most, (last - after) // SMALLEST))
    ends = [after + (last - after) * number // count for number in range(count + 1)]
    return tuple(Range(start + 1, end, tuple(seq for seq in changes if seq <= start)) for start, end in pairwise(ends))


def check_ranges(
    path: Path, make_signers: Callable[[], Signers], wanted: Sequence[Range], progress: Progress
) -> Iterator[RangeResult]:
    """Yields the result of each range, in order. Raises Doubt."""
    found: dict[int, RangeResult] = {}
    with _started(path, make_signers, wanted) as connections:
        open_ = dict(connections)
        for place in range(len(wanted)):
            while place not in found:
                for connection in _ready(open_):
                    received = _receive(connection)
                    if isinstance(received, int):
                        progress(received)
                    elif received is None:
                        raise Doubt("a range is not good by itself")
                    else:
                        found[open_.pop(connection)] = received
            yield found.pop(place)


def _ready(connections: Iterable[Connection]) -> list[Connection]:
    return [connection for connection in wait([*connections]) if isinstance(connection, Connection)]


def _receive(connection: Connection) -> int | RangeResult | None:
    try:
        received = connection.recv()
    except (EOFError, OSError):  # the process was killed
        return None
    return received if isinstance(received, int | RangeResult) else None


@contextlib.contextmanager
def _started(
    path: Path, make_signers: Callable[[], Signers], wanted: Sequence[Range]
) -> Iterator[list[tuple[Connection, int]]]:
    """The connections to a process for each range. The processes have ended when this returns."""
    context = multiprocessing.get_context("spawn")
    processes: list[BaseProcess] = []
    connections: list[tuple[Connection, int]] = []
    try:
        for place, range_ in enumerate(wanted):
            receiver, sender = context.Pipe(duplex=False)
            connections.append((receiver, place))
            process = context.Process(target=_check, args=(sender, path, make_signers, range_), daemon=True)
            with sender, _without_interrupts():
                process.start()
            processes.append(process)
        yield connections
    except OSError as error:
        raise Doubt(f"no process can be started: {error.strerror}") from None
    finally:
        for started in processes:
            started.kill()
            started.join()
        for connection, _ in connections:
            connection.close()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Lets a process start that ignores ctrl+c: this process ends it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _check(sender: Connection, path: Path, make_signers: Callable[[], Signers], range_: Range) -> None:
    """Verifies a range, in a process of its own. Sends numbers while it does, then the result, or None."""
    result: RangeResult | None = None
    with contextlib.suppress(BrokenPipeError):
        with contextlib.suppress(Doubt, AileronError), open_reader(path, foreign=True) as reader:
            result = check_range(reader, make_signers(), range_, sender.send)
        sender.send(result)
