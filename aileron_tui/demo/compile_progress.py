"""How far the sample connectors are compiled, as the files in the compile cache show."""

import hashlib
from importlib.metadata import version
from pathlib import Path

from aileron_tui.files.paths import bundled


class CompileProgress:
    """Watches the cache from outside, so it does not matter which process compiles. Nothing is ever read from it."""

    def __init__(self, cache: Path, manifests: Path | None = None) -> None:
        modules = sorted((manifests or bundled("manifests")).glob("connectors/*/connector.wasm"))
        self._cache = cache
        self._digests = {path.parent.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in modules}
        self._suffix = f"-{version('wasmtime')}-*.sha256"  # written after the module itself

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the connectors that are not compiled yet."""
        return tuple(name for name, digest in self._digests.items() if not self._is_compiled(digest))

    def words(self) -> str:
        """What is done and what is not, on one short line."""
        missing = self.missing
        return ", ".join(f"{name}: {'compiling' if name in missing else 'ready'}" for name in self._digests)

    def _is_compiled(self, digest: str) -> bool:
        return next(self._cache.glob(digest + self._suffix), None) is not None
