"""Opens ledgers and results. Only this module chooses the database.

The database is imported when it is opened, because the console paints its first frame without it.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from aileron_tui.core.times import utc_now
from aileron_tui.files.boot_clock import BootClock
from aileron_tui.ledger.store import (
    LOCK_SECONDS,
    IdSet,
    Ledger,
    LedgerReader,
    LedgerReplacement,
    ReductionStep,
    ResultStore,
)


def open_ledger(  # noqa: PLR0913  # every option has a default that suits a gate
    path: Path,
    *,
    role: str = "gate",
    guest: bool = False,
    shared: bool = False,
    wait: float = LOCK_SECONDS,
    clock: Callable[[], datetime] = utc_now,
    boot_clock: BootClock | None = None,
) -> Ledger:
    """Opens a ledger for writing, and creates it if there is none.

    A gate is the only writer while it runs, but a `guest` may still record changes of keys, agents and the
    configuration. A `shared` ledger can have any number of writers.
    """
    from aileron_tui.ledger.sqlite.writer import SqliteLedger  # noqa: PLC0415  # the database is loaded when needed

    return SqliteLedger(path, role=role, guest=guest, shared=shared, wait=wait, clock=clock, boot_clock=boot_clock)


def open_reader(path: Path, *, foreign: bool = False) -> LedgerReader:
    """Opens a ledger for reading. A `foreign` ledger may belong to any user and be readable by others."""
    from aileron_tui.ledger.sqlite.reader import SqliteReader  # noqa: PLC0415  # the database is loaded when needed

    return SqliteReader(path, foreign=foreign)


def open_watching_reader(path: Path) -> LedgerReader:
    """Opens a ledger for a process that asks for every call who may do what; that takes a read only after a commit."""
    from aileron_tui.ledger.sqlite.reader import WatchingReader  # noqa: PLC0415  # the database is loaded when needed

    return WatchingReader(path)


def open_results(path: Path) -> ResultStore:
    """Opens the results of a gate, and creates their file if there is none."""
    from aileron_tui.ledger.sqlite.result_store import SqliteResults  # noqa: PLC0415  # the database is loaded when needed

    return SqliteResults(path)


def open_id_set() -> IdSet:
    """An empty set of ids."""
    from aileron_tui.ledger.sqlite.ended_requests import EndedRequests  # noqa: PLC0415  # the database is loaded when needed

    return EndedRequests()


def is_ledger(path: Path) -> bool:
    """Whether a file is a ledger, as opposed to an export of one."""
    from aileron_tui.ledger.sqlite.connection import is_database  # noqa: PLC0415  # the database is loaded when needed

    return is_database(path)


def replacing(path: Path, *, wait: float = LOCK_SECONDS) -> AbstractContextManager[LedgerReplacement]:
    """Keeps everybody from writing a ledger while another one is made to take its place. Raises LedgerHeld."""
    from aileron_tui.ledger.sqlite import replacement  # noqa: PLC0415  # the database is loaded when needed

    return replacement.replacing(path, wait=wait)


def reducible(path: Path, before: str, now: str) -> Iterator[ReductionStep]:
    """What `Ledger.reduce` would remove from a ledger at a time, part by part, without removing it."""
    from aileron_tui.ledger.sqlite import body_removal  # noqa: PLC0415  # the database is loaded when needed

    return body_removal.planned(path, before, now)


def set_aside(path: Path, *, wait: float = LOCK_SECONDS, clock: Callable[[], datetime] = utc_now) -> Path:
    """Moves an unusable ledger into a folder beside it and starts a new one. Returns the folder."""
    from aileron_tui.ledger.sqlite import writer  # noqa: PLC0415  # the database is loaded when needed

    return writer.set_aside(path, wait=wait, clock=clock)
