"""The progress of compiling that the demo shows agrees with what the sandbox has in its cache."""

from pathlib import Path

import pytest

from aileron_tui.demo.compile_progress import CompileProgress
from tests.compiled import shared_cache


def test_nothing_is_missing_once_the_sandbox_has_compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    progress = CompileProgress(shared_cache(tmp_path_factory))
    assert progress.missing == ()
    assert progress.words() == "files: ready, mail: ready"


def test_each_connector_is_counted_when_it_is_ready(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    progress = CompileProgress(tmp_path)
    assert progress.missing == ("files", "mail")
    for file in shared_cache(tmp_path_factory).glob("*.sha256"):
        (tmp_path / file.name).write_bytes(b"")
        break
    assert sorted(word.split(": ")[1] for word in progress.words().split(", ")) == ["compiling", "ready"]
    assert len(progress.missing) == 1


def test_another_version_of_wasmtime_compiles_again(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    for file in shared_cache(tmp_path_factory).glob("*.sha256"):
        digest, _, rest = file.name.partition("-")
        (tmp_path / f"{digest}-0.{rest}").write_bytes(b"")
    assert CompileProgress(tmp_path).missing == ("files", "mail")
