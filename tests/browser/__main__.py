"""Installs what is missing and runs the cases: `python -m tests.browser`. Options are passed on to pytest."""

import os
import subprocess
import sys
from pathlib import Path

from tests.browser.programs import LIBRARIES, ROOT, install

if __name__ == "__main__":
    install()
    cases = sorted(map(str, Path(__file__).parent.glob("*_cases.py")))
    command = [sys.executable, "-m", "pytest", "-q", "-n", "4", *cases, *sys.argv[1:]]
    paths = os.pathsep.join((str(ROOT), str(LIBRARIES)))
    sys.exit(subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, check=False).returncode)
