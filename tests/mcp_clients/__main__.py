"""Installs the clients and runs the cases: `python -m tests.mcp_clients`. Options are passed on to pytest."""

import subprocess
import sys
from pathlib import Path

from tests.mcp_clients.programs import ROOT, install

if __name__ == "__main__":
    install()
    cases = str(Path(__file__).with_name("cases.py"))
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", cases, *sys.argv[1:]]
    sys.exit(subprocess.run(command, cwd=ROOT, check=False).returncode)
