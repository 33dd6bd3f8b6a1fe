"""For any bytes on standard input, a hook writes one JSON object that allows nothing, or exits with 2 and a reason."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.core.test_hook_shapes import CALLS, NAMES, OBJECTS

HELPER = """
import base64, json, os, sys
from aileron_tui.doors import hook_process
found = []
for text in json.load(sys.stdin):
    pipes = [os.pipe() for _ in range(3)]
    child = os.fork()
    if not child:
        for descriptor, (reads, writes) in enumerate(pipes):
            os.dup2(writes if descriptor else reads, descriptor)
        os.closerange(3, 64)
        os._exit(hook_process.run(sys.argv[1:]))
    os.write(pipes[0][1], base64.b64decode(text))
    for ends, use in zip(pipes, (1, 0, 0)):
        os.close(ends[1 - use])
    os.close(pipes[0][1])
    written = [open(pipes[number][0], "rb").read().decode() for number in (1, 2)]
    found.append([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), *written])
json.dump(found, sys.stdout)
"""

ASKING = {"PreToolUse", "PermissionRequest", "BeforeTool"}


@st.composite
def damaged_calls(draw: st.DrawFn) -> bytes:
    """A recorded call with some of its bytes replaced, removed or added."""
    data = json.dumps(draw(st.sampled_from(list(CALLS.values()))) | draw(OBJECTS)).encode()
    start = draw(st.integers(0, len(data)))
    return data[:start] + draw(st.binary(max_size=4)) + data[start + draw(st.integers(0, 20)) :]


INPUTS = st.binary(max_size=200) | damaged_calls() | OBJECTS.map(lambda fields: json.dumps(fields).encode())


def results(agent: str, inputs: list[bytes], home: Path) -> list[tuple[int, str, str]]:
    """The exit code and the output of a hook for each input. There is no gate, so nothing may be allowed."""
    sent = json.dumps([base64.b64encode(data).decode() for data in inputs])
    environment = {"PATH": os.environ["PATH"], "AILERON_TUI_HOME": str(home)}
    command = [sys.executable, "-c", HELPER, agent]
    done = subprocess.run(command, input=sent, env=environment, capture_output=True, text=True, check=True)
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


@pytest.mark.parametrize("agent", NAMES)
@settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.generate],  # an example is dozens of processes, which takes long to shrink
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(inputs=st.lists(INPUTS, min_size=20, max_size=40))
def test_any_input_gets_a_refusal(agent: str, inputs: list[bytes], tmp_path: Path) -> None:
    for data, (code, out, err) in zip(inputs, results(agent, inputs, tmp_path), strict=True):
        if code == 2:
            assert (out, err.startswith("aileron-tui")) == ("", True), data
            continue
        assert (code, err) == (0, ""), data
        if out:
            assert "allow" not in _words(json.loads(out)), data
        else:
            assert _is_harmless(agent, json.loads(data)), data


def _words(value: Any) -> list[str]:
    """Every text in a JSON value that is not a sentence."""
    if isinstance(value, dict):
        return [word for item in value.values() for word in _words(item)]
    return [value] if isinstance(value, str) else []


def _is_harmless(agent: str, fields: dict[str, Any]) -> bool:
    """Whether no call waits for the reply to this event."""
    if agent != "copilot":
        return fields["hook_event_name"] not in ASKING
    return "hookName" not in fields and ("toolName" not in fields or "toolResult" in fields or "error" in fields)
