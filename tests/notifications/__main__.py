"""Installs what is missing and runs the cases: `python -m tests.notifications`. Options are passed on to pytest."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = {"dbus-daemon": "dbus-daemon", "dunst": "dunst", "Xvfb": "xvfb"}
"""The programs that are needed, and the packages of Debian and Ubuntu that have them."""


def install() -> None:
    """Installs the missing packages, or says which ones are missing."""
    missing = [package for program, package in PACKAGES.items() if not shutil.which(program)]
    if not missing:
        return
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        sys.exit(f"Install these packages first: {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run([apt, "update", "-qq"], check=False, env=environment)
    subprocess.run([apt, "install", "-y", "-qq", "--no-install-recommends", *missing], check=True, env=environment)


if __name__ == "__main__":
    install()
    cases = str(Path(__file__).with_name("cases.py"))
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", cases, *sys.argv[1:]]
    sys.exit(subprocess.run(command, cwd=Path(__file__).parents[2], check=False).returncode)
