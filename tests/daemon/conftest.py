"""One fake daemon for many tests, reset for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.process import FakeDaemon


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeDaemon]:
    with FakeDaemon(tmp_path_factory.mktemp("daemon") / "home") as daemon:
        yield daemon


@pytest.fixture
def daemon(running: FakeDaemon) -> FakeDaemon:
    """Nothing waits, nobody watches, no switch is turned."""
    running.reset()
    running.forget()
    running.disconnect()
    running.forget_asked()
    return running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"
