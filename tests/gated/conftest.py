"""One gate with an operator for all tests of this folder; each test says what the operator answers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aileron_tui.gated import gated
from tests.gated.answered_gate import AnsweredGate, answered_gate

PROGRAM = "tests"


@pytest.fixture(scope="package")
def running_gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnsweredGate]:
    """Runs no longer than the tests that need it: while a gate runs, it has the log of the whole process."""
    with answered_gate(tmp_path_factory.mktemp("gated") / "home") as gate:
        yield gate


@pytest.fixture
def gate(running_gate: AnsweredGate, monkeypatch: pytest.MonkeyPatch) -> Iterator[AnsweredGate]:
    """A gate that approves everything until the test says otherwise, and the program that asks it."""
    running_gate.forget()
    monkeypatch.setenv("AILERON_TUI_HOME", str(running_gate.root))
    gated.configure(program=PROGRAM)
    yield running_gate
    gated.flush()
    assert running_gate.problems == []


@pytest.fixture
def no_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without a gate."""
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path))
    gated.configure(program=PROGRAM)
    return tmp_path
