"""Installs the program as its users do, with every Python from 3.11 on that this machine has, and tries it.

Run it as `make installs`. It needs the package registry, and changes nothing outside a temporary folder.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from aileron_tui import __version__

ROOT: Final = Path(__file__).parents[2]
UV: Final = str(Path(sys.executable).with_name("uv"))
VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")
EXTRAS: Final = {("mcp",): "mcp", ("doctor",): "page"}
_SECONDS: Final = 300

_Install = Callable[[str, Path], Path]


class Failed(Exception):
    """An installation that does not work."""


def main() -> int:
    """Tries every way with every Python; returns 1 if one does not work."""
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="installs-") as name:
        folder = Path(name)
        _run(UV, "build", "--quiet", "--python", sys.executable, "--no-build-isolation", "--out-dir", name, cwd=ROOT)
        ways: dict[str, _Install] = {
            "wheel": lambda python, where: _with_pip(python, where, next(folder.glob("*.whl"))),
            "sdist": lambda python, where: _with_pip(python, where, next(folder.glob("*.tar.gz"))),
            "uv tool install .": _with_uv,
            "pipx install .": _with_pipx,
        }
        for version in VERSIONS:
            python = next(_pythons(version), None)
            if python is None:
                _say(f"Python {version}: not on this machine")
                continue
            for way, install in ways.items():
                where = folder / version / way.split()[0]
                where.mkdir(parents=True)
                try:
                    _try(install(python, where), where)
                except Failed as error:
                    failed += 1
                    _say(f"Python {version}, {way}: FAILED\n{error}")
                else:
                    passed += 1
                    _say(f"Python {version}, {way}: works")
    _say(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def _pythons(version: str) -> Iterator[str]:
    """The interpreters of a version that start: on the path, or installed by pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    kept = sorted(pyenv.glob(f"{version}.*/bin/python{version}"), reverse=True)
    for candidate in (shutil.which(f"python{version}"), *map(str, kept)):
        if candidate and not subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode:
            yield candidate


def _with_pip(python: str, where: Path, archive: Path) -> Path:
    _run(python, "-m", "venv", str(where / "environment"))
    command = where / "environment" / "bin"
    _run(str(command / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(archive))
    return command / "aileron-tui"


def _with_uv(python: str, where: Path) -> Path:
    folders = {"UV_TOOL_DIR": str(where / "tools"), "UV_TOOL_BIN_DIR": str(where / "bin")}
    _run(UV, "tool", "install", "--quiet", "--python", python, ".", cwd=ROOT, env=folders)
    return where / "bin" / "aileron-tui"


def _with_pipx(python: str, where: Path) -> Path:
    folders = {"PIPX_HOME": str(where / "pipx"), "PIPX_BIN_DIR": str(where / "bin"), "PIPX_MAN_DIR": str(where / "man")}
    _run(UV, "tool", "run", "--quiet", "pipx", "install", "--quiet", "--python", python, ".", cwd=ROOT, env=folders)
    return where / "bin" / "aileron-tui"


def _try(command: Path, where: Path) -> None:
    """Uses the installed command from another folder, with nothing set up."""
    home = {"AILERON_TUI_HOME": str(where / "home"), "HOME": str(where), "PYTHONPATH": ""}
    _expect(_run(str(command), "--version", cwd=where, env=home) == f"aileron-tui {__version__}\n", "another version")
    report = json.loads(_run(str(command), "lint", "--json", cwd=where, env=home))
    _expect(report["files"] > 0 and not report["findings"], f"lint found {report['findings']}")
    _expect("aileron-tui" in _run(str(command), "completion", "bash", cwd=where, env=home), "no completion")
    for words, extra in EXTRAS.items():
        said = _run(str(command), *words, cwd=where, expect_success=False, env=home)
        _expect(f"aileron-tui[{extra}]" in " ".join(said.split()), f"the missing extra {extra} is not named: {said}")
    _try_gate(command, where, home)


def _try_gate(command: Path, where: Path, home: dict[str, str]) -> None:
    words = [str(command), "gate", "--port", "0"]
    with subprocess.Popen(
        words,
        cwd=where,
        env={**os.environ, **home},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as gate:
        try:
            line = gate.stdout.readline() if gate.stdout else ""
            _expect(line.startswith("{") and "agent_token_file" in json.loads(line), f"the gate printed {line!r}")
        finally:
            gate.send_signal(signal.SIGTERM)
        said = gate.communicate(timeout=_SECONDS)[1]
        _expect(gate.returncode == 0, f"the gate ended with {gate.returncode}: {said}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _expect(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise Failed(otherwise)


def _run(*words: str, cwd: Path | None = None, expect_success: bool = True, env: dict[str, str] | None = None) -> str:
    """What a command printed."""
    done = subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode and expect_success:
        raise Failed(f"{' '.join(words)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if expect_success else done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main())
