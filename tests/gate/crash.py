"""Crash test: `python -m tests.gate.crash --rounds 500` kills gates with `kill -9` at every step of a request.

A gate is killed at a named point, while the service holds a call open, or at a random moment; the next one runs on the
same folder. `gate_harness` checks what must hold.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.states import RequestState
from tests.gate.gate_harness import GateHarness, Plan, gate_harness
from tests.gate.gate_process import GateAddress

RUNS_PER_FOLDER: Final = 25


def _before_and_after(
    point: str, before: RequestState | None, after: RequestState | None, shape: Plan | None = None
) -> Iterator[Plan]:
    """Yields plans that crash before and after a point, with the expected state after each."""
    shape = shape or Plan("approved")
    for phase, found in (("before", before), ("after", after)):
        yield replace(shape, name=f"{shape.name}, {phase} {point}", kill=f"{point}:{phase}:1", found=found)


WAITS, DONE, UNKNOWN, DENIED, EXPIRED, WITHDRAWN = (
    RequestState.PENDING,
    RequestState.EXECUTED,
    RequestState.INTERRUPTED,
    RequestState.DENIED,
    RequestState.EXPIRED,
    RequestState.WITHDRAWN,
)
_DENIAL: Final = Plan("denied", verdict=Verdict.DENY)
_SILENCE: Final = Plan("nobody answers", verdict=None, timeout=1)
_LEAVING: Final = Plan("the agent disconnects", verdict=None, disconnects=True)

STEPS: Final = (
    *_before_and_after("ledger:request.made", None, WAITS),
    *_before_and_after("sandbox:preview", WAITS, WAITS),
    Plan("during the preview", hold="GET", found=WAITS),
    *_before_and_after("ledger:preview.fetched", WAITS, WAITS),
    *_before_and_after("ledger:decision.made", WAITS, UNKNOWN),
    *_before_and_after("sandbox:execute", UNKNOWN, UNKNOWN),
    Plan("during the op, before its effect", hold="POST", found=UNKNOWN),
    Plan("during the op, after its effect", hold="POST", done=True, found=UNKNOWN),
    *_before_and_after("outbox:put", UNKNOWN, DONE),
    *_before_and_after("ledger:op.executed", DONE, DONE),
    *_before_and_after("outbox:deliver", DONE, DONE),
    *_before_and_after("ledger:result.delivered", DONE, DONE),
    Plan("after everything", found=DONE),
    *_before_and_after("ledger:decision.made", WAITS, DENIED, _DENIAL),
    *_before_and_after("outbox:put", DENIED, DENIED, _DENIAL),
    *_before_and_after("ledger:request.expired", EXPIRED, EXPIRED, _SILENCE),
    *_before_and_after("outbox:put", EXPIRED, EXPIRED, _SILENCE),
    *_before_and_after("ledger:request.withdrawn", WAITS, WITHDRAWN, _LEAVING),
    *_before_and_after("outbox:put", WITHDRAWN, WITHDRAWN, _LEAVING),
)
"""A crash at every step of the flow."""

_STARTED: Final = "sandbox:execute:before:1"
_KEPT: Final = "ledger:op.executed:before:1"
_ASKED: Final = "ledger:request.made:after:1"

DOUBLE_CRASHES: Final = (
    (_STARTED, "ledger:gate.started:after:1", UNKNOWN),
    (_STARTED, "ledger:op.interrupted:before:1", UNKNOWN),
    (_STARTED, "ledger:op.interrupted:after:1", UNKNOWN),
    (_STARTED, "outbox:put:before:1", UNKNOWN),
    (_STARTED, "outbox:put:after:1", UNKNOWN),
    (_STARTED, "sandbox:preview:before:1", UNKNOWN),
    (_KEPT, "ledger:op.executed:before:1", DONE),
    (_KEPT, "ledger:op.executed:after:1", DONE),
    (_ASKED, "sandbox:preview:before:1", WAITS),
)
"""Two crashes in a row: the first in the flow, the second during recovery."""


def random_plan(random_: random.Random) -> Plan:
    """Returns a random plan: a crash at a random moment, or before or after a random step."""
    phase = random_.choice(("before", "after"))
    if random_.random() < 0.5:
        return Plan("any moment", delay=random_.uniform(0.02, 0.6))
    if random_.random() < 0.7:
        return Plan("any entry", kill=f"ledger:*:{phase}:{random_.randint(1, 24)}")
    point = random_.choice(("outbox:put", "outbox:deliver", "sandbox:preview", "sandbox:execute"))
    return Plan("any answer", kill=f"{point}:{phase}:{random_.randint(1, 4)}")


def random_flow(harness: GateHarness, random_: random.Random) -> Callable[[GateAddress], None]:
    """Returns a random flow: repeats old calls, makes new ones, and decides most of them."""

    def flow(address: GateAddress) -> None:
        agent, approver, observed = harness.agent(address), harness.approver(address), harness.observed
        drafts = [*observed.open.values(), *(harness.draft() for _ in range(random_.randint(1, 3)))]
        for draft in drafts:
            if random_.random() < 0.8:
                harness.call(agent, draft)
        for item in approver.waiting():
            if random_.random() < 0.8:
                observed.accepted.setdefault(item["id"], item["args"]["draft_id"])
                harness.decide(approver, item["id"], Verdict.APPROVE if random_.random() < 0.7 else Verdict.DENY)
        for id_ in observed.open:
            if id_ in observed.decided and random_.random() < 0.8:
                harness.wait_for_result(agent, id_)
        if random_.random() < 0.2:
            harness.call_and_disconnect(address, harness.draft())

    return flow


def random_runs(harness: GateHarness, random_: random.Random, count: int) -> None:
    """Runs a gate on a new folder with random crashes, and once more to a clean end."""
    harness.clear()
    for _ in range(count):
        harness.run_once(random_plan(random_), random_flow(harness, random_))
    before = harness.disk_state
    with harness.gate(Plan("a clean end")) as process:
        address = process.ready()
        assert address is not None, harness.log()
        harness.check_recovered(before, address)
        harness.finish_all(address)
        process.signal(signal.SIGTERM)
        process.wait()
    assert all(request.state.final for request in harness.disk_state.requests.values())


def steps(harness: GateHarness) -> None:
    """Crashes at every named step."""
    for number, plan in enumerate(STEPS):
        if number % 8 == 0:
            harness.clear()
        harness.crash_at(plan)
    harness.clear()
    for points in DOUBLE_CRASHES:
        harness.crash_twice(*points)


def main(words: list[str]) -> int:
    """Runs the crash test; keeps the folder if it fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.gate.crash", description=__doc__)
    parser.add_argument("--rounds", type=int, default=500, help="number of gate runs (%(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="random seed, to repeat an earlier run")
    options = parser.parse_args(words)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    random_ = random.Random(seed)
    root = Path(tempfile.mkdtemp(prefix="crash-"))
    began = time.monotonic()

    def say(text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - began:6.0f} s  {text}\n")
        sys.stdout.flush()

    say(f"seed {seed}")
    try:
        with gate_harness(root) as harness:
            steps(harness)
            say(f"{harness.runs} runs: every named step")
            while harness.runs < options.rounds:
                random_runs(harness, random_, min(RUNS_PER_FOLDER, options.rounds - harness.runs))
                say(f"{harness.runs} runs")
            states = ", ".join(f"{count} {state}" for state, count in harness.ends.most_common())
            sends = sum(harness.service.arrived.values())
            say(f"{(time.monotonic() - began) / harness.runs:.3f} s per run; {sends} sends")
            say(f"states between runs: {states}")
    except AssertionError as error:
        say(f"FAILED: {error}\nthe folder was kept: {root}")
        raise
    shutil.rmtree(root)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
