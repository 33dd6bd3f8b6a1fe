"""Builds the sample connectors reproducibly, and updates the pins of the actions.

`python -m tools.connectors` builds and writes; `--check` builds in a temporary folder and compares. Both need exactly
the Go version `GO_VERSION`, which tools/connectors.lock installs. It is looked for in `$GO`, beside this Python, and on
the path.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

GO_VERSION: Final = "go1.26.6"
MANIFESTS: Final = Path(__file__).resolve().parent.parent / "manifests"
CONNECTORS: Final = ("mail", "files")
SUMS: Final = MANIFESTS / "source" / "SHA256SUMS"

_FLAGS = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=")
_NAME = re.compile(r'^name = "([^"]+)"$', re.MULTILINE)
_PIN = re.compile(
    r'(?P<before>^\[\[requires\.connectors\]\]\nname = "(?P<name>[^"]+)"\nversion = "[^"]+"\nhash = ")'
    r'(?P<pin>[^"]*)(?=")',
    re.MULTILINE,
)


class ToolchainMissing(Exception):
    """The pinned Go version was not found; the message says what was."""


def find_go() -> Path:
    """Returns the path of the pinned Go compiler."""
    candidates = [os.environ.get("GO", ""), str(Path(sys.executable).with_name("go")), shutil.which("go") or ""]
    seen = []
    for candidate in candidates:
        if candidate and Path(candidate).is_file():
            version = _version(Path(candidate))
            if version == GO_VERSION:
                return Path(candidate)
            seen.append(f"{candidate} is {version}")
    raise ToolchainMissing(f"{GO_VERSION} is required; {', '.join(seen) or 'no Go was found'}")


def build(go: Path, connector: str, target: Path) -> None:
    """Compiles one connector. The caller's environment does not affect the result."""
    with tempfile.TemporaryDirectory() as cache:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "SystemRoot", "TEMP") if name in os.environ}
        subprocess.run(
            [go, "build", *_FLAGS, "-o", target, f"./{connector}"],
            cwd=MANIFESTS / "source",
            env={
                **kept,
                "GOOS": "wasip1",
                "GOARCH": "wasm",
                "CGO_ENABLED": "0",
                "GOENV": "off",
                "GOFLAGS": "-mod=readonly",
                "GOPROXY": "off",
                "GOTOOLCHAIN": "local",
                "GOWORK": "off",
                "GOCACHE": os.environ.get("GOCACHE", cache),
            },
            check=True,
        )
    target.chmod(0o644)


def pins() -> dict[str, str]:
    """Returns the hash of each committed connector (module, then manifest) by its full name."""
    found = {}
    for connector in CONNECTORS:
        folder = MANIFESTS / "connectors" / connector
        manifest = (folder / "manifest.toml").read_bytes()
        name = _NAME.search(manifest.decode())
        if name is None:
            raise ValueError(f"{folder / 'manifest.toml'} does not name a connector")
        digest = hashlib.sha256((folder / "connector.wasm").read_bytes() + manifest)
        found[name[1]] = f"sha256:{digest.hexdigest()}"
    return found


def sums() -> str:
    """Returns checksums of sources and modules, as `sha256sum` writes them, to notice a forgotten rebuild."""
    sources = [MANIFESTS / "source" / "go.mod", *MANIFESTS.glob("source/*/*.go")]
    modules = [MANIFESTS / "connectors" / connector / "connector.wasm" for connector in CONNECTORS]
    return "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  ../{file.relative_to(MANIFESTS).as_posix()}\n"
        for file in (*sorted(sources), *modules)
    )


def repinned(text: str, hashes: dict[str, str]) -> str:
    """Returns an action's text with the current pins of its connectors."""
    return _PIN.sub(lambda found: found["before"] + hashes[found["name"]], text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds or checks all connectors; returns 1 if something is out of date."""
    parser = argparse.ArgumentParser(prog="python -m tools.connectors", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with what is committed; write nothing")
    options = parser.parse_args(arguments)
    try:
        go = find_go()
    except ToolchainMissing as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    stale = []
    for connector in CONNECTORS:
        committed = MANIFESTS / "connectors" / connector / "connector.wasm"
        with tempfile.TemporaryDirectory() as folder:
            built = Path(folder) / "connector.wasm"
            build(go, connector, built)
            data = built.read_bytes()
        if not options.check:
            committed.write_bytes(data)
        elif not committed.is_file() or committed.read_bytes() != data:
            stale.append(str(committed.relative_to(MANIFESTS)))
        print(f"{connector}: {len(data):,} bytes, sha256:{hashlib.sha256(data).hexdigest()}")
    hashes = pins()
    for action in sorted(MANIFESTS.glob("actions/*.md")):
        text = action.read_text("utf-8")
        if (new := repinned(text, hashes)) == text:
            continue
        if options.check:
            stale.append(str(action.relative_to(MANIFESTS)))
        else:
            action.write_text(new, "utf-8", newline="\n")
    if not options.check:
        SUMS.write_text(sums(), "utf-8", newline="\n")
    elif SUMS.read_text("utf-8") != sums():
        stale.append(str(SUMS.relative_to(MANIFESTS)))
    for name in stale:
        print(f"out of date: {name}", file=sys.stderr)
    return 1 if stale else 0


def _version(go: Path) -> str:
    asked = subprocess.run(
        [go, "env", "GOVERSION"],
        env={**os.environ, "GOTOOLCHAIN": "local", "GOENV": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip() or "not working"


if __name__ == "__main__":
    sys.exit(main())
