"""An MCP request that is not gated: through the proxy and through a bare pipe in Python, also as the first request.

Everything runs on one processor: if the processes of a conversation share two, how the system spreads them counts more
than what they do.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from aileron_tui.doors.known_servers import KnownServer, write_server
from benchmarks._result import Result, against

CALLS: Final = 2000
RUNS: Final = 5
STARTS: Final = 15
LIMIT: Final = 1.5
_ROUND: Final = 100

SERVER: Final = """import json, os, sys
for line in sys.stdin.buffer:
    body = json.loads(line)
    text = {"contents": [{"uri": body["params"]["uri"], "text": "line of text " * 40}]}
    os.write(1, json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": text}).encode() + b"\\n")
"""

PIPE: Final = """import os, select, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
source, sink = child.stdout.fileno(), child.stdin.fileno()
poll = select.poll()
poll.register(0, select.POLLIN)
poll.register(source, select.POLLIN)
while True:
    for descriptor, _ in poll.poll():
        data = os.read(descriptor, 65536)
        if not data:
            sys.exit()
        os.write(sink if descriptor == 0 else 1, data)
"""


class _Client:
    """A client that sends one request after the other."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()

    def __enter__(self) -> "_Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def call(self, number: int) -> float:
        """The seconds that a request takes."""
        params = {"uri": f"file:///srv/notes/{number}.txt"}
        body = {"jsonrpc": "2.0", "id": number, "method": "resources/read", "params": params}
        line = json.dumps(body).encode() + b"\n"
        began = time.perf_counter()
        os.write(self._in, line)
        received = os.read(self._out, 65536)
        while not received.endswith(b"\n"):
            received += os.read(self._out, 65536)
        return time.perf_counter() - began


def measure() -> Iterator[Result]:
    """Each measurement."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        write_server(data, KnownServer("bench", "mcp-bench"))
        server = [sys.executable, "-S", "-E", "-c", SERVER]
        program = str(Path(sys.executable).with_name("aileron-tui"))
        commands = (
            [program, "mcp-proxy", "--name", "bench", "--data", str(data), "--", *server],
            [sys.executable, "-S", "-E", "-c", PIPE, *server],
        )
        with _one_processor():
            yield _calls(commands)
        yield _starts(commands)


@contextmanager
def _one_processor() -> Iterator[None]:
    """Keeps this process and those that it starts on one processor, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(usual)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, usual)


def _calls(commands: tuple[list[str], list[str]]) -> Result:
    """The best of several runs, because others may use the processor too."""
    ours, base = (min(times) for times in zip(*(_run(commands) for _ in range(RUNS)), strict=True))
    return against("MCP request through the proxy / through a bare pipe", ours, base, LIMIT)


def _run(commands: tuple[list[str], list[str]]) -> list[float]:
    """The first decile of the seconds that a request takes, for each command."""
    times: tuple[list[float], list[float]] = ([], [])
    with ExitStack() as stack:
        clients = [stack.enter_context(_Client(command)) for command in commands]
        for start in range(0, CALLS, _ROUND):
            for client, into in zip(clients, times, strict=True):
                into.extend(client.call(number) for number in range(start, start + _ROUND))
    return [statistics.quantiles(some[_ROUND:], n=10)[0] for some in times]


def _starts(commands: tuple[list[str], list[str]]) -> Result:
    """How long it takes until the first request is answered."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(STARTS):
        for command, into in zip(commands, times, strict=True):
            began = time.perf_counter()
            with _Client(command) as client:
                client.call(1)
                into.append(time.perf_counter() - began)
    ours, base = (statistics.median(some[1:]) for some in times)
    return against("first MCP request through the proxy / through a bare pipe", ours, base, 4.0)
