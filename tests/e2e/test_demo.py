"""The demo as a newcomer meets it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import House
from tests.e2e.terminal import CTRL_Q, clean, environment

HOW = re.compile(r"AILERON_TUI_HOME=(\S+) aileron-tui run send-draft --arg draft_id=r-12345")


def test_the_demo_opens_asks_and_leaves_nothing(house: House, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    house.environment_more["TMPDIR"] = str(temporary)
    before = {path: path.stat().st_mtime_ns for path in house.home.rglob("*") if path.is_file()}
    with house.console("demo") as terminal:
        terminal.until("team@example.com")
        terminal.until("3 waiting")
        terminal.until("1 of 4: approve a good request")
        terminal.until("account demo")
        terminal.press("l")
        terminal.until("The weekly recap is ready. May I send it to the team?")
        terminal.press("q")
        terminal.until("3 waiting")
        terminal.still(1.0)
        terminal.press("d")
        terminal.until("denied")
        terminal.until("2 of 4: a preview that failed")
        terminal.press("\x07")
        terminal.until(lambda text: "2 of 4" not in text)
        terminal.press("l")
        terminal.until("send-draft denied: I will ask for the right recipient.")
        assert len(list(temporary.glob("aileron-demo-*"))) == 1
        terminal.press(CTRL_Q)
        terminal.until("Quit anyway?")
        terminal.press(CTRL_Q)
        assert terminal.end() == 0
        said = terminal.raw.decode()
        assert "Installed the suite samples in a temporary home: 2 connectors, 12 actions." in said
        assert "Bound the account demo to local://aileron/files and local://aileron/mail." in said
        assert "Only compiled connectors were kept, in your cache folder." in said
        assert "To put your own agents behind a gate:" in said
        assert clean(terminal)
    assert list(temporary.glob("aileron-demo-*")) == []
    assert {path: path.stat().st_mtime_ns for path in house.home.rglob("*") if path.is_file()} == before


def test_without_the_agent_it_says_how_to_be_one(house: House) -> None:
    with house.console("demo", "--no-agent", size=(120, 30)) as terminal:
        terminal.until("● connected")
        terminal.press("l")
        told = terminal.until(lambda text: HOW.search(text) is not None)
        found = HOW.search(told)
        assert found is not None
        words = [sys.executable, "-m", "aileron_tui", "run", "send-draft", "--arg", "draft_id=r-12345"]
        process = subprocess.run(words, env=environment(Path(found[1])), capture_output=True, check=False)
        assert process.returncode == 75
        terminal.press("q")
        terminal.until("team@example.com")
        terminal.press("q")
        terminal.until("Quit anyway?")
        terminal.press("y")
        assert terminal.end() == 0
        assert clean(terminal)


@pytest.mark.slow
def test_the_first_start_says_what_takes_so_long(house: House) -> None:
    shutil.rmtree(house.home / "cache")
    with house.console("demo") as terminal:
        terminal.until("Compiling")
        terminal.until("team@example.com", seconds=240)
        terminal.press(CTRL_Q)
        terminal.until("Quit anyway?")
        terminal.press(CTRL_Q)
        assert terminal.end() == 0


def test_quitting_before_the_screen_is_complete_ends_quietly(house: House) -> None:
    """What was typed while it started may arrive before there is anything to quit from."""
    with house.console("demo") as terminal:
        terminal.press("q")
        terminal.until(lambda text: "Quit anyway?" in text or "To put your own agents behind a gate:" in text)
        terminal.press("y")
        assert terminal.end() == 0
        assert clean(terminal)
