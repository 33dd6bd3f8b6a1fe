"""Writes to the ledger on one thread. Entries that are queued at the same time share one commit and one sync."""

import asyncio
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from aileron_tui.core.errors import AileronError
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.store import EntryDraft, Ledger

_Job = tuple[Sequence[EntryDraft], "Future[Head]"]


class LedgerRecorder:
    """Appends entries to the gate's ledger. `head` is the head after the last commit."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self.head = ledger.head
        self._thread.start()

    def record(self, *drafts: EntryDraft) -> "asyncio.Future[Head]":
        """Appends these entries together. The future is done when they are on disk; if it fails, none was recorded."""
        done: Future[Head] = Future()
        self._jobs.put((drafts, done))
        # The write continues even if its caller is cancelled.
        return asyncio.shield(asyncio.wrap_future(done))

    def close(self) -> None:
        """Writes the queued entries, then closes the ledger."""
        self._jobs.put(None)
        self._thread.join()
        self._ledger.close()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            jobs, ended = [job], False
            while not self._jobs.empty():
                next_job = self._jobs.get()
                if next_job is None:
                    ended = True
                    break
                jobs.append(next_job)
            self._commit(jobs)
            if ended:
                return

    def _commit(self, jobs: list[_Job]) -> None:
        """Commits all jobs at once; if that fails, commits each job separately."""
        try:
            self.head = self._ledger.append_all([draft for drafts, _ in jobs for draft in drafts])
        except AileronError as error:
            if len(jobs) == 1:
                jobs[0][1].set_exception(error)
                return
            for job in jobs:
                self._commit([job])
        else:
            for _, done in jobs:
                done.set_result(self.head)
