"""What goes wrong in one round, and when: everything follows from the seed."""

from __future__ import annotations

import errno
import random
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from tests.chaos.shim import Descriptor, FileOp
from tests.chaos.upstream import Reply

WINDOW: Final = 0.9
"""Seconds in which the faults of a round happen."""

SOAK_CYCLES: Final = 12


class FaultKind(StrEnum):
    """Everything that can go wrong."""

    KILLED = "kill -9"
    TERMINATED = "SIGTERM while busy"
    FROZEN = "SIGSTOP"
    FULL_DISK = "full disk"
    READ_ONLY_DISK = "read-only disk"
    WRITE_ERROR = "write error"
    SYNC_ERROR = "fsync error"
    SHORT_WRITE = "short write"
    OPEN_ERROR = "open error"
    TRUNCATE_ERROR = "ftruncate error"
    CLOCK_FORWARD = "clock set forward"
    CLOCK_BACK = "clock set back"
    SLEEP = "sleep"
    NO_THREADS = "no threads"
    NO_DESCRIPTORS = "no descriptors"
    UPSTREAM = "broken upstream"
    DISCONNECTS = "agents disconnect"
    SECOND_GATE = "second gate"
    LEDGER_UNLINKED = "ledger unlinked"
    LEDGER_REPLACED = "ledger replaced"
    LEDGER_ROLLED_BACK = "ledger rolled back"


DISK: Final = frozenset(
    {
        FaultKind.FULL_DISK,
        FaultKind.READ_ONLY_DISK,
        FaultKind.WRITE_ERROR,
        FaultKind.SYNC_ERROR,
        FaultKind.SHORT_WRITE,
        FaultKind.OPEN_ERROR,
        FaultKind.TRUNCATE_ERROR,
    }
)
CLOCK: Final = frozenset({FaultKind.CLOCK_FORWARD, FaultKind.CLOCK_BACK, FaultKind.SLEEP})
LEDGER: Final = frozenset({FaultKind.LEDGER_UNLINKED, FaultKind.LEDGER_REPLACED, FaultKind.LEDGER_ROLLED_BACK})
BY_SHIM: Final = DISK | CLOCK | {FaultKind.NO_THREADS, FaultKind.NO_DESCRIPTORS}
"""The faults that need the shim, so a compiler."""

_STOPS: Final = frozenset({FaultKind.KILLED, FaultKind.TERMINATED})
_AT_START: Final = frozenset({FaultKind.OPEN_ERROR, FaultKind.TRUNCATE_ERROR})
"""Faults that only matter while a gate starts or stops."""

_CRASHES_ON_BAD_DISK: Final = 0.12
"""How often a gate is stopped soon after its disk has failed: what was refused must not come back."""

_EARLY: Final = _AT_START | {FaultKind.NO_THREADS}
_ALONE: Final = (DISK, CLOCK, LEDGER, _STOPS)
"""Only one fault of each group happens in a round."""

