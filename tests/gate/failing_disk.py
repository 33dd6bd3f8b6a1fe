"""A disk that fails on demand, under a gate in the same process."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.errors import LedgerUnusable, ResultsUnusable
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.sqlite.result_store import SqliteResults
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.ledger.store import EntryDraft, StoredResult


class FailingDisk:
    """Refuses to write entries of these kinds, or those for which `fails`, and results, until it is repaired."""

    def __init__(self) -> None:
        self.kinds: frozenset[EntryKind] = frozenset()
        self.results = False
        self.fails: Callable[[EntryDraft], bool] = lambda _: False
        self.error: Callable[[], BaseException] = lambda: LedgerUnusable("cannot write the ledger: the disk is full")

    def fail(self, *kinds: EntryKind, results: bool = False) -> None:
        self.kinds, self.results = frozenset(kinds), results

    def repair(self) -> None:
        self.fail()


@contextmanager
def failing_disk() -> Iterator[FailingDisk]:
    disk = FailingDisk()
    append, check, put = SqliteLedger.append_all, SqliteLedger.check, SqliteResults.put
    check_stored = SqliteResults.check

    def append_all(ledger: SqliteLedger, drafts: Sequence[EntryDraft]) -> Head:
        if disk.kinds & {draft.kind for draft in drafts} or any(map(disk.fails, drafts)):
            raise disk.error()
        return append(ledger, drafts)

    def check_writing(ledger: SqliteLedger) -> None:
        if disk.kinds:
            raise disk.error()
        check(ledger)

    def check_results(results: SqliteResults) -> None:
        if disk.results:
            raise ResultsUnusable("results cannot be stored or read", "the disk is full")
        check_stored(results)

    def put_result(results: SqliteResults, result: StoredResult, call: str, ended: str) -> None:
        if disk.results:
            raise ResultsUnusable("results cannot be stored or read", "the disk is full")
        put(results, result, call, ended)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteLedger, "append_all", append_all)
        patch.setattr(SqliteLedger, "check", check_writing)
        patch.setattr(SqliteResults, "put", put_result)
        patch.setattr(SqliteResults, "check", check_results)
        yield disk


async def eventually(condition: Callable[[], object], seconds: float = 15.0) -> None:
    """Waits until a condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)
