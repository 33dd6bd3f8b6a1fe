"""The daemon of the fake's own tests, and where a console keeps its record."""

from pathlib import Path

import pytest

from tests.daemon.conftest import daemon, running

__all__ = ["daemon", "running"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a console keeps its record."""
    return tmp_path / "record"
