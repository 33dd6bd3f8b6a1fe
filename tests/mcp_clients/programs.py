"""The clients, installed into a folder of their own in exactly these versions."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
INSPECTOR: Final = "@modelcontextprotocol/inspector@2.12.0"
LOCK: Final = ROOT / "tools" / "mcp-clients.lock"
VARIABLE: Final = "AILERON_MCP_CLIENTS"


def folder() -> Path:
    """Where the clients are kept: `.mcp-clients` in the repository, or the folder that the variable names."""
    return Path(os.environ.get(VARIABLE) or ROOT / ".mcp-clients").absolute()


def old_sdk() -> Path:
    """The Python that has the older SDK."""
    return folder() / "sdk" / "bin" / "python"


def inspector() -> Path:
    """The program of the inspector."""
    return folder() / "inspector" / "node_modules" / ".bin" / "mcp-inspector"


def install() -> None:
    """Installs the clients that are not there yet."""
    uv = str(Path(sys.executable).with_name("uv"))
    if not old_sdk().exists():
        _run(uv, "venv", "--quiet", "--python", sys.executable, str(folder() / "sdk"))
    _run(uv, "pip", "install", "--quiet", "--python", str(old_sdk()), "--require-hashes", "-r", str(LOCK))
    if not inspector().exists():
        npm = shutil.which("npm") or sys.exit("npm is not installed; Node.js 20 or newer is needed")
        options = ("--ignore-scripts", "--no-package-lock", "--no-save", "--no-audit", "--no-fund", "--loglevel=error")
        _run(npm, "install", "--prefix", str(folder() / "inspector"), *options, INSPECTOR)


def _run(*words: str) -> None:
    folder().mkdir(parents=True, exist_ok=True)
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
