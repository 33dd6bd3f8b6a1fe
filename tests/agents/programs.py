"""The programs of the agents: found in a cache folder, or installed there from the npm registry."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from aileron_tui.doors.agent_programs import KINDS

VARIABLE: Final = "AILERON_AGENTS"
PACKAGES: Final = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "copilot": "@github/copilot",
    "opencode": "opencode-ai",
}

_SCRIPTS: Final = {"claude": "install.cjs", "opencode": "postinstall.mjs"}
"""The scripts that put the program for this machine in its place. Scripts of other packages are not run."""

_SECONDS: Final = 600.0


class NotInstalled(Exception):
    """An agent that cannot be tried here, and why."""


def cache_folder() -> Path:
    """Where the agents are kept: `.agents` in the repository, or the folder that the variable names."""
    return Path(os.environ.get(VARIABLE) or Path(__file__).parents[2] / ".agents").absolute()


def version(word: str) -> str:
    """The version that `setup` was tried with, which is the one to try again."""
    return ".".join(map(str, KINDS[word].tried))


def program(word: str) -> Path:
    """The program of an agent in that version. Installs it if it is not there. Raises NotInstalled."""
    if shutil.which("node") is None:
        raise NotInstalled("node is not installed; Node.js 20 or newer is needed, with npm")
    return _found(word) or _installed(word)


def _found(word: str) -> Path | None:
    for described in sorted(cache_folder().glob(f"*/node_modules/{PACKAGES[word]}/package.json")):
        if json.loads(described.read_text())["version"] == version(word):
            modules = described.parents[len(Path(PACKAGES[word]).parts)]
            if _works(path := modules / ".bin" / word):
                return path
    return None


def _installed(word: str) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalled("npm is not installed, and the agent is not in the cache folder")
    folder, package = cache_folder() / word, f"{PACKAGES[word]}@{version(word)}"
    folder.mkdir(parents=True, exist_ok=True)
    options = ("--ignore-scripts", "--no-package-lock", "--no-save", "--no-audit", "--no-fund", "--loglevel=error")
    _run([npm, "install", "--prefix", str(folder), *options, package], folder, f"npm could not install {package}")
    if script := _SCRIPTS.get(word):
        _run(["node", script], folder / "node_modules" / PACKAGES[word], f"{package} has no program for this machine")
    if (path := _found(word)) is None:
        raise NotInstalled(f"{package} was installed, but {word} --version does not work")
    return path


def _works(path: Path) -> bool:
    try:
        done = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def _run(words: list[str], folder: Path, problem: str) -> None:
    try:
        done = subprocess.run(
            words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, text=True, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"{problem}: {error}") from None
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        raise NotInstalled(f"{problem}: {said[-300:]}")
