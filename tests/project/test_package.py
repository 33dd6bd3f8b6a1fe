"""The wheel, installed in a new environment, works from any folder."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from aileron_tui import __version__

ROOT = Path(__file__).parents[2]
UV = str(Path(sys.executable).with_name("uv"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution as CONTRIBUTING.md says."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [UV, "build", "--quiet", "--python", sys.executable, "--no-build-isolation", "--out-dir", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_contains_manifests_skeletons_and_styles(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("manifests", "skeletons", "styles"):
        here = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert here
        assert {f"aileron_tui/{path.as_posix()}" for path in here} <= names
    assert not any(name.startswith(("tests/", "benchmarks/", "tools/")) for name in names)


def test_the_wheel_runs_in_a_new_environment(wheel: Path, tmp_path: Path) -> None:
    lock = (ROOT / "requirements.lock").read_text()
    pins = tmp_path / "pins.txt"
    pins.write_text("\n".join(re.findall(r"^[A-Za-z0-9._-]+==[^\s;\\]+(?: ; [^\\\n]+)?", lock, re.MULTILINE)))
    environment = tmp_path / "environment"
    python = environment / "bin" / "python"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, str(environment)], check=True)
    install = [UV, "pip", "install", "--quiet", "--python", str(python), "--constraint", str(pins), str(wheel)]
    subprocess.run(install, check=True)
    command = str(environment / "bin" / "aileron-tui")

    def run(*words: str) -> str:
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert run(command, "--version") == f"aileron-tui {__version__}\n"
    assert run(str(python), "-m", "aileron_tui", "--version") == f"aileron-tui {__version__}\n"
    assert (environment / "share" / "man" / "man1" / "aileron-tui.1").read_text().startswith(".TH AILERON")
    report = json.loads(run(command, "lint", "--json"))
    assert report["files"] > 10
    assert report["findings"] == []
    assert "connector/main.go" in json.loads(run(command, "new", "connector", "notes", "--json"))["files"]
    for words, extra in {("mcp",): "mcp", ("doctor",): "page", ("doctor", "--json"): "notifications"}.items():
        home = {"AILERON_TUI_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        done = subprocess.run(
            [command, *words],
            cwd=tmp_path,
            env=home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        said = (done.stdout + done.stderr).replace("\\", "")
        assert f"uv pip install --python {python} '{wheel}[{extra}]'" in said, "a missing extra says how to install it"
