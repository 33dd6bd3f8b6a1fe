"""The bundled suite, made ready for a sample service on another port."""

import hashlib
from pathlib import Path

from aileron_tui.demo.errors import DemoError
from aileron_tui.demo.sample_service import DEFAULT_PORT, HOST
from aileron_tui.files.paths import bundled

_WRITTEN = f"{HOST}:{DEFAULT_PORT}"


def pin(module: bytes, manifest: bytes) -> str:
    """The hash that actions pin: over the module immediately followed by its manifest."""
    return f"sha256:{hashlib.sha256(module + manifest).hexdigest()}"


def materialise(target: Path, port: int, source: Path | None = None) -> Path:
    """Write a private copy of the suite that speaks to `port`, with the pins that follow from it; returns `target`.

    A connector's grant is part of what its pin covers, so another port means another manifest and another pin. The
    module stays the same: it is told the address by the actions.
    """
    source = source or bundled("manifests")
    address = f"{HOST}:{port}"
    pins: dict[str, str] = {}
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=False)
        for manifest in sorted(source.glob("connectors/*/manifest.toml")):
            module = manifest.with_name("connector.wasm").read_bytes()
            before = manifest.read_bytes()
            after = before.replace(_WRITTEN.encode(), address.encode())
            pins[pin(module, before)] = pin(module, after)
            folder = target / "connectors" / manifest.parent.name
            folder.mkdir(parents=True)
            (folder / "connector.wasm").write_bytes(module)
            (folder / "manifest.toml").write_bytes(after)
        (target / "actions").mkdir()
        for action in sorted(source.glob("actions/*.md")):
            text = action.read_text("utf-8").replace(_WRITTEN, address)
            for before_pin, after_pin in pins.items():
                text = text.replace(before_pin, after_pin)
            (target / "actions" / action.name).write_text(text, "utf-8", newline="\n")
        (target / "suite.toml").write_bytes((source / "suite.toml").read_bytes())
    except OSError as error:
        raise DemoError(f"the sample suite cannot be copied to {target}", str(error)) from error
    return target
