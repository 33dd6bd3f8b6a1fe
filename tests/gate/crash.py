"""`kill -9` at every step of a request's life: `python -m tests.gate.crash --rounds 500`.

A life of the gate ends at a named point, while the service holds a call open, or at any moment; the next life is on the
same folder. What must hold is in `lives`.
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
from tests.gate.lives import Plan, World, world
from tests.gate.process import Place

LIVES_OF_A_FOLDER: Final = 25


def _around(
    point: str, before: RequestState | None, after: RequestState | None, shape: Plan | None = None
) -> Iterator[Plan]:
    """Plans to die before and after a point, with what is to be found after each."""
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
_LEAVING: Final = Plan("the agent leaves", verdict=None, leaves=True)

STEPS: Final = (
    *_around("ledger:request.made", None, WAITS),
    *_around("sandbox:preview", WAITS, WAITS),
    Plan("during the preview", hold="GET", found=WAITS),
    *_around("ledger:preview.fetched", WAITS, WAITS),
    *_around("ledger:decision.made", WAITS, UNKNOWN),
    *_around("sandbox:execute", UNKNOWN, UNKNOWN),
    Plan("during the op, before its effect", hold="POST", found=UNKNOWN),
    Plan("during the op, after its effect", hold="POST", done=True, found=UNKNOWN),
    *_around("outbox:put", UNKNOWN, DONE),
    *_around("ledger:op.executed", DONE, DONE),
    *_around("outbox:deliver", DONE, DONE),
    *_around("ledger:result.delivered", DONE, DONE),
    Plan("after everything", found=DONE),
    *_around("ledger:decision.made", WAITS, DENIED, _DENIAL),
    *_around("outbox:put", DENIED, DENIED, _DENIAL),
    *_around("ledger:request.expired", EXPIRED, EXPIRED, _SILENCE),
    *_around("outbox:put", EXPIRED, EXPIRED, _SILENCE),
    *_around("ledger:request.withdrawn", WAITS, WITHDRAWN, _LEAVING),
    *_around("outbox:put", WITHDRAWN, WITHDRAWN, _LEAVING),
)
"""Every step of the flow, once."""

_STARTED: Final = "sandbox:execute:before:1"
_KEPT: Final = "ledger:op.executed:before:1"
_ASKED: Final = "ledger:request.made:after:1"

TWICE: Final = (
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
"""Two deaths in a row: the first in the flow, the second while the gate puts things right after it."""


def chance(random_: random.Random) -> Plan:
    """Some way to die: at any moment, or before or after any step of any kind."""
    phase = random_.choice(("before", "after"))
    if random_.random() < 0.5:
        return Plan("any moment", delay=random_.uniform(0.02, 0.6))
    if random_.random() < 0.7:
        return Plan("any entry", kill=f"ledger:*:{phase}:{random_.randint(1, 24)}")
    point = random_.choice(("outbox:put", "outbox:deliver", "sandbox:preview", "sandbox:execute"))
    return Plan("any answer", kill=f"{point}:{phase}:{random_.randint(1, 4)}")


def wander(here: World, random_: random.Random) -> Callable[[Place], None]:
    """What goes on in a life that ends by chance: old calls are made again, new ones come, most are answered."""

    def flow(place: Place) -> None:
        agent, approver, told = here.agent(place), here.approver(place), here.told
        drafts = [*told.open.values(), *(here.draft() for _ in range(random_.randint(1, 3)))]
        for draft in drafts:
            if random_.random() < 0.8:
                here.call(agent, draft)
        for item in approver.waiting():
            if random_.random() < 0.8:
                told.accepted.setdefault(item["id"], item["args"]["draft_id"])
                here.decide(approver, item["id"], Verdict.APPROVE if random_.random() < 0.7 else Verdict.DENY)
        for id_ in told.open:
            if id_ in told.decided and random_.random() < 0.8:
                here.ending(agent, id_)
        if random_.random() < 0.2:
            here.leave(place, here.draft())

    return flow


def journey(here: World, random_: random.Random, lives: int) -> None:
    """A new folder, that many lives that end by chance, and one that ends well."""
    here.clear()
    for _ in range(lives):
        here.live(chance(random_), wander(here, random_))
    before = here.memory
    with here.gate(Plan("a clean end")) as process:
        place = process.ready()
        assert place is not None, here.log()
        here.check_recovered(before, place)
        here.see_through(place)
        process.signal(signal.SIGTERM)
        process.wait()
    assert all(fact.state.final for fact in here.memory.facts.values())


def steps(here: World) -> None:
    """Every named step."""
    for number, plan in enumerate(STEPS):
        if number % 8 == 0:
            here.clear()
        here.step(plan)
    here.clear()
    for points in TWICE:
        here.twice(*points)


def main(words: list[str]) -> int:
    """0 if all is well; else says what was wrong and keeps the folder."""
    parser = argparse.ArgumentParser(prog="python -m tests.gate.crash", description=__doc__)
    parser.add_argument("--rounds", type=int, default=500, help="lives of the gate (%(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="repeats the chances of an earlier run")
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
        with world(root) as here:
            steps(here)
            say(f"{here.lives} lives: every named step")
            while here.lives < options.rounds:
                journey(here, random_, min(LIVES_OF_A_FOLDER, options.rounds - here.lives))
                say(f"{here.lives} lives")
            states = ", ".join(f"{count} {state}" for state, count in here.ends.most_common())
            say(f"{(time.monotonic() - began) / here.lives:.3f} s a life; {sum(here.service.arrived.values())} sends")
            say(f"found between lives: {states}")
    except AssertionError as error:
        say(f"FAILED: {error}\nthe folder is kept: {root}")
        raise
    shutil.rmtree(root)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
