"""**Open** opens the page with the program of the desktop, and nothing but the page."""

import sys
import threading
import time
from pathlib import Path

import pytest

from aileron_tui.alerts import page_opening
from aileron_tui.alerts.page_opening import open_in_browser

PAGE = "http://localhost:8722/page"


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that opens addresses, and the file in which it notes them and whether it has a terminal."""
    log = tmp_path / "log"
    program = tmp_path / "bin" / ("open" if sys.platform == "darwin" else "xdg-open")
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$# $1" >> {log}\ncat >> {log}\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return log


def test_the_page_is_opened_without_a_terminal(opened: Path) -> None:
    open_in_browser(PAGE)
    assert opened.read_text() == f"1 {PAGE}\n"


@pytest.mark.parametrize("url", ["", "https://evil.example/", "file:///etc/passwd", "--help", "http://localhost.evil/"])
def test_nothing_else_is_opened(opened: Path, url: str) -> None:
    open_in_browser(url)
    assert not opened.exists()


def test_a_machine_without_a_browser_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    open_in_browser(PAGE)


def test_a_program_that_does_not_end_is_ended(opened: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_opening, "_SECONDS", 0.1)
    (opened.parent / "bin" / page_opening._PROGRAM).write_text("#!/bin/sh\nexec sleep 60\n")
    started = time.monotonic()
    thread = threading.Thread(target=open_in_browser, args=(PAGE,))
    thread.start()
    thread.join(5)
    assert not thread.is_alive()
    assert time.monotonic() - started < 5
