"""Gated functions: a call that a rule allows compared with a bare httpx POST, and the time to import the decorator."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import httpx

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict, new_rule_id
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.gated import gated
from aileron_tui.ledger.file_names import FILE
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.signing import key_store
from aileron_tui.surface.agent_changes import add_agent
from benchmarks._result import Result, against
from benchmarks._running_gate import RunningGate, running_gate

CALLS: Final = 40
WARM: Final = 5
IMPORTS: Final = 15
LIMIT: Final = 1.5
PROGRAM: Final = "benchmark"


@gated(name="look_up")
def look_up(word: str, limit: int = 10) -> str:
    """A function that a rule allows."""
    return f"{word} {limit}"


def measure() -> Iterator[Result]:
    """Each measurement."""
    with running_gate() as gate:
        _set_up(gate)
        os.environ["AILERON_TUI_HOME"] = str(gate.home.root)
        gated.configure(program=PROGRAM)
        yield _calls(gate)
        yield _imports(gate)
        gated.configure()
        del os.environ["AILERON_TUI_HOME"]


def _calls(gate: RunningGate) -> Result:
    """Both ask the same gate the same question; only one of them checks the answer, runs something and reports it."""
    ours: list[float] = []
    base: list[float] = []
    reported: list[float] = []
    token = read_token(token_path(gate.home.setup.data, "python"))
    with httpx.Client(base_url=gate.found.url, headers={"Authorization": f"Bearer {token}"}) as client:
        for number in range(CALLS):
            word = f"word {number}"
            began = time.perf_counter()
            if look_up(word) != f"{word} 10":
                raise RuntimeError("the wrong result")
            ours.append(time.perf_counter() - began)
            gated.flush()
            reported.append(time.perf_counter() - began)
            body = {
                "tool": "look_up",
                "input": {"word": word, "limit": 10},
                "server": PROGRAM,
                "session": "bare",
                "call_id": f"bare-{number}",
                "door": "python",
                "can_edit": True,
                "resumable": True,
            }
            began = time.perf_counter()
            reply = client.post("/v1/permissions", json=body).json()
            base.append(time.perf_counter() - began)
            if reply["status"] != "allowed":
                raise RuntimeError(f"not allowed: {reply}")
            time.sleep(0.05)  # an agent may make only so many calls a second
    title = "gated call that a rule allows / the same POST with httpx"
    note = f"with its report {statistics.median(reported[WARM:]) * 1e3:.1f} ms"
    return against(title, statistics.median(ours[WARM:]), statistics.median(base[WARM:]), LIMIT, note)


def _imports(gate: RunningGate) -> Result:
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(IMPORTS + 1):
        for into, code in zip(times, ("import aileron_tui.gated", "import httpx"), strict=True):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], env=gate.environment, check=True)
            into.append(time.perf_counter() - began)
    ours, base = (statistics.median(some[1:]) for some in times)  # the first run compiles modules
    return against("import aileron_tui.gated / import httpx", ours, base, LIMIT)


def _set_up(gate: RunningGate) -> None:
    with key_store.unlock(gate.home.root / "keys", "bench", None) as key, ApproverClient(gate.found, key) as approver:
        add_agent(gate.home.setup.data / FILE, "python", key)
        approver.make_rule(
            Rule(
                new_rule_id(),
                RuleVerdict.ALLOW,
                "python",
                "look_up",
                RuleReach.ANY,
                timestamp(utc_now() + timedelta(hours=1)),
                kind=CallKind.TOOL,
                risk=RiskLevel.NORMAL,
                connector=PROGRAM,
            )
        )
