"""The programs of coding agents that can be put behind the gate: their names, where they are, and their versions."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from shlex import join, quote
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass

Version = tuple[int, ...]

ENV: Final = "/usr/bin/env"
"""The program that starts another one without the variables of the environment."""

_VERSION: Final = re.compile(r"(?<![\d.])(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?![\d])")
_PACKAGE: Final = "aileron_tui"
_SECONDS: Final = 30.0
_LONGEST: Final = 2000
_PLACES: Final = (
    ".local/bin",
    ".claude/local",
    ".claude/local/node_modules/.bin",
    ".opencode/bin",
    ".bun/bin",
    ".npm-global/bin",
    "bin",
)
_SYSTEM_PLACES: Final = ("/usr/local/bin", "/opt/homebrew/bin", "/usr/bin")


class NoAgentProgram(AileronError):
    """The program of an agent is not installed, or does not say its version."""


class NoOwnProgram(AileronError):
    """This program cannot be started by an agent."""


@dataclass(frozen=True, slots=True)
class AgentKind:
    """An agent that can be put behind the gate. `word` is also the name of its program.

    `tried` is the version that all this was tried with. Versions before `oldest` are refused, for the reason `too_old`.
    """

    word: str
    title: str
    tried: Version
    oldest: Version = ()
    too_old: str = ""


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """The installed program of an agent."""

    path: Path
    version: Version

    @property
    def version_text(self) -> str:
        """The version as the program writes it."""
        return ".".join(map(str, self.version))


KINDS: Final = {
    kind.word: kind
    for kind in (
        AgentKind(
            "claude",
            "Claude Code",
            (2, 1, 325),
            (2, 1, 295),
            "it ignores onFailure, so a hook that fails would let the call run",
        ),
        AgentKind("codex", "Codex", (0, 166, 0)),
        AgentKind("gemini", "Gemini CLI", (0, 61, 0)),
        AgentKind("copilot", "Copilot CLI", (1, 0, 102)),
        AgentKind("opencode", "opencode", (1, 18, 33)),
    )
}
"""The agents, by the word that is used for them in commands."""


def find_program(kind: AgentKind, env: Mapping[str, str] = os.environ) -> AgentProgram:
    """The installed program and its version. Raises NoAgentProgram."""
    home = Path(env.get("HOME") or Path.home())
    path = shutil.which(kind.word, path=env.get("PATH", "")) or shutil.which(
        kind.word, path=os.pathsep.join([*(str(home / place) for place in _PLACES), *_SYSTEM_PLACES])
    )
    if path is None:
        hint = f"Install it, or add its folder to PATH. `aileron-tui setup {kind.word} --print` shows the settings."
        raise NoAgentProgram(f"{kind.title} is not installed", f"there is no program named {kind.word}", hint)
    return AgentProgram(Path(path).absolute(), _version(kind, path, env))


def version_problem(kind: AgentKind, version: Version) -> str:
    """Why this version cannot be put behind the gate, or ""."""
    if version >= kind.oldest:
        return ""
    wanted = ".".join(map(str, kind.oldest))
    return f"{kind.title} {'.'.join(map(str, version))} is too old: {kind.too_old}; {wanted} or newer is needed"


def version_note(kind: AgentKind, version: Version) -> str:
    """What to say about a version that is older than the one that was tried, or ""."""
    if version >= kind.tried:
        return ""
    tried, found = (".".join(map(str, numbers)) for numbers in (kind.tried, version))
    return f"{kind.title} {found} was not tried, but {tried} was; the call at the end of setup shows if it asks"


def own_command() -> tuple[str, ...]:
    """The words that start this program from anywhere, whatever the environment says.

    A project can change the environment of an agent's hooks. `-I` alone is not enough: Python 3.11 takes its standard
    library from where PYTHONEXECUTABLE leads, even then. So the hook starts without any variables.
    """
    return (ENV, "-i", str(Path(sys.executable).absolute()), "-I", "-m", _PACKAGE)


def check_command(command: tuple[str, ...]) -> None:
    """Checks that these words start this program. Raises NoOwnProgram."""
    hint = "Install aileron-tui in an environment of its own, for example with `uv tool install` or pipx."
    title = "the hook cannot be started"
    try:
        done = subprocess.run(  # noqa: S603  # this program
            [*command, "--version"],
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        words = "it did not answer in time" if isinstance(error, subprocess.TimeoutExpired) else str(error)
        raise NoOwnProgram(title, words, hint) from None
    if not done.stdout.startswith(b"aileron-tui "):
        said = done.stderr[:_LONGEST].decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise NoOwnProgram(title, f"{shell_words(command)} said: {said}", hint)


def shell_words(words: tuple[str, ...]) -> str:
    """Words as a line for a shell."""
    return join(words) if words else quote("")


def _version(kind: AgentKind, path: str, env: Mapping[str, str]) -> Version:
    with tempfile.TemporaryDirectory(prefix="aileron-version-") as folder:
        try:
            done = subprocess.run(  # noqa: S603  # the program that the user asked for
                [path, "--version"],
                cwd=folder,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            words = "it did not answer in time" if isinstance(error, subprocess.TimeoutExpired) else str(error)
            raise NoAgentProgram(f"{path} --version failed", words, f"Check that {kind.title} works.") from None
    said = done.stdout[:_LONGEST].decode("utf-8", "replace")
    found = _VERSION.search(said)
    if found is None:
        detail = f"it said {said.strip()[:80]!r}"
        raise NoAgentProgram(f"{path} does not say its version", detail, f"Check that {kind.title} works.")
    return tuple(map(int, found.groups()))
