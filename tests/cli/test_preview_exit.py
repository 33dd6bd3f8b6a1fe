"""`preview` ends as quietly as it began: a sample connector of Go, 3.5 MB, in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRESS = re.compile(r"compiling the connector [\w./:-]+; that is done once")
"""A new home compiles the connector first."""

_COMMAND = [sys.executable, "-m", "aileron_tui", "preview", "send-draft", "--arg", "draft_id=r-12345", "--demo"]


@pytest.mark.parametrize("runs", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_leaving_prints_nothing(tmp_path: Path, runs: int) -> None:
    """A worker thread of wasmtime that still holds a Python callback panics when the interpreter exits."""
    environment = {**os.environ, "AILERON_TUI_HOME": str(tmp_path / "home")}
    for number in range(runs):
        done = subprocess.run(_COMMAND, check=False, capture_output=True, text=True, env=environment)
        said = [line for line in done.stderr.splitlines() if not _PROGRESS.fullmatch(line)]
        assert (done.returncode, said) == (0, []), f"run {number + 1} of {runs}: {done.stderr}"
        assert "team@example.com" in done.stdout
