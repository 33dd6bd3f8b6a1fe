"""What the cases need beside this package: Chromium from the system, playwright from PyPI and axe-core from npm."""

import base64
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / ".browser"
LIBRARIES: Final = FOLDER / "lib"
LOCK: Final = Path(__file__).with_name("requirements.txt")
AXE: Final = FOLDER / "axe.min.js"
AXE_URL: Final = "https://registry.npmjs.org/axe-core/-/axe-core-4.14.0.tgz"
AXE_HASH: Final = "9WTZxEjsZ7b13TH8JPmbV2z8CHbl80/2hm3XPEG4JgNdQLK81IBRXmSxHfMAOkSqQeRxT/0dwNDz2GOm3zzpcQ=="
VARIABLE: Final = "AILERON_CHROMIUM"

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_INSTALLERS: Final = {
    "apt-get": (("apt-get", "update", "-q"), ("apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium")),
    "dnf": (("dnf", "install", "-y", "chromium"),),
    "apk": (("apk", "add", "chromium"),),
    "pacman": (("pacman", "-Sy", "--noconfirm", "chromium"),),
}


def chromium() -> str:
    """The browser, "" if there is none."""
    named = os.environ.get(VARIABLE, "")
    return named or next(filter(None, map(shutil.which, _NAMES)), "")


def install() -> None:
    """Installs what is not there yet."""
    FOLDER.mkdir(exist_ok=True)
    _install_libraries()
    if not AXE.exists():
        AXE.write_bytes(_axe())
    if not chromium():
        _install_chromium()


def _install_libraries() -> None:
    mark, digest = LIBRARIES / "installed", hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if mark.exists() and mark.read_text() == digest:
        return
    shutil.rmtree(LIBRARIES, ignore_errors=True)
    uv = str(Path(sys.executable).with_name("uv"))
    options = ("--quiet", "--python", sys.executable, "--target", str(LIBRARIES), "--require-hashes")
    subprocess.run([uv, "pip", "install", *options, "-r", str(LOCK)], check=True)
    mark.write_text(digest)


def _axe() -> bytes:
    with urllib.request.urlopen(AXE_URL, timeout=60) as reply:
        archive = reply.read()
    if base64.b64encode(hashlib.sha512(archive).digest()).decode() != AXE_HASH:
        sys.exit(f"{AXE_URL} is not the file that it was")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        member = files.extractfile("package/axe.min.js")
        assert member is not None
        return member.read()


def _install_chromium() -> None:
    name = next(filter(shutil.which, _INSTALLERS), "")
    if not name:
        sys.exit(f"Chromium is not installed; install it, or name it in {VARIABLE}")
    before = () if os.geteuid() == 0 else ("sudo", "-n")
    for words in _INSTALLERS[name]:
        subprocess.run((*before, *words), check=True, stdin=subprocess.DEVNULL)
    if not chromium():
        sys.exit("Chromium could not be installed")
