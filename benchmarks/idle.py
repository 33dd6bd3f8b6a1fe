"""An idle console, compared with an empty Textual app with the same imports."""

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

from benchmarks._result import QUICK, Result
from benchmarks._running_gate import COMMAND, EMPTY, FIRST_CELLS, Terminal, running_gate

SETTLED: Final = 15.0
"""Seconds after which the age of a preview is shown in large steps."""
SECONDS: Final = 5.0 if QUICK else 15.0
ROUNDS: Final = 1 if QUICK else 3
SHARE: Final = 0.5

SAME_IMPORTS: Final = (
    "import aileron_tui.cli.commands.console, aileron_tui.console.app, aileron_tui.signing.pkcs8; "
    "import aileron_tui.console.widgets.prompt_view, aileron_tui.runtime.gate_client; "
    "from cryptography.hazmat.primitives.asymmetric import ed25519; "
)


def measure() -> Iterator[Result]:
    """Each measurement; both consoles and the empty app idle at the same time."""
    with running_gate() as gate, ExitStack() as stack:

        def opened(words: list[str], mark: bytes) -> Terminal:
            terminal = Terminal(words, gate.environment)
            stack.callback(terminal.end)
            terminal.wait_for(mark)
            return terminal

        empty = opened(["-c", SAME_IMPORTS + EMPTY], FIRST_CELLS)
        ours = opened(COMMAND, "● connected".encode())
        _read_for([ours, empty], SETTLED / 3)
        unasked, rest = _shares([ours, empty])
        gate.agent.run("send-draft", {"draft_id": "r-12345"})
        ours.wait_for(b"1 waiting")
        _read_for([ours, empty], SETTLED)
        asked, still = _shares([ours, empty])
        large, small = ours.memory, empty.memory
    title = "memory when idle / an empty Textual app, same imports"
    yield Result(title, large / small, 1.5, f"{large:.0f} MiB", f"{small:.0f} MiB")
    yield _work("work when idle and nothing waits", unasked, rest)
    yield _work("work when idle with a countdown on screen", asked, still)


def _work(title: str, ours: float, empty: float) -> Result:
    return Result(title, ours, SHARE, f"{ours:.2f} %", f"{empty:.2f} %", "against an empty Textual app", "% of a core")


def _shares(terminals: list[Terminal]) -> list[float]:
    """Returns how much of a core each program uses, in percent, as the median of some rounds."""
    rounds: list[list[float]] = []
    for _ in range(ROUNDS):
        before = [terminal.cpu for terminal in terminals]
        _read_for(terminals, SECONDS)
        rounds.append([terminal.cpu - was for terminal, was in zip(terminals, before, strict=True)])
    return [statistics.median(shares) / SECONDS * 100 for shares in zip(*rounds, strict=True)]


def _read_for(terminals: list[Terminal], seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for terminal in terminals:
            terminal.read_for(0.05)
