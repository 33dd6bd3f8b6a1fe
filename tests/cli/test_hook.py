"""The command `hook`: its help, and that it refuses whatever it is called with."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aileron_tui.cli import main

CALL = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "date"}}


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["hook", "--help"])
    assert end.value.code == 0
    assert "--timeout" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["cluade"], ["claude", "--help"], ["claude", "codex"], ["--help", "claude"]])
def test_a_wrong_command_line_is_a_refusal(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "aileron_tui", "hook", *words],
        input=json.dumps(CALL),
        env={"PATH": os.environ["PATH"], "AILERON_TUI_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: aileron-tui hook" in done.stderr


def test_the_installed_command(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("aileron-tui")
    done = subprocess.run(
        [command, "hook", "claude"],
        input=json.dumps(CALL),
        env={"PATH": os.environ["PATH"], "AILERON_TUI_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
