"""A hook call that a rule answers, compared with a short script that reads its input and makes one HTTP call."""

import http.client
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict, new_rule_id
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import agent_token
from aileron_tui.signing import key_store
from benchmarks._result import Result, against
from benchmarks._running_gate import RunningGate, running_gate

CALLS: Final = 25
LIMIT: Final = 1.5
AGENT: Final = "default"

SCRIPT: Final = """import http.client, json, sys
call = json.load(sys.stdin)
body = json.dumps({"tool": call["tool_name"], "input": call["tool_input"], "folder": call["cwd"]})
connection = http.client.HTTPConnection(sys.argv[1])
headers = {"Authorization": "Bearer " + sys.argv[2], "Content-Type": "application/json", "Prefer": "wait=60"}
connection.request("POST", "/v1/permissions", body, headers)
print(json.dumps(json.load(connection.getresponse())))
"""


def measure() -> Iterator[Result]:
    """Each measurement."""
    with running_gate() as gate:
        _add_rule(gate)
        host, token = gate.found.url.removeprefix("http://"), agent_token(gate.found)
        hook = [str(Path(sys.executable).with_name("aileron-tui")), "hook", "claude", "--agent", AGENT]
        script = [sys.executable, "-c", SCRIPT, host, token]
        times: tuple[list[float], list[float], list[float]] = ([], [], [])
        for number in range(CALLS + 1):
            event = json.dumps(_event(gate, number))
            for into, command in zip(times, (hook, script), strict=False):
                began = time.perf_counter()
                done = subprocess.run(
                    command, input=event, env=gate.environment, capture_output=True, text=True, check=True
                )
                into.append(time.perf_counter() - began)
                _check(done.stdout)
            began = time.perf_counter()
            _check(_over_http(host, token, json.dumps(_event(gate, number + 1000))))
            times[2].append(time.perf_counter() - began)
        ours, base, served = (statistics.median(some[1:]) for some in times)  # the first run compiles modules
        note = f"over HTTP {served * 1e3:.1f} ms"
        yield against("hook answered by a rule / a script with one HTTP call", ours, base, LIMIT, note)


def _event(gate: RunningGate, number: int) -> dict[str, Any]:
    return {
        "session_id": "s",
        "cwd": str(gate.home.root),
        "hook_event_name": "PreToolUse",
        "tool_name": "Grep",
        "tool_input": {"pattern": f"word {number}"},
        "tool_use_id": f"toolu_{number}",
    }


def _over_http(host: str, token: str, event: str) -> str:
    """Asks the gate as Claude Code does with a hook of type http."""
    connection = http.client.HTTPConnection(host)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/hooks/claude", event, headers)
    reply = connection.getresponse().read().decode()
    connection.close()
    return reply


def _check(reply: str) -> None:
    if '"allow' not in reply:
        raise RuntimeError(f"not allowed: {reply}")


def _add_rule(gate: RunningGate) -> None:
    ends = timestamp(utc_now() + timedelta(hours=1))
    rule = Rule(
        new_rule_id(),
        RuleVerdict.ALLOW,
        AGENT,
        "Grep",
        reach=RuleReach.ANY,
        kind=CallKind.TOOL,
        risk=RiskLevel.NORMAL,
        ends=ends,
    )
    with key_store.unlock(gate.home.root / "keys", "bench", None) as key, ApproverClient(gate.found, key) as approver:
        approver.make_rule(rule)
