"""Verifies a whole ledger as fast as possible: from the last checkpoint on, and on all processors.

Both only ever shorten the way to "nothing wrong". Whatever looks wrong, or does not fit together, is verified again
from the first entry to the last, in order, and only that says what is wrong.
"""

from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

from aileron_tui.core.errors import AileronError
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.checkpoint import FEWEST, Checkpoint, checkpoint_path, read_checkpoint, write_checkpoint
from aileron_tui.ledger.entry_check import CheckReport, Signers
from aileron_tui.ledger.full_check import around, audit
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.parallel_check import check_ranges, processors, ranges
from aileron_tui.ledger.range_check import Doubt, Progress, ResumedVerification, check_range
from aileron_tui.ledger.store import LedgerReader

AnySigners = TypeVar("AnySigners", bound=Signers)


@dataclass(frozen=True, slots=True)
class QuickCheck(Generic[AnySigners]):
    """How to verify: with which keys, and with which checkpoints, if any. `most` is the number of processes.

    `progress` is called with how many entries were verified and how many there are to verify.
    """

    make_signers: Callable[[], AnySigners]
    checkpoints: Path | None = None
    progress: Callable[[int, int], None] = lambda *_: None
    most: int = 0

    def run(self, reader: LedgerReader, expected: Sequence[Head] = ()) -> tuple[CheckReport, AnySigners]:
        """Verifies a ledger like `audit`. Returns the report and the signers in the ledger."""
        noted = reader.noted()
        heads = [*expected, noted] if noted else [*expected]
        with reader.snapshot():
            path = checkpoint_path(self.checkpoints, reader) if self.checkpoints else None
            checkpoint = read_checkpoint(path) if path else None
            if checkpoint and any(head.seq <= checkpoint.head.seq for head in expected):
                checkpoint = None
            with suppress(Doubt, AileronError):
                return self._verify(reader, heads, checkpoint, path)
            if checkpoint:
                heads.append(checkpoint.head)
                with suppress(Doubt, AileronError):
                    return self._verify(reader, heads, None, path)
        signers = self.make_signers()
        return audit(reader, signers, heads, self._counter(reader.head().seq)), signers

    def _verify(
        self, reader: LedgerReader, heads: Sequence[Head], checkpoint: Checkpoint | None, path: Path | None
    ) -> tuple[CheckReport, AnySigners]:
        """Verifies what follows the checkpoint. Raises Doubt unless everything is good."""
        last, signers = reader.head().seq, self.make_signers()
        verification = ResumedVerification(signers, shown=reader.shown)
        with closing(verification.finished):
            if checkpoint:
                checkpoint.resume(verification, reader)
            after, listed = verification.walker.seq, reader.change_numbers()
            known = len(verification.changes)
            progress = self._counter(last - after)
            wanted = ranges(after, last, listed, self.most or processors()) if last > after else ()
            if len(wanted) > 1:
                for result in check_ranges(reader.path, self.make_signers, wanted, progress):
                    verification.add(reader, result)
            elif wanted:
                verification.add(reader, check_range(reader, self.make_signers(), wanted[0], progress))
            if tuple(verification.changes[known:]) != tuple(seq for seq in listed if seq > after):
                raise Doubt("the list of changes differs from the entries")
            if any(not _contains(reader, head, last) for head in heads):
                raise Doubt("an expected head is missing")
            report = verification.end()
            if fault := around(report, reader, storage=checkpoint is None):
                raise Doubt(fault.detail)
            if path and last >= FEWEST and last > after:
                with suppress(AileronError):  # the ledger is good, whether or not that can be kept
                    write_checkpoint(path, verification, reader, timestamp(utc_now()))
        if checkpoint:
            report = replace(report, trusted=checkpoint.head.seq, trusted_since=checkpoint.time)
        return report, signers

    def _counter(self, total: int) -> Progress:
        done = 0

        def progress(more: int) -> None:
            nonlocal done
            done += more
            self.progress(done, total)

        return progress


def _contains(reader: LedgerReader, head: Head, last: int) -> bool:
    """Whether the ledger has a head. Of a head without a number, the whole ledger is searched."""
    if head.seq < 0:
        return reader.position(head.hash, 1, last + 1) is not None
    return head == Head() or any(stored == head.hash for _, stored in reader.hashes(head.seq - 1, head.seq))
