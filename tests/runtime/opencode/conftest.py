"""A fake server, and where a console keeps its ledger."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.opencode.fake_server import FakeOpencode


@pytest.fixture
def server() -> Iterator[FakeOpencode]:
    with FakeOpencode("correct-horse-battery") as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "record"
