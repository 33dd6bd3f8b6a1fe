"""Writes the ledger from one thread. Facts that wait at the same time are committed together, with one sync."""

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
    """Records the gate's facts in the ledger. `head` is the head of the last commit."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self.head = ledger.head
        self._thread.start()

    def record(self, *drafts: EntryDraft) -> "asyncio.Future[Head]":
        """Done when all these facts are on the disk; fails, with none recorded, if that is not possible."""
        done: Future[Head] = Future()
        self._jobs.put((drafts, done))
        # A caller that is cancelled must not undo a fact, so the write goes on without it.
        return asyncio.shield(asyncio.wrap_future(done))

    def close(self) -> None:
        """Writes the facts that wait, then closes the ledger."""
        self._jobs.put(None)
        self._thread.join()
        self._ledger.close()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            jobs, ended = [job], False
            while not self._jobs.empty():
                following = self._jobs.get()
                if following is None:
                    ended = True
                    break
                jobs.append(following)
            self._commit(jobs)
            if ended:
                return

    def _commit(self, jobs: list[_Job]) -> None:
        """One commit for all; if one of them cannot be recorded, one commit for each."""
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
