"""Follows docs/connectors.md in one shell on a terminal, command by command, as a newcomer would."""

import os
import pty
import re
import select
import shutil
import signal
import sys
import termios
import time
from pathlib import Path

from aileron_tui.cli.exit_codes import OK, WAITING
from tests.skeletons.stored_module import MODULE, ROOT

GUIDE = ROOT / "docs" / "connectors.md"
PASSPHRASE = "correct horse"
_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DONE = re.compile(r"\[done (\d+)\]")
_SIGN = ("Passphrase of default: ", f"{PASSPHRASE}\n")
_CONSENT = [("iew\n", ""), ("> ", "a"), _SIGN]
_ANSWERS: dict[str, list[tuple[str, str]]] = {
    "aileron-tui key init": [
        ("New passphrase for default: ", f"{PASSPHRASE}\n"),
        ("Repeat the passphrase: ", f"{PASSPHRASE}\n"),
    ],
    "aileron-tui add .": _CONSENT,
    "aileron-tui prompt --once": [_SIGN],
    "aileron-tui trust local://dev publisher.pub": [("[y/N] ", "y\n"), _SIGN],
    "aileron-tui update local://dev/notes .": _CONSENT,
}

_CODES = {"aileron-tui run publish-note --arg note_id=n-1 --arg channel=news": WAITING}


def blocks(language: str = "", document: str = "") -> list[str]:
    """The blocks of the guide, or of another document, in a language, in order."""
    return [text for named, text in _BLOCK.findall(document or GUIDE.read_text()) if named == language]


def commands() -> list[str]:
    """The commands of the guide, in order."""
    return [line for text in blocks() for line in text.splitlines()]


def stored_compilers(folder: Path) -> None:
    """Adds a `go`, a `zig` and an `openssl` that need nothing installed: both compilers write the stored module."""
    compiler = (
        f'while [ "$1" != -o ]; do shift; done\ncp {MODULE} "$2"\n'
        '[ "$(basename "$PWD")" = connector ] && [ -f manifest.toml ]\n'
    )
    _script(folder / "go", compiler)
    zig = f'if [ "$1 $2" = "-m ziglang" ]; then\n{compiler}exit\nfi\nexec {sys.executable} "$@"\n'
    _script(folder / "python3", zig)
    _script(folder / "pip", '[ "$*" = "install ziglang" ]\n')
    _script(folder / "openssl", f'exec {sys.executable} {Path(__file__).with_name("small_openssl.py")} "$@"\n')


def our_commands(folder: Path) -> None:
    """Adds `aileron-tui`, whose gates use free ports."""
    gate = '[ "$1" = gate ] && set -- "$@" --port 0\n'
    _script(folder / "aileron-tui", f'{gate}exec {sys.executable} -m aileron_tui "$@"\n')


def _script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)


class Shell:
    """A shell on a terminal of its own."""

    def __init__(self, folder: Path, environment: dict[str, str], patience: float) -> None:
        self._patience = patience
        self.screen = ""
        self._seen = 0
        self.process, self._terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            termios.tcsetwinsize(0, (300, 160))
            os.execve(shutil.which("sh") or "sh", ["sh"], environment)

    def until(self, *texts: str, seconds: float = 0) -> str:
        """Reads until one of the texts is on the screen after what was seen before; returns it, or "" after a time."""
        end = time.monotonic() + (seconds or self._patience)
        while time.monotonic() < end:
            places = [(self.screen.find(text, self._seen), text) for text in texts]
            if found := sorted(place for place in places if place[0] >= 0):
                self._seen = found[0][0] + len(found[0][1])
                return found[0][1]
            if select.select([self._terminal], [], [], 0.1)[0]:
                self.screen += os.read(self._terminal, 65_536).decode(errors="replace").replace("\r\n", "\n")
        return ""

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def run(self, command: str) -> str:
        """Types a command, answers what it asks, and returns what it printed; it must end as it should."""
        start = len(self.screen)
        self.type(f"{command}{'' if command.endswith('&') else ';'} echo [done $?]\n")
        assert self.until("[done $?]"), self.screen
        for expected, reply in _ANSWERS.get(command, []):
            assert self.until(expected), self.screen[start:]
            self.type(reply)
        if command == "aileron-tui prompt --once":
            self._approve("publish-note")
        assert self.until("[done "), self.screen[start:]
        assert self.until("]")
        printed = self.screen[start:]
        done = _DONE.search(printed)
        assert done, printed
        assert int(done[1]) == _CODES.get(command, OK), printed
        return printed

    def _approve(self, action: str) -> None:
        """Approves a request of high risk. A key that is pressed before the question can be read does not count."""
        assert self.until("[Q]uit"), self.screen
        for _ in range(30):
            self.type("a")
            if self.until(f"Type {action} to approve: ", seconds=10):
                self.type(f"{action}\n")
                return
        raise AssertionError(self.screen)

    def close(self) -> None:
        """Ends the shell and everything that it started."""
        os.close(self._terminal)
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                number, rest = stat.parent.name, stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(rest[3]) == self.process:
                os.kill(int(number), signal.SIGKILL)
        os.waitpid(self.process, 0)


def follow(folder: Path, bin_folder: Path, port: int, *, cache: Path | None = None, patience: float = 600) -> str:
    """Runs every command of the guide in a new folder and home, and returns all that was on the screen.

    The API uses `port` instead of its own, because several tests may run at once. Compilers
    keep their files in `cache`. No command may take longer than `patience`, in seconds.
    """
    home = folder / "home"
    home.mkdir(mode=0o700, parents=True)
    (home / "config.toml").write_text('[connectors."local://dev/notes".credential]\nenv = "NOTES_KEY"\n')
    environment = {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "HOME": str(folder),
        "AILERON_TUI_HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "PS1": "",
        "NO_COLOR": "1",
        **({"XDG_CACHE_HOME": str(cache)} if cache else {}),
    }
    shell = Shell(folder, environment, patience)
    try:
        for command in commands():
            shell.run(command)
            if command.startswith("aileron-tui new connector"):
                _use_port(folder / Path(command.split()[3]).name, port)
            if command == "make serve &":
                assert shell.until("serving notes on"), shell.screen
            if command == "aileron-tui gate &":
                assert shell.until('"agent_token_file"'), shell.screen
        return shell.screen
    finally:
        shell.close()


def _use_port(repository: Path, port: int) -> None:
    for file in repository.rglob("*"):
        if file.is_file() and file.suffix in (".md", ".toml", ".py"):
            file.write_text(file.read_text().replace("8730", str(port)))
