"""Verifies ranges of a ledger independently of each other, and puts the results together.

What is checked of a range needs to know little of the entries before it: their hashes and the changes of keys, agents,
rules, packages and publishers, which are read again. The entries of requests that were made before the range are left
out, and checked when the result is added to that of the range before it. Whatever such a range was told of the entries
before it is compared with what was found in them, so a good result is as good as that of one verification from the
first entry to the last. Anything else, also a fault, is only a doubt: the caller then verifies all entries in order.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import field
from itertools import takewhile
from typing import Final

from aileron_tui.core.entry_chain import ChainWalker, Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.entry_check import CheckReport, OpenRequest, Signers, Verification
from aileron_tui.ledger.entry_rules import EVENTS, WINDOW, ungated
from aileron_tui.ledger.id_digest import id_digest
from aileron_tui.ledger.reduction_check import ReductionCheck
from aileron_tui.ledger.security_key_check import SecurityKeyCheck
from aileron_tui.ledger.store import LedgerReader, Stored

MOST_LEFT_OUT: Final = 50_000
"""How many entries of a range may be left for later. With more of them, it is faster to verify all in order."""

_PROGRESS: Final = 1000
_MOST_NOTES: Final = 5

_OF_REQUESTS: Final = frozenset(
    {
        *EVENTS,
        EntryKind.DECIDED,
        EntryKind.DENIED_UNSIGNED,
        EntryKind.EXTENDED,
        EntryKind.TOLD,
        EntryKind.EDITED,
        EntryKind.RULED,
        EntryKind.PREVIEWED,
    }
)

Progress = Callable[[int], None]
"""Is called now and then with how many more entries were checked."""


class Doubt(Exception):
    """A range is not good by itself, or does not follow what was told about the entries before it."""


@dataclass(frozen=True, slots=True)
class Range:
    """Entries from `first` to `last`, and the changes before them according to the index."""

    first: int
    last: int
    changes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RangeResult:
    """What was found in a range: requests that have not ended, digests of ids, and entries that are left for later.

    `previous` is the hash of the entry before the range, `made` are the requests that were made in it, and `ungated`
    the calls that needed no approval.
    """

    range: Range
    previous: str
    head: str
    latest: str
    requests: Mapping[str, OpenRequest]
    made: bytes
    ungated: bytes
    left_out: tuple[int, ...]
    changes: tuple[int, ...]
    security_keys: SecurityKeyCheck
    reductions: ReductionCheck
    decisions: Counter[str]
    rule_answers: Counter[str]
    unsigned_denials: int
    notes: tuple[str, ...]


@dataclass(slots=True)
class ResumedVerification(Verification):
    """A verification that begins after entries that were checked already, or are being checked elsewhere."""

    _filled: int = 0

    def resume(self, reader: LedgerReader, last: int, changes: Iterable[int]) -> None:
        """Learns the changes among the entries up to number `last`, and their hashes. Raises Doubt."""
        if not last:
            return
        self.security_keys.ledger = _hash(reader, 1)
        for seq in changes:
            self._learn_again(reader, _entry(reader, seq))
        self._fill(reader, last)
        before = _entry(reader, last)
        self.walker, self.latest = ChainWalker(self.heads[last % WINDOW], last), before.time

    def add(self, reader: LedgerReader, result: RangeResult) -> None:
        """Adds the result of the range that follows. Raises Doubt if it does not follow."""
        if (result.range.first, result.previous) != (self.walker.seq + 1, self.walker.head):
            raise Doubt("the ranges do not meet")
        if self.finished.has_any(result.made) or self.finished.has_any(result.ungated):
            raise Doubt("an id is in two ranges")
        left_out = frozenset(result.left_out)
        for seq in sorted({*result.changes, *left_out}):
            entry = _entry(reader, seq)
            if seq not in left_out:
                self._learn_again(reader, entry)
                continue
            self._fill(reader, seq - 1)
            if not self.takes(entry):
                raise Doubt(f"entry {seq} is not valid")
        if why := self.security_keys.add(result.security_keys):
            raise Doubt(why)
        self.reductions.add(result.reductions)
        self.requests |= result.requests
        self.finished.add_digests(result.made)
        self.decisions += result.decisions
        self.rule_answers += result.rule_answers
        self.unsigned_denials += result.unsigned_denials
        self.notes = [*self.notes, *result.notes][:_MOST_NOTES]
        self.walker, self.latest = ChainWalker(result.head, result.range.last), result.latest
        self.heads[result.range.last % WINDOW] = result.head

    def end(self) -> CheckReport:
        """The report, after everything was added. Raises Doubt if the entries and the history list differ."""
        if (fault := self._unfinished()) is not None:
            raise Doubt(fault.detail)
        return self._report(None)

    def _learn_again(self, reader: LedgerReader, entry: Entry) -> None:
        self._fill(reader, entry.seq - 1)
        if not self.takes(entry):
            raise Doubt(f"entry {entry.seq} is not valid")

    def _fill(self, reader: LedgerReader, last: int) -> None:
        """Reads the hashes up to an entry, as far as anything can refer to them."""
        for seq, stored in reader.hashes(max(self._filled, last - WINDOW), last):
            self.heads[seq % WINDOW] = stored
        self._filled = max(self._filled, last)


@dataclass(slots=True)
class RangeVerification(ResumedVerification):
    """Verifies one range, and leaves out the entries of requests that were not made in it."""

    _made: bytearray = field(default_factory=bytearray)
    _ungated: bytearray = field(default_factory=bytearray)
    _left_out: list[int] = field(default_factory=list)

    def result(self, reader: LedgerReader, range_: Range, progress: Progress) -> RangeResult:
        """Verifies the range. Raises Doubt."""
        self.resume(reader, range_.first - 1, range_.changes)
        known, previous = len(self.changes), self.walker.head
        fault, _ = self.walk(counted(_until(reader, range_), progress))
        fault = fault or self.differs
        if fault is not None or self.walker.seq != range_.last:
            raise Doubt(fault.detail if fault else "entries are missing")
        return RangeResult(
            range_,
            previous,
            self.walker.head,
            self.latest,
            self.requests,
            bytes(self._made),
            bytes(self._ungated),
            tuple(self._left_out),
            tuple(self.changes[known:]),
            self.security_keys,
            self.reductions,
            self.decisions,
            self.rule_answers,
            self.unsigned_denials,
            tuple(self.notes),
        )

    def _check_kind(self, entry: Entry) -> None:
        request = entry.request
        if entry.kind in _OF_REQUESTS and request not in self.requests and request not in self.finished:
            if entry.kind == EntryKind.REQUESTED:
                self._made += id_digest(request)
            elif entry.kind in EVENTS and ungated(entry):
                self._ungated += id_digest(request)
                return
            else:
                self._left_out.append(entry.seq)
                if len(self._left_out) > MOST_LEFT_OUT:
                    raise Doubt("too many requests began before the range")
                return
        Verification._check_kind(self, entry)  # `super()` does not work in a class with new slots


def check_range(reader: LedgerReader, signers: Signers, range_: Range, progress: Progress) -> RangeResult:
    """Verifies a range of a ledger. Raises Doubt."""
    verification = RangeVerification(signers, shown=reader.shown)
    with closing(verification.finished):
        return verification.result(reader, range_, progress)


def counted(rows: Iterator[Stored], progress: Progress) -> Iterator[Stored]:
    """The same entries, while the progress is told."""
    number = 0
    for number, row in enumerate(rows, start=1):  # used after the loop
        yield row
        if not number % _PROGRESS:
            progress(_PROGRESS)
    progress(number % _PROGRESS)


def _until(reader: LedgerReader, range_: Range) -> Iterator[Stored]:
    return takewhile(lambda row: row[0] <= range_.last, reader.rows(range_.first - 1))


def _entry(reader: LedgerReader, seq: int) -> Entry:
    entry = reader.entry(seq)
    if entry is None or entry.seq != seq:
        raise Doubt(f"entry {seq} is missing")
    return entry


def _hash(reader: LedgerReader, seq: int) -> str:
    for _, stored in reader.hashes(seq - 1, seq):
        return stored
    raise Doubt(f"entry {seq} is missing")
