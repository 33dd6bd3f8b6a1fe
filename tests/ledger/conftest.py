"""The scene most ledger tests begin with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ledger.scenes import Scene

pytest.register_assert_rewrite("tests.ledger.store_contract")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """An open ledger with one enrolled key."""
    scene = Scene(tmp_path / "data" / "ledger.db")
    yield scene
    scene.close()
