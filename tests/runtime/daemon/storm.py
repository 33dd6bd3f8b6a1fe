"""Thousands of requests that come and go while events are lost, doubled and cut off; then everybody must agree.

The whole of it:

    python -m tests.runtime.daemon.storm --events 10000
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import RequestState
from tests.daemon.process import FakeDaemon
from tests.runtime.daemon.consoles import Console

STATES: Final = {
    "pending_approval": RequestState.PENDING,
    "approved_not_started": RequestState.RUNNING,
    "running": RequestState.RUNNING,
    "awaiting_vault": RequestState.RUNNING,
    "completed": RequestState.EXECUTED,
    "denied": RequestState.DENIED,
    "failed": RequestState.FAILED,
}
MOST_WAITING: Final = 300


@dataclass(slots=True)
class Figures:
    """What happened."""

    events: int = 0
    registered: int = 0
    resolved: int = 0
    forgotten: int = 0
    answered: int = 0
    breaks: int = 0
    restarts: int = 0
    lost: int = 0
    seconds: float = 0.0


class Storm:
    """A daemon to which everything happens at random, and what a console must make of it."""

    def __init__(self, daemon: FakeDaemon, console: Console, seed: int) -> None:
        self.daemon = daemon
        self.console = console
        self.figures = Figures()
        self._dice = random.Random(seed)
        self._waiting: list[str] = []
        self._all: list[str] = []
        self._forgotten: set[str] = set()
        self._answered: set[str] = set()
        self._lost = 0
        self._calm()

    def blow(self, events: int, restarts: int) -> None:
        """So many requests made and answered, with everything that can go wrong in between."""
        began = time.monotonic()
        steps: list[tuple[float, Callable[[], None]]] = [
            (0.30, self._register),
            (0.62, self._resolve),
            (0.02, self._burst),
            (0.01, self._forget),
            (0.03, self._answer),
            (0.005, self._break),
            (0.015, self._stall),
        ]
        due = [events * (number + 1) // (restarts + 1) for number in range(restarts)]
        while self.figures.events < events:
            if due and self.figures.events >= due[0]:
                del due[0]
                self._restart()
            self._dice.choices([step for _, step in steps], [share for share, _ in steps])[0]()
        self.daemon.switch(stall_streams=False)
        self._count_lost()
        self.figures.seconds = time.monotonic() - began

    def settle(self) -> None:
        """Until the console has waiting what the daemon has, and knows of everything else what became of it."""
        pending = self.daemon.pending()
        self.console.until(lambda: sorted(self.console.waiting) == sorted(pending))
        results = {id_: STATES[self.daemon.entry(id_)["status"]] for id_ in self._all if id_ not in self._forgotten}
        seen = [id_ for id_ in self._all if self.console.state(id_) is not None]
        self.console.until(lambda: all(self._agrees(id_, results.get(id_)) for id_ in seen))

    def _agrees(self, id_: str, result: RequestState | None) -> bool:
        state = self.console.state(id_)
        return state is result or (
            result is None and state in (RequestState.WITHDRAWN, RequestState.INTERRUPTED, RequestState.EXECUTED)
        )

    def _register(self) -> None:
        if len(self._waiting) < MOST_WAITING:
            self._made(self.daemon.register_many(self._dice.randint(1, 4), outcome=self._outcome()))

    def _burst(self) -> None:
        if len(self._waiting) < MOST_WAITING:
            self._made(self.daemon.register_many(45, burst=True, outcome=self._outcome()))

    def _made(self, ids: list[str]) -> None:
        self._waiting += ids
        self._all += ids
        self.figures.registered += len(ids)
        self.figures.events += len(ids)

    def _outcome(self) -> str:
        return self._dice.choice(["completed", "completed", "failed"])

    def _take(self) -> str | None:
        """A request that waits and that nobody has answered, unless the console just did."""
        if not self._waiting:
            return None
        id_ = self._waiting.pop(self._dice.randrange(len(self._waiting)))
        if id_ not in self._answered:
            return id_
        if any(one["applied"] for one in self.daemon.decisions(id_)):
            self.figures.answered += 1
            self.figures.events += 1
        return None  # and if it was not taken, it waits to the end

    def _resolve(self) -> None:
        if id_ := self._take():
            self.daemon.resolve(id_, approved=self._dice.random() < 0.5, silently=self._dice.random() < 0.2)
            self.figures.resolved += 1
            self.figures.events += 1

    def _forget(self) -> None:
        if id_ := self._take():
            self.daemon.forget(id_)
            self._forgotten.add(id_)
            self.figures.forgotten += 1
            self.figures.events += 1

    def _answer(self) -> None:
        """The console answers something it shows, which may be gone already."""
        shown = self.console.waiting
        if shown:
            item = self.console.board.requests[self._dice.choice(shown)]
            verdict = self._dice.choice(list(Verdict))
            self._answered.add(item.id)
            with suppress(AileronError):  # the connection may end under it, before or after it was taken
                self.console.source.decide(item, verdict)

    def _break(self) -> None:
        self.figures.breaks += bool(self.daemon.disconnect(clean=self._dice.random() < 0.5))

    def _stall(self) -> None:
        self.daemon.switch(stall_streams=self._dice.random() < 0.4)

    def _restart(self) -> None:
        self._count_lost()
        self.daemon.restart(clean=self._dice.random() < 0.5)
        self._lost = 0
        self._calm()
        self.figures.restarts += 1

    def _calm(self) -> None:
        self.daemon.switch(
            drop_chance=0.1, duplicate_chance=0.1, chance_seed=self._dice.randrange(2**32), stall_streams=False
        )

    def _count_lost(self) -> None:
        dropped = self.daemon.counters()["dropped"]
        self.figures.lost += dropped - self._lost
        self._lost = dropped


def storm(root: Path, events: int, seed: int, restarts: int = 1) -> Figures:
    """Raises if, in the end, the operator does not see what the daemon has."""
    with FakeDaemon(root / "home") as daemon, Console(daemon, root / "record") as console:
        blowing = Storm(daemon, console, seed)
        blowing.blow(events, restarts)
        blowing.settle()
    return blowing.figures


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.runtime.daemon.storm", description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=20260512)
    parser.add_argument("--restarts", type=int, default=3)
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="storm-") as root:
        began = time.monotonic()
        figures = storm(Path(root), options.events, options.seed, options.restarts)
        sys.stdout.write(f"{figures}\nsettled after {time.monotonic() - began:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
