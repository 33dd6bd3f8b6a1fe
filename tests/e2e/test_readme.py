"""A newcomer follows "Use it" of the README in a new home, each command as it is written there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aileron_tui.cli.exit_codes import DENIED, OK
from aileron_tui.core.jsontext import read_object
from tests.compiled import shared_cache
from tests.e2e.terminal import ENTER, Terminal, environment

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def commands(block: str) -> list[list[str]]:
    """The words of each command of a block, without its comment and the name of the program."""
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    return [words[1:] for words in lines if words[0] == "aileron-tui"]


def enter_passphrase(terminal: Terminal, question: str) -> None:
    terminal.until(question)
    terminal.still(0.5)
    terminal.press("correct horse", ENTER)


def test_the_first_call_is_seen_and_only_denied(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    section = README.read_text().partition("\n## Use it\n")[2].partition("\n**Claude Code**")[0]
    (key, gate), (console, run, doctor) = map(commands, BLOCK.findall(section))
    (promised,) = re.findall(r"`(needs [^`]+)`", section.rpartition("```")[2])
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    shutil.copytree(shared_cache(tmp_path_factory), home / "cache", copy_function=os.link)
    shell = environment(home)

    def start(words: list[str]) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "aileron_tui", *words]
        return subprocess.Popen(command, env=shell, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    with Terminal(key, shell) as terminal:
        enter_passphrase(terminal, "New passphrase")
        enter_passphrase(terminal, "Repeat")
        assert terminal.end() == OK
    with Terminal([*gate, "--port", "0"], shell, (200, 30)) as other_terminal:
        other_terminal.until("Agents call http://127.0.0.1:")
        with Terminal(console, shell) as terminal, start(run) as call:
            enter_passphrase(terminal, "passphrase")
            terminal.until(promised)
            terminal.still(1.5)
            terminal.press("a")
            assert "an account is needed first" in terminal.still(3.0)
            assert call.poll() is None
            terminal.press("d")
            terminal.until("denied")
            said = call.communicate(timeout=60)[0]
            assert (call.returncode, read_object(said)["status"]) == (DENIED, "denied")
        with start(doctor) as check:
            check.communicate(timeout=60)
            assert check.returncode == OK
