"""Installs the program as its users do, with every Python from 3.11 on that this machine has, and tries it.

Run it as `make installs`. It needs the package registry, and changes nothing outside a temporary folder.
"""

import json
import os
import re
import shlex
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
HINT: Final = re.compile(r"Install it with `([^`]+)`|not installed: (\S+ .*?\[[a-z,]+\]')")
_SECONDS: Final = 300
_PIPX: Final = (UV, "tool", "run", "--quiet", "pipx")

_Install = Callable[[str, Path], None]


class Failed(Exception):
    """An installation that does not work."""


def main() -> int:
    """Tries every way with every Python; returns 1 if one does not work."""
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="installs-") as name:
        folder = Path(name)
        _run(UV, "build", "--quiet", "--python", sys.executable, "--no-build-isolation", "--out-dir", name, cwd=ROOT)
        ways: dict[str, _Install] = {
            "pip install …whl": lambda python, where: _with_pip(python, where, next(folder.glob("*.whl"))),
            "pip install …tar.gz": lambda python, where: _with_pip(python, where, next(folder.glob("*.tar.gz"))),
            "uv tool install .": _with_uv,
            "pipx install .": _with_pipx,
        }
        for version in VERSIONS:
            python = next(_pythons(version), None)
            if python is None:
                _say(f"Python {version}: not on this machine")
                continue
            for way, install in ways.items():
                where = folder / version / way
                where.mkdir(parents=True)
                try:
                    install(python, where)
                    _try(where)
                    if install is _with_pipx:
                        _try_manual(where)
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


def _with_pip(python: str, where: Path, archive: Path) -> None:
    _run(python, "-m", "venv", str(where / "local"))
    environment = str(where / "local" / "bin" / "python")
    _run(environment, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(archive))


def _with_uv(python: str, where: Path) -> None:
    _run(UV, "tool", "install", "--quiet", "--python", python, ".", cwd=ROOT, env=_folders(where))


def _with_pipx(python: str, where: Path) -> None:
    _run(*_PIPX, "install", "--quiet", "--python", python, ".", cwd=ROOT, env=_folders(where))


def _folders(where: Path) -> dict[str, str]:
    """Where uv and pipx install something, as they do below a home."""
    local = where / "local"
    return {
        "PIPX_BIN_DIR": str(local / "bin"),
        "PIPX_HOME": str(local / "pipx"),
        "PIPX_MAN_DIR": str(local / "share" / "man"),
        "UV_TOOL_BIN_DIR": str(local / "bin"),
        "UV_TOOL_DIR": str(local / "tools"),
    }


def _try(where: Path) -> None:
    """Uses the installed command from another folder, with nothing set up."""
    command = where / "local" / "bin" / "aileron-tui"
    home = {"AILERON_TUI_HOME": str(where / "home"), "HOME": str(where), "PYTHONPATH": ""}
    _expect(_run(str(command), "--version", cwd=where, env=home) == f"aileron-tui {__version__}\n", "another version")
    report = json.loads(_run(str(command), "lint", "--json", cwd=where, env=home))
    _expect(report["files"] > 0 and not report["findings"], f"lint found {report['findings']}")
    _expect("aileron-tui" in _run(str(command), "completion", "bash", cwd=where, env=home), "no completion")
    _try_gate(command, where, home)
    _follow(_run(str(command), "mcp", cwd=where, expect_success=False, env=home), "mcp", where)
    _run(str(command), "mcp", cwd=where, env=home)
    _follow(_run(str(command), "doctor", cwd=where, expect_success=False, env=home), "page", where)
    _expect("page extra" not in _run(str(command), "doctor", cwd=where, expect_success=False, env=home), "no page")
    _run(str(command), "mcp", cwd=where, env=home)


def _follow(said: str, extra: str, where: Path) -> None:
    """Runs the command for an extra as it was printed, with the uv and the pipx of this run."""
    commands = ["".join(found) for found in HINT.findall(said)]
    command = next((words for words in map(shlex.split, commands) if extra in words[-1]), None)
    if command is None:
        raise Failed(f"how to install the extra {extra} is not said: {said}")
    program = {"pipx": _PIPX, "uv": (UV,)}.get(command[0], command[:1])
    _run(*program, *command[1:], cwd=where, env=_folders(where))


def _try_manual(where: Path) -> None:
    """Whether `man` finds the manual page beside the folder of the command, as its search path says."""
    if not (man := shutil.which("man")):
        _say("no man on this machine")
        return
    path = {"PATH": f"{where / 'local' / 'bin'}:{os.environ['PATH']}", "MANPATH": ""}
    found = _run(man, "-w", "aileron-tui", cwd=where, expect_success=False, env=path)
    _expect(found.strip().endswith("aileron-tui.1"), f"man finds no page: {found}")


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
