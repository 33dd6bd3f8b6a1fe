"""A copy of the bundled suite for a sample service on another port."""

import hashlib
from pathlib import Path

from aileron_tui.demo.errors import DemoError
from aileron_tui.demo.sample_service import DEFAULT_PORT, HOST
from aileron_tui.files.paths import bundled

_DEFAULT_ADDRESS = f"{HOST}:{DEFAULT_PORT}"


def pin(module: bytes, manifest: bytes) -> str:
    """Returns the hash that actions pin: over the module followed by its manifest."""
    return f"sha256:{hashlib.sha256(module + manifest).hexdigest()}"


def materialise(target: Path, port: int, source: Path | None = None) -> Path:
    """Writes a private copy of the suite that uses `port`, with updated pins; returns `target`.

    The pin of a connector covers its network grant, so a different port needs a different manifest and pin. The module
    stays the same, because the actions pass the address to it.
    """
    source = source or bundled("manifests")
    address = f"{HOST}:{port}"
    pins: dict[str, str] = {}
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=False)
        for manifest in sorted(source.glob("connectors/*/manifest.toml")):
            module = manifest.with_name("connector.wasm").read_bytes()
            old_manifest = manifest.read_bytes()
            new_manifest = old_manifest.replace(_DEFAULT_ADDRESS.encode(), address.encode())
            pins[pin(module, old_manifest)] = pin(module, new_manifest)
            folder = target / "connectors" / manifest.parent.name
            folder.mkdir(parents=True)
            (folder / "connector.wasm").write_bytes(module)
            (folder / "manifest.toml").write_bytes(new_manifest)
        (target / "actions").mkdir()
        for action in sorted(source.glob("actions/*.md")):
            text = action.read_text("utf-8").replace(_DEFAULT_ADDRESS, address)
            for old_pin, new_pin in pins.items():
                text = text.replace(old_pin, new_pin)
            (target / "actions" / action.name).write_text(text, "utf-8", newline="\n")
        (target / "suite.toml").write_bytes((source / "suite.toml").read_bytes())
    except OSError as error:
        raise DemoError(f"cannot copy the sample suite to {target}", str(error)) from error
    return target
