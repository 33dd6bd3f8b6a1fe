"""Several consoles and the daemon's own command line, all answering the same requests at the same moment.

The whole of it:

    python -m tests.runtime.daemon.contest --rounds 1000
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import httpx

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import NotFound, NotWaiting
from aileron_tui.signing.key_store import for_this_run
from tests.daemon.gotext import Object
from tests.daemon.process import FakeDaemon
from tests.runtime.daemon.consoles import PATIENCE, Console

AT_ONCE: Final = 10
"""Requests that are fought over at the same time."""

PAUSES: Final = {"command line": 0.05}

Try = Callable[[str, Verdict], str]


@dataclass(slots=True)
class Figures:
    """Who won how often, and what the others were told."""

    rounds: int = 0
    won: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    seconds: float = 0.0


class CommandLine:
    """Answers as the daemon's own command does: with two words and no proof."""

    name = "command line"

    def __init__(self, daemon: FakeDaemon) -> None:
        self._http = httpx.Client(base_url=daemon.url, headers=daemon.headers, trust_env=False)

    def decide(self, id_: str, verdict: Verdict) -> str:
        body = {"approved": verdict is Verdict.APPROVE, "reason": ""}
        answer = self._http.post(f"/v1/action-approvals/{id_}/decide", json=body)
        assert answer.status_code in (204, 404), answer.text
        return "taken" if answer.status_code == 204 else "late"

    def close(self) -> None:
        self._http.close()


def by_console(console: Console) -> Try:
    """Answers as an operator does who looks at that console."""

    def decide(id_: str, verdict: Verdict) -> str:
        try:
            state = console.source.decide(console.board.requests[id_], verdict)
        except NotWaiting as error:
            return f"is {error.state}"
        except NotFound:
            return "gone"
        assert state is (RequestState.RUNNING if verdict is Verdict.APPROVE else RequestState.DENIED)
        return "taken"

    return decide


@dataclass(frozen=True, slots=True)
class Said:
    """What one of them answered, and what it was told."""

    verdict: Verdict
    words: str


class Contest:
    """One daemon, four consoles of three homes, and the command line."""

    def __init__(self, daemon: FakeDaemon, consoles: dict[str, Console], line: CommandLine, seed: int) -> None:
        self.figures = Figures()
        self._daemon = daemon
        self._consoles = consoles
        self._tries = {name: by_console(console) for name, console in consoles.items()} | {line.name: line.decide}
        self._dice = random.Random(seed)

    def run(self, rounds: int) -> None:
        """So many requests, each answered by everybody at once."""
        while self.figures.rounds < rounds:
            ids = self._daemon.register_many(min(AT_ONCE, rounds - self.figures.rounds))
            for console in self._consoles.values():
                console.until(partial(self._shown, console, ids))
            said = self._fight(ids)
            applied: dict[str, list[Object]] = {}
            for one in self._daemon.decisions():
                applied.setdefault(one["id"], []).extend([one["said"]] if one["applied"] else [])
            effects = Counter(one["id"] for one in self._daemon.effects())
            for id_ in ids:
                [decided] = applied[id_]
                assert effects[id_] == decided["approved"]
                self._judge(id_, said[id_], decided["approved"])
            self.figures.rounds += len(ids)
        self.figures.sent = len(self._daemon.decisions())

    @staticmethod
    def _shown(console: Console, ids: list[str]) -> bool:
        return set(ids) <= set(console.waiting)

    def _fight(self, ids: list[str]) -> dict[str, dict[str, Said]]:
        """Everybody answers everything, in the same order and at the same moment."""
        barrier = threading.Barrier(len(self._tries))
        said: dict[str, dict[str, Said]] = {id_: {} for id_ in ids}
        verdicts = {(name, id_): self._dice.choice(list(Verdict)) for name in self._tries for id_ in ids}
        # Whoever keeps no record would always be first.
        pauses = {(name, id_): self._dice.uniform(0.0, PAUSES.get(name, 0.005)) for name in self._tries for id_ in ids}
        faults: list[BaseException] = []

        def answer(name: str, decide: Try) -> None:
            for id_ in ids:
                barrier.wait(PATIENCE)
                time.sleep(pauses[name, id_])
                try:
                    said[id_][name] = Said(verdicts[name, id_], decide(id_, verdicts[name, id_]))
                except (AileronError, AssertionError, httpx.HTTPError) as error:
                    faults.append(error)

        threads = [threading.Thread(target=answer, args=one) for one in self._tries.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert not faults, faults
        return said

    def _judge(self, id_: str, said: dict[str, Said], approved: bool) -> None:
        [winner] = [name for name, one in said.items() if one.words == "taken"]
        assert (said[winner].verdict is Verdict.APPROVE) is approved
        truth = RequestState.EXECUTED if approved else RequestState.DENIED
        on_the_way = {"is running", "is approved"} if approved else set()
        for name, one in said.items():
            self.figures.told[one.words] += 1
            assert name == winner or one.words in {"late", f"is {truth}"} | on_the_way, (winner, said)
        self.figures.won[winner] += 1
        for console in self._consoles.values():
            console.until_state(id_, truth)
            assert console.source.item(id_).state is truth
            console.until(partial(self._told, console, id_, truth))
            here = winner in self._consoles and self._consoles[winner].folder == console.folder
            assert console.story(id_)[-1].endswith("+") is not here, (winner, console.story(id_), said)

    @staticmethod
    def _told(console: Console, id_: str, truth: RequestState) -> bool:
        return console.story(id_)[-1].startswith(f"told {truth}")


def contest(root: Path, rounds: int, seed: int) -> Figures:
    """Raises if a request is decided twice, or anybody ends with something else than the truth."""
    began = time.monotonic()
    places = {"alone": "one", "other": "two", "shared": "three", "beside": "three"}
    with FakeDaemon(root / "home") as daemon, ExitStack() as opened:
        consoles = {
            name: opened.enter_context(Console(daemon, root / folder, key=for_this_run(name), list_every=1.0))
            for name, folder in places.items()
        }
        line = CommandLine(daemon)
        opened.callback(line.close)
        fought = Contest(daemon, consoles, line, seed)
        fought.run(rounds)
    fought.figures.seconds = time.monotonic() - began
    return fought.figures


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.runtime.daemon.contest", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20260512)
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="contest-") as root:
        sys.stdout.write(f"{contest(Path(root), options.rounds, options.seed)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
