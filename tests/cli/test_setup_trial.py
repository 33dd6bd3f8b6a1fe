"""The call that an agent makes at the end of setup: a small agent with the real hook, and a real gate."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.cli.exit_codes import FAILED, OK
from tests.cli.test_setup import answers, home
from tests.compiled import shared_cache

__all__ = ["answers", "home"]

AGENT = f"""#!{sys.executable}
import json, os, subprocess, sys, urllib.request
if "--version" in sys.argv:
    print("2.1.325 (Claude Code)")
    sys.exit()
mode = os.environ.get("FAKE_MODE")
print("hello \\x1b[2J from", mode)
if mode == "silent":
    sys.exit(3)
body = json.dumps({{"tools": [{{"name": "Bash"}}], "messages": []}}).encode()
with urllib.request.urlopen(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", data=body) as reply:
    call = json.load(reply)["content"][0]
settings = json.load(open(os.path.expanduser("~/.claude/settings.json")))
hook = settings["hooks"]["PreToolUse"][0]["hooks"][0]
event = {{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": os.getcwd(), "tool_name": call["name"],
    "tool_input": call["input"], "tool_use_id": call["id"], "permission_mode": "default"}}
words = [hook["command"], *hook["args"]]
done = subprocess.run(words, input=json.dumps(event).encode(), capture_output=True) if mode != "ignores" else None
allowed = done is None or json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "allow"
if allowed or mode == "disobeys":
    subprocess.run(call["input"]["command"], shell=True)
"""


@pytest.fixture
def agent(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agent that asks its hook as the settings say, and a gate that has nothing to compile."""
    program = home / "bin" / "claude"
    program.write_text(AGENT)
    program.chmod(0o755)
    shutil.copytree(shared_cache(tmp_path_factory), home / "aileron" / "cache", copy_function=os.link)
    return program


@pytest.mark.usefixtures("agent", "answers")
def test_an_agent_that_asks_the_gate_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["setup", "claude"]) == OK
    assert "✓ Claude Code asked the gate as claude. The call was denied, and nothing ran" in capsys.readouterr().out
    assert cli.main(["history", "--json"]) == OK
    (request,) = json.loads(capsys.readouterr().out)["requests"]
    assert request["outcome"] == "denied"
    assert request["agent"] == "claude"


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("silent", "did not ask the scripted model"),
        ("ignores", "ran the call without permission"),
        ("disobeys", "ran the call without permission"),
    ],
)
@pytest.mark.usefixtures("agent", "answers")
def test_an_agent_that_does_not_is_reported_too(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    words: str,
) -> None:
    monkeypatch.setenv("FAKE_MODE", mode)
    assert cli.main(["setup", "claude"]) == FAILED
    said = capsys.readouterr().err
    assert words in said
    assert "\x1b[2J" not in said