_BESIDE_LEDGER: Final = frozenset({FaultKind.UPSTREAM, FaultKind.DISCONNECTS, FaultKind.FROZEN})


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: when it begins, how long it lasts, and what it does. Not every kind uses every field."""

    kind: FaultKind
    at: float
    seconds: float
    code: int
    after: int
    times: int
    ops: FileOp
    descriptors: Descriptor
    step: float


@dataclass(frozen=True, slots=True)
class Plan:
    """One round. `cycles` are the faults that happen one after another on the same gate, in most rounds once."""

    seed: int
    cycles: tuple[tuple[Fault, ...], ...]
    agents: int
    approvers: int
    timeout: int

    @property
    def faults(self) -> tuple[Fault, ...]:
        return tuple(fault for cycle in self.cycles for fault in cycle)

    @property
    def kinds(self) -> frozenset[FaultKind]:
        return frozenset(fault.kind for fault in self.faults)

    def describe(self) -> str:
        cycles = (", ".join(f"{fault.kind} at {fault.at:.2f} s" for fault in cycle) for cycle in self.cycles)
        faults = "; then ".join(cycles)
        return f"{faults}; {self.agents} agents, {self.approvers} approvers, timeout {self.timeout} s"


def plan_round(seed: int, *, shim: bool = True) -> Plan:
    """Returns the plan of a round. Without the shim, the faults that need it are left out."""
    random_ = random.Random(seed)
    wanted = random_.choices((1, 2, 3), (5, 3, 2))[0]
    kinds: list[FaultKind] = []
    crashes = shim and random_.random() < _CRASHES_ON_BAD_DISK
    if crashes:
        kinds = [random_.choice(sorted(DISK)), random_.choice(sorted(_STOPS))]
    possible = [kind for kind in FaultKind if shim or kind not in BY_SHIM]
    while len(kinds) < wanted:
        kind = random_.choice(possible)
        if kind not in kinds and _goes_with(kind, kinds):
            kinds.append(kind)
    if _AT_START & set(kinds) and not _STOPS & set(kinds):
        kinds.append(random_.choice((FaultKind.KILLED, FaultKind.TERMINATED)))
    timeout = random_.choice((1, 2, 300)) if CLOCK & set(kinds) else random_.choice((1, 300, 300, 300))
    faults = [_fault(kind, random_) for kind in kinds]
    if crashes:
        faults[1] = replace(faults[1], at=faults[0].at + random_.uniform(0.01, 0.3))
    return Plan(seed, (tuple(faults),), random_.randint(2, 4), random_.randint(1, 2), timeout)


def plan_soak(seed: int, *, shim: bool = True) -> Plan:
    """Returns a long round in which one gate survives many faults, to see whether it grows."""
    random_ = random.Random(f"soak {seed}")
    kinds = [kind for kind in FaultKind if kind not in _STOPS | _AT_START | LEDGER and (shim or kind not in BY_SHIM)]
    cycles = tuple((_fault(random_.choice(kinds), random_),) for _ in range(SOAK_CYCLES))
    return Plan(seed, cycles, 4, 2, 300)


def upstream_reply(random_: random.Random, plan: Plan) -> Reply:
    """Returns how the service replies to one send."""
    broken = FaultKind.UPSTREAM in plan.kinds
    return random_.choice(tuple(Reply)) if random_.random() < (0.7 if broken else 0.1) else Reply.GOOD


def _goes_with(kind: FaultKind, kinds: list[FaultKind]) -> bool:
    if any(kind in group and group & set(kinds) for group in _ALONE):
        return False
    if kind in LEDGER:
        return set(kinds) <= _BESIDE_LEDGER
    return not LEDGER & set(kinds) or kind in _BESIDE_LEDGER


def _fault(kind: FaultKind, random_: random.Random) -> Fault:
    code = random_.choice((errno.EIO, errno.ENOSPC, errno.EROFS, errno.EDQUOT))
    ops = {
        FaultKind.FULL_DISK: FileOp.WRITE | FileOp.TRUNCATE,
        FaultKind.READ_ONLY_DISK: FileOp.WRITE | FileOp.OPEN | FileOp.TRUNCATE | FileOp.NAME,
        FaultKind.WRITE_ERROR: FileOp.WRITE,
        FaultKind.SYNC_ERROR: FileOp.SYNC,
        FaultKind.SHORT_WRITE: FileOp.WRITE,
        FaultKind.OPEN_ERROR: FileOp.OPEN,
        FaultKind.TRUNCATE_ERROR: FileOp.TRUNCATE,
    }.get(kind, FileOp(0))
    if kind is FaultKind.FULL_DISK:
        code = errno.ENOSPC
    elif kind is FaultKind.READ_ONLY_DISK:
        code = errno.EROFS
    step = random_.choice((60.0, 600.0, 3600.0, 7200.0))
    return Fault(
        kind,
        at=random_.uniform(0.0, 0.05 if kind in _EARLY else 0.6) * WINDOW,
        seconds=random_.uniform(0.15, 0.9),
        code=code,
        after=random_.randint(0, 40),
        times=random_.choice((1, 1, 2, 5, 20)),
        ops=ops,
        descriptors=random_.choice((Descriptor(7), Descriptor.OPEN, Descriptor.SOCKET, Descriptor.ACCEPT)),
        step=step,
    )
