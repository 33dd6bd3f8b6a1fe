"""One folder of compiled connectors for a whole test run: compiling takes seconds, and every worker would do it."""

import os
from pathlib import Path

import pytest


def shared_cache(factory: pytest.TempPathFactory) -> Path:
    """The folder. Workers have their own temporary folders inside the one of the run."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "compiled"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
