"""What is said while something takes long before the screen opens."""

import io
import time
from collections.abc import Callable

import pytest

from aileron_tui.cli import full_screen
from aileron_tui.cli.full_screen import report_delay


def stderr_of(monkeypatch: pytest.MonkeyPatch, delay: float) -> io.StringIO:
    """The stream that is written to, with a report after `delay` seconds and then all the time."""
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(full_screen, "_DELAY_SECONDS", delay)
    monkeypatch.setattr(full_screen, "_REPORT_SECONDS", 0.01)
    monkeypatch.setenv("COLUMNS", "40")
    return stream


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


def test_a_quick_start_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = stderr_of(monkeypatch, 30)
    with report_delay("Compiling."):
        pass
    assert stderr.getvalue() == ""


def test_a_slow_start_says_what_it_does_and_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = stderr_of(monkeypatch, 0)
    done: list[str] = ["files"]
    with report_delay("Compiling.", lambda: f"{', '.join(done)} ready"):
        wait_until(lambda: "files ready · 0 s" in stderr.getvalue())
        done.append("mail")
        wait_until(lambda: "files, mail ready" in stderr.getvalue())
    first, rest = stderr.getvalue().split("\n", 1)
    assert first == "Compiling."
    assert rest.endswith("\n")
    assert {len(line) for line in rest.rstrip("\n").split("\r")[1:]} == {39}, "a line that wraps cannot be replaced"


def test_an_error_ends_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = stderr_of(monkeypatch, 0)

    def fail_late() -> None:
        with report_delay("Compiling."):
            wait_until(lambda: "Compiling." in stderr.getvalue())
            raise KeyError

    with pytest.raises(KeyError):
        fail_late()
    assert stderr.getvalue().endswith("\n")
