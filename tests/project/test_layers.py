"""The core runs without I/O libraries, and the command line starts without anything heavy."""

import json
import pkgutil
import subprocess
import sys

import pytest

import aileron_tui.core

HEAVY = {"textual", "rich", "httpx", "wasmtime", "cryptography", "sqlite3", "keyring"}


def loaded_by(code: str) -> set[str]:
    """Returns the modules that a new interpreter has loaded after running this code."""
    report = "import json, sys; sys.stderr.write(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr))


def test_the_core_imports_no_io_and_no_terminal() -> None:
    modules = [f"aileron_tui.core.{module.name}" for module in pkgutil.iter_modules(aileron_tui.core.__path__)]
    assert len(modules) > 15
    loaded = loaded_by("import " + ", ".join(modules))
    assert not loaded & (HEAVY | {"asyncio", "socket", "ssl", "subprocess", "selectors", "tempfile"})


def test_version_imports_nothing_but_itself() -> None:
    bare = loaded_by("import sys")
    loaded = loaded_by("from aileron_tui.cli import main; main(['--version'])") - bare
    assert not loaded & (HEAVY | {"argparse", "dataclasses", "re", "tomli", "importlib.metadata"})


@pytest.mark.parametrize(
    ("words", "allowed"),
    [(["lint", "--help"], set[str]()), (["--help"], set[str]()), (["lint"], set[str]())],
    ids=["lint --help", "--help", "lint"],
)
def test_a_command_imports_only_what_it_needs(words: list[str], allowed: set[str]) -> None:
    code = f"from aileron_tui.cli import main\ntry:\n    main({words!r})\nexcept SystemExit:\n    pass"
    assert not loaded_by(code) & (HEAVY - allowed)
