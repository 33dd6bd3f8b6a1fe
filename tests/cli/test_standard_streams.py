"""Closed streams, streams that are no terminal, and locales without UTF-8."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal, environment

ASCII = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def run(home: Path, command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A command line of a shell, with $TUI for the program."""
    words = {"TUI": f"{sys.executable} -m aileron_tui", "HOME": str(home), "AILERON_TUI_HOME": str(home)}
    env = {**os.environ, **words, **more}
    return subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, errors="replace", env=env, check=False, timeout=100
    )


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("$TUI <&-", 2, "standard input is not one"),
        ("$TUI </dev/null", 2, "standard input is not one"),
        ("$TUI --standalone <&-", 1, "standard input is not a terminal"),
        ("$TUI --version >&-", 1, "standard output is closed"),
        ("$TUI list >&-", 1, "standard output is closed"),
        ("$TUI --version <&- 2>&-", 0, ""),
        ("$TUI nonsense 2>&-", 2, ""),
        ("$TUI --help | head -c 1", 0, ""),
    ],
)
def test_a_stream_that_is_closed_gets_a_clear_error(tmp_path: Path, command: str, code: int, words: str) -> None:
    done = run(tmp_path, command)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.parametrize("more", [ASCII, {"PYTHONIOENCODING": "latin-1"}], ids=["C", "latin-1"])
def test_text_that_a_locale_cannot_show_is_escaped(tmp_path: Path, more: dict[str, str]) -> None:
    done = run(tmp_path, "$TUI list --sauce; $TUI --help; $TUI ünknown; $TUI show ünknown", **more)
    assert "Traceback" not in done.stderr + done.stdout
    assert "aileron-tui COMMAND" in done.stdout
    assert "unknown command" in done.stderr


@pytest.mark.parametrize(
    ("more", "encoding"), [(ASCII, "ascii"), ({"PYTHONIOENCODING": "latin-1"}, "iso8859-1")], ids=["C", "latin-1"]
)
def test_the_console_needs_utf_8(tmp_path: Path, more: dict[str, str], encoding: str) -> None:
    with Terminal(["--standalone"], environment(tmp_path, **more)) as terminal:
        shown = terminal.until("UTF-8 locale, for example")
        assert "error: the console needs a UTF-8 locale" in shown
        assert encoding in shown.lower()
        assert terminal.end() == 1
