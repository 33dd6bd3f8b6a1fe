"""A hook call that a rule answers, compared with a short script that reads its input and makes one HTTP call."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks._result import Result, against
from tests.doors.fake_gate import TOKEN, fake_gate

CALLS: Final = 25
LIMIT: Final = 1.5

SCRIPT: Final = """import http.client, json, sys
call = json.load(sys.stdin)
body = json.dumps({"tool": call["tool_name"], "input": call["tool_input"]})
connection = http.client.HTTPConnection(sys.argv[1])
headers = {"Authorization": "Bearer " + sys.argv[2], "Content-Type": "application/json"}
connection.request("POST", "/v1/permissions", body, headers)
print(json.dumps(json.load(connection.getresponse())))
"""
CALL: Final = {
    "session_id": "s",
    "cwd": "/",
    "hook_event_name": "PreToolUse",
    "tool_name": "Read",
    "tool_input": {"file_path": "/etc/hostname"},
    "tool_use_id": "toolu_1",
}


def measure() -> Iterator[Result]:
    """Each measurement."""
    with tempfile.TemporaryDirectory() as folder, fake_gate(Path(folder) / "home") as gate:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment = kept | {"AILERON_TUI_HOME": str(gate.home), "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        hook = [str(Path(sys.executable).with_name("aileron-tui")), "hook", "claude"]
        script = [sys.executable, "-c", SCRIPT, gate.url.removeprefix("http://"), TOKEN]
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(CALLS + 1):
            for into, command in zip(times, (hook, script), strict=True):
                began = time.perf_counter()
                done = subprocess.run(
                    command, input=json.dumps(CALL), env=environment, capture_output=True, text=True, check=True
                )
                into.append(time.perf_counter() - began)
                if '"allow' not in done.stdout:
                    raise RuntimeError(f"not allowed: {done.stdout} {done.stderr}")
        ours, base = (statistics.median(some[1:]) for some in times)  # the first run compiles modules
        yield against("hook answered by a rule / a script with one HTTP call", ours, base, LIMIT)
