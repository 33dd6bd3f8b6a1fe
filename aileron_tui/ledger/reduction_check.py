"""Verifies that every missing body of a ledger is one that a record of a reduction names (`core/reduction.py`).

The numbers of entries are kept as bits, so a ledger of ten million entries takes about two megabytes.
"""

from dataclasses import field

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.reduction import Reduction
from aileron_tui.core.values import dataclass


@dataclass(slots=True)
class ReductionCheck:
    """The entries without a body that were seen, and those that records name.

    `earlier` is how many bodies had been removed by the entries that were checked before, and `before` the time of the
    last reduction. `latest` is the latest time of an entry that was seen without its body.
    """

    earlier: int = 0
    before: str = ""
    latest: str = ""
    seen: bytearray = field(default_factory=bytearray)
    named: bytearray = field(default_factory=bytearray)

    @property
    def count(self) -> int:
        """How many bodies were removed, according to the records."""
        return self.earlier + int.from_bytes(self.named).bit_count()

    def see(self, entry: Entry) -> None:
        """Notes an entry without a body."""
        _set(self.seen, entry.seq)
        self.latest = max(self.latest, entry.time)

    def learn(self, reduction: Reduction) -> None:
        """Notes which bodies a record names."""
        for seq in reduction.numbers():
            _set(self.named, seq)
        self.before = max(self.before, reduction.before)

    def add(self, later: "ReductionCheck") -> None:
        """Adds what was found in later entries by itself."""
        self.seen, self.named = _either(self.seen, later.seen), _either(self.named, later.named)
        self.latest, self.before = max(self.latest, later.latest), max(self.before, later.before)

    def problem(self) -> tuple[int, str] | None:
        """The first entry that must not be without its body and why, or None."""
        seen, named = int.from_bytes(self.seen, "little"), int.from_bytes(self.named, "little")
        if unnamed := seen & ~named:
            return (unnamed & -unnamed).bit_length() - 1, "no record of a reduction names it"
        if seen and self.latest >= self.before:
            why = f"it was written at {self.latest}, but only bodies from before {self.before} were removed"
            return seen.bit_length() - 1, why
        return None


def _set(bits: bytearray, number: int) -> None:
    place = number >> 3
    if place >= len(bits):
        bits.extend(bytes(place + 1 - len(bits) + 4096))
    bits[place] |= 1 << (number & 7)


def _either(left: bytearray, right: bytearray) -> bytearray:
    size = max(len(left), len(right))
    return bytearray((int.from_bytes(left, "little") | int.from_bytes(right, "little")).to_bytes(size, "little"))
