"""The faults that the shim makes inside the gate's process."""

from __future__ import annotations

from typing import Final

from tests.chaos.fault_plan import Fault, FaultKind
from tests.chaos.shim import Hit, Shim

HITS: Final = {
    FaultKind.FULL_DISK: (Hit.WRITE, Hit.TRUNCATE),
    FaultKind.READ_ONLY_DISK: (Hit.WRITE, Hit.OPEN, Hit.TRUNCATE, Hit.NAME),
    FaultKind.WRITE_ERROR: (Hit.WRITE,),
    FaultKind.SYNC_ERROR: (Hit.SYNC,),
    FaultKind.SHORT_WRITE: (Hit.WRITE,),
    FaultKind.OPEN_ERROR: (Hit.OPEN,),
    FaultKind.TRUNCATE_ERROR: (Hit.TRUNCATE,),
    FaultKind.CLOCK_FORWARD: (Hit.CLOCK,),
    FaultKind.CLOCK_BACK: (Hit.CLOCK,),
    FaultKind.SLEEP: (Hit.CLOCK,),
    FaultKind.NO_THREADS: (Hit.THREAD,),
    FaultKind.NO_DESCRIPTORS: (Hit.FILES,),
}
"""The counters that show whether a fault took effect."""


def begin(shim: Shim, fault: Fault) -> None:
    """Begins a fault that the shim makes."""
    match fault.kind:
        case FaultKind.FULL_DISK | FaultKind.READ_ONLY_DISK:
            shim.fail(fault.ops, fault.code)
        case FaultKind.SHORT_WRITE:
            shim.shorten_writes(after=fault.after, times=fault.times)
        case FaultKind.CLOCK_FORWARD:
            shim.step_clock(fault.step)
        case FaultKind.CLOCK_BACK:
            shim.step_clock(-fault.step)
        case FaultKind.SLEEP:
            shim.sleep(fault.step)
        case FaultKind.NO_THREADS:
            shim.refuse_threads()
        case FaultKind.NO_DESCRIPTORS:
            shim.refuse_descriptors(fault.descriptors)
        case _:
            after = fault.after if fault.kind is FaultKind.WRITE_ERROR else fault.after // 10
            shim.fail(fault.ops, fault.code, after=after, times=fault.times)
