"""Writes to the ledger on one thread. Entries that are queued at the same time share one commit and one sync.

Nothing that happens to an entry ends the thread: its caller gets an error, and the next entry is written as usual.
"""

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import clip, inline
from aileron_tui.ledger.errors import LedgerDamaged, LedgerHeld, LedgerReplaced, LedgerUnusable
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.store import EntryDraft, Ledger

_LEDGER_PROBLEMS: Final = (LedgerDamaged, LedgerHeld, LedgerReplaced, LedgerUnusable, OSError, MemoryError)
_HUNG_SECONDS: Final = 15.0
_MAX_DETAIL_LENGTH: Final = 200
_THREAD_ENDED: Final = "the thread that writes the ledger has ended"

_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """Entries to append together, or other work. Without either, the ledger is only checked.

    `done` belongs to the caller's loop.
    """

    drafts: Sequence[EntryDraft]
    done: "asyncio.Future[Any]"
    work: Callable[[Ledger], object] | None = None


class LedgerRecorder:
    """Appends entries to the gate's ledger. `head` is the head after the last commit."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._problem = ""
        self._busy_since: float | None = None
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self.head = ledger.head
        self._thread.start()

    def record(self, *drafts: EntryDraft) -> "asyncio.Future[Head]":
        """Appends these entries together. The future is done when they are on disk; if it fails, none was recorded."""
        return self._queue(drafts)

    def check(self) -> "asyncio.Future[Head]":
        """Checks that the ledger can be written; `problem` says what is wrong afterwards."""
        return self._queue(())

    def run(self, work: Callable[[Ledger], T]) -> "asyncio.Future[T]":
        """Does something else with the ledger, between commits. It should not take long. If it fails, it raises."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._put(_Job((), done, work))
        return done

    def _queue(self, drafts: Sequence[EntryDraft]) -> "asyncio.Future[Head]":
        done: asyncio.Future[Head] = asyncio.get_running_loop().create_future()
        self._put(_Job(drafts, done))  # the entries are written even if the caller is cancelled
        return done

    def _put(self, job: _Job) -> None:
        """Hands a job to the thread. Without the thread nobody would ever be told, so it fails at once."""
        if self._thread.is_alive():
            self._jobs.put(job)
        else:
            job.done.set_exception(LedgerUnusable("the ledger cannot be written", _THREAD_ENDED))

    @property
    def problem(self) -> str:
        """Why the ledger cannot be written, or "" if the last attempt succeeded."""
        if not self._thread.is_alive():
            return _THREAD_ENDED
        since = self._busy_since
        if since is not None and (seconds := time.monotonic() - since) > _HUNG_SECONDS:
            return f"a write to the ledger has not returned for {seconds:.0f} s"
        if self._problem:
            return self._problem
        try:
            self._ledger.check_file()
        except AileronError as error:
            return str(error)
        return ""

    def close(self, seconds: float) -> bool:
        """Writes the queued entries and closes the ledger. Gives up after this time, and then returns False."""
        self._jobs.put(None)
        self._thread.join(seconds)
        if self._thread.is_alive():
            return False
        self._ledger.close()
        return True

    def _work(self) -> None:
        while True:
            jobs, ended = self._next_jobs()
            self._busy_since = time.monotonic()
            self._commit([job for job in jobs if job.work is None])
            for job in jobs:
                if job.work is not None:
                    self._do(job, job.work)
            self._busy_since = None
            if ended:
                return

    def _next_jobs(self) -> tuple[list[_Job], bool]:
        jobs: list[_Job] = []
        while not jobs or not self._jobs.empty():
            job = self._jobs.get()
            if job is None:
                return jobs, True
            jobs.append(job)
        return jobs, False

    def _commit(self, jobs: list[_Job]) -> None:
        """Commits all jobs at once. If one of them may be the reason for a failure, commits each separately."""
        if not jobs:
            return
        try:
            drafts = [draft for job in jobs for draft in job.drafts]
            if drafts:
                head = self._ledger.append_all(drafts)
            else:
                self._ledger.check()
                head = self.head
        except BaseException as error:  # noqa: BLE001  # nothing may end this thread
            if isinstance(error, _LEDGER_PROBLEMS):
                self._problem = _words(error)
            elif len(jobs) > 1:
                for job in jobs:
                    self._commit([job])
                return
            if not isinstance(error, AileronError):
                _log.error("an entry could not be recorded", exc_info=error)
                error = LedgerUnusable("the ledger cannot be written", _words(error))
            _settle(jobs, error)
        else:
            self.head, self._problem = head, ""
            _settle(jobs, head)

    def _do(self, job: _Job, work: Callable[[Ledger], object]) -> None:
        try:
            outcome = work(self._ledger)
            self.head = self._ledger.head
        except BaseException as error:  # noqa: BLE001  # nothing may end this thread
            if not isinstance(error, AileronError):
                _log.error("work on the ledger failed", exc_info=error)
                error = LedgerUnusable("the ledger cannot be used", _words(error))
            outcome = error
        _settle([job], outcome)


def _settle(jobs: Sequence[_Job], outcome: object) -> None:
    """Gives the outcome to the callers, on their event loop."""

    def settle() -> None:
        for job in jobs:
            if job.done.done():  # the caller was cancelled
                continue
            if isinstance(outcome, AileronError):
                job.done.set_exception(outcome)
            else:
                job.done.set_result(outcome)

    with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody is waiting any more
        jobs[0].done.get_loop().call_soon_threadsafe(settle)


def _words(error: BaseException) -> str:
    if isinstance(error, AileronError):
        return str(error)
    text = clip(inline(str(error)), _MAX_DETAIL_LENGTH)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
