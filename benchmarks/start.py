"""Start-up times, compared with an empty Textual app and with short scripts that make the same call."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import agent_token
from benchmarks._result import Result, against, duration
from benchmarks._running_gate import COMMAND, EMPTY, FIRST_CELLS, RunningGate, Terminal, running_gate

STARTS: Final = 15
CALLS: Final = 15

LIST: Final = """import httpx, sys
response = httpx.get(sys.argv[1] + "/v1/action-approvals", headers={"Authorization": "Bearer " + sys.argv[2]})
response.raise_for_status()
for item in response.json()["items"]:
    print(item["id"], item["action_name"])
"""
RUN: Final = """import httpx, sys
headers = {"Authorization": "Bearer " + sys.argv[2]}
response = httpx.post(sys.argv[1] + "/v1/actions/list-drafts/run", json={"args": {}}, headers=headers)
response.raise_for_status()
print(response.text)
"""


def measure() -> Iterator[Result]:
    """Each measurement."""
    with running_gate() as gate:
        yield _first_paint(gate)
        yield from _commands(gate)


def _first_paint(gate: RunningGate) -> Result:
    """From the start of the process to the first painted screen.

    The console's first screen has its header, list and answer keys. The gate's requests follow later.
    """
    wall: tuple[list[float], list[float]] = ([], [])
    cpu: tuple[list[float], list[float]] = ([], [])
    sides = ((["-c", EMPTY], FIRST_CELLS), (COMMAND, b"approve"))
    connected: list[float] = []
    for turn in range(STARTS + 1):
        for index, (words, mark) in enumerate(sides):
            terminal = Terminal(words, gate.environment)
            seconds = terminal.wait_for(mark)
            used = terminal.cpu
            if turn:  # the first run compiles modules
                wall[index].append(seconds)
                cpu[index].append(used)
                if words == COMMAND:
                    connected.append(terminal.wait_for("● connected".encode()))
            terminal.end()
    empty, ours = map(statistics.median, wall)
    busy_empty, busy = map(statistics.median, cpu)
    note = (
        f"of processor time {duration(busy)} and {duration(busy_empty)}; "
        f"connected after {duration(statistics.median(connected))}"
    )
    return against("start to first paint / an empty Textual app", ours, empty, 1.3, note)


def _commands(gate: RunningGate) -> Iterator[Result]:
    """Commands, compared with scripts that make the same call."""
    token = agent_token(gate.found)
    with ApproverClient(gate.found, gate.home.key) as client:
        client.waiting()
        bare = [sys.executable, "-c"]
        sides = (
            ("list", ["list"], [*bare, LIST, gate.found.url, client._token]),
            ("run", ["run", "list-drafts"], [*bare, RUN, gate.found.url, token]),
        )
        for name, words, script in sides:
            ours, base = _timed(gate, [[sys.executable, *COMMAND, *words], script])
            yield against(f"{name} / five lines of httpx", ours, base, 1.5)


def _timed(gate: RunningGate, commands: Sequence[list[str]]) -> list[float]:
    """Returns the median times of programs that are run in turns."""
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(CALLS + 1):
        for into, command in zip(times, commands, strict=True):
            began = time.perf_counter()
            subprocess.run(command, env=gate.environment, capture_output=True, check=True)
            into.append(time.perf_counter() - began)
    return [statistics.median(some[1:]) for some in times]  # the first run compiles modules
