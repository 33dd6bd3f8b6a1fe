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
    """An agent that can be put behind the gate.

    `oldest` is the first version that can be closed, and `tried` the version that all this was tried with.
    """

    word: str
    title: str
    program: str
    oldest: Version
    too_old: str
    tried: Version


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
            "claude",
            (2, 1, 295),
            "it ignores onFailure, so a hook that fails would let the call run",
            (2, 1, 325),
        ),
        AgentKind("codex", "Codex", "codex", (0, 150, 0), "its hooks cannot answer permission requests", (0, 166, 0)),
        AgentKind("gemini", "Gemini CLI", "gemini", (0, 26, 0), "its hooks are off by default", (0, 61, 0)),
        AgentKind("copilot", "Copilot CLI", "copilot", (1, 0, 0), "its hooks were not tried", (1, 0, 102)),
        AgentKind("opencode", "opencode", "opencode", (1, 1, 0), "its permissions have another form", (1, 18, 33)),
    )
}
"""The agents, by the word that is used for them in commands."""


def find_program(kind: AgentKind, env: Mapping[str, str] = os.environ) -> AgentProgram:
    """The installed program and its version. Raises NoAgentProgram."""
    home = Path(env.get("HOME") or Path.home())
    path = shutil.which(kind.program, path=env.get("PATH", "")) or shutil.which(
        kind.program, path=os.pathsep.join([*(str(home / place) for place in _PLACES), *_SYSTEM_PLACES])
    )
    if path is None:
        hint = f"Install it, or add its folder to PATH. `aileron-tui setup {kind.word} --print` shows the settings."
        raise NoAgentProgram(f"{kind.title} is not installed", f"there is no program named {kind.program}", hint)
    return AgentProgram(Path(path).absolute(), _version(kind, path, env))


def version_problem(kind: AgentKind, version: Version) -> str:
    """Why this version cannot be put behind the gate, or ""."""
    if version >= kind.oldest:
        return ""
    wanted = ".".join(map(str, kind.oldest))
    return f"{kind.title} {'.'.join(map(str, version))} is too old: {kind.too_old}; {wanted} or newer is needed"


def own_command(env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The words that start this program from anywhere, with the same home."""
    started = Path(sys.argv[0])
    beside = Path(sys.executable).with_name("aileron-tui")
    if started.name == "aileron-tui" and started.is_absolute() and os.access(started, os.X_OK):
        words: tuple[str, ...] = (str(started),)
    elif os.access(beside, os.X_OK):
        words = (str(beside),)
    else:
        words = (sys.executable, "-m", "aileron_tui")
    if home := env.get(HOME_VARIABLE):
        return ("/usr/bin/env", f"{HOME_VARIABLE}={Path(home).expanduser().absolute()}", *words)
    return words


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
