"""Tries real MCP servers: `python -m tests.mcp_servers`. Further words are options of pytest, such as `-k memory`."""

import subprocess
import sys
from pathlib import Path

from tests.mcp_servers.programs import NPM, PYPI, NotInstalled, program


def main(words: list[str]) -> int:
    """Installs the servers and runs all cases; returns 1 if one failed or a server cannot be installed."""
    for name in (*NPM, *PYPI):
        try:
            sys.stdout.write(f"{program(name)}\n")
        except NotInstalled as error:
            sys.stderr.write(f"{name} cannot be installed: {error}\n")
            return 1
    files = sorted(str(path) for path in Path(__file__).parent.glob("*_cases.py"))
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *files, *words], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
