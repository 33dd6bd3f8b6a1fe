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
from aileron_tui.files.paths import HOME_VARIABLE

Version = tuple[int, ...]

_VERSION: Final = re.compile(r"(?<![\d.])(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?![\d])")
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


def own_command(env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The words that start this program from anywhere, with the same home and nothing else of the environment.

    Settings of a project can set variables for hooks. With PYTHONPATH, its own file would answer instead.
    """
    started = Path(sys.argv[0])
    beside = Path(sys.executable).with_name("aileron-tui")
    if started.name == "aileron-tui" and started.is_absolute() and os.access(started, os.X_OK):
        words: tuple[str, ...] = (str(started),)
    elif os.access(beside, os.X_OK):
        words = (str(beside),)
    else:
        words = (sys.executable, "-m", "aileron_tui")
    kept = {"HOME": env.get("HOME") or str(Path.home())}
    if home := env.get(HOME_VARIABLE):
        kept[HOME_VARIABLE] = str(Path(home).expanduser().absolute())
    elif data := env.get("XDG_DATA_HOME"):
        kept["XDG_DATA_HOME"] = data
    return ("/usr/bin/env", "-i", *(f"{name}={value}" for name, value in kept.items()), *words)


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
