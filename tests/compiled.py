"""One folder of compiled connectors for a whole test run: compiling takes seconds, and every worker would do it."""

import fcntl
import os
from pathlib import Path

import pytest

from aileron_tui.demo.sample_credentials import sample_config
from aileron_tui.files.paths import bundled
from aileron_tui.gate.installed_bundle import install, sandbox_settings
from aileron_tui.sandbox.connector_package import PublisherKeyring


def shared_cache(factory: pytest.TempPathFactory) -> Path:
    """The folder, with the sample connectors in it. Workers have their own temporary folders inside the one of the run.

    The first worker compiles and the others wait for it.
    """
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "compiled"
    folder.mkdir(mode=0o700, exist_ok=True)
    with folder.with_suffix(".done").open("a+") as done:
        fcntl.flock(done, fcntl.LOCK_EX)
        done.seek(0)
        if not done.read():
            compile_samples(folder)
            done.write("done")
    return folder


def compile_samples(folder: Path) -> None:
    """Compiles the sample connectors into a folder."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with sample_config() as config:
        installed = install(bundled("manifests"), sandbox_settings(config, folder, PublisherKeyring()))
    with installed.sandbox as sandbox:
        assert not sandbox.prepare(installed.actions.values())
