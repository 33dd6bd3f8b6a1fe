"""Compiled modules on disk, so that a new process need not compile again.

A compiled module is native code that wasmtime runs as it is. The folder is therefore private to the user (0700, files
0600, owner checked on every read), names carry the module's hash and the wasmtime version, and each file has its
checksum beside it, so that a damaged or half-written file is compiled anew instead of run. The checksum is no defence
against the user's own processes: whoever can write here can already run code as this user.
"""

import hashlib
import logging
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Final

import wasmtime

from aileron_tui.files.private_files import PrivateFileError, private_folder, read_private, write_private

_KEPT_FILES: Final = 48
_LARGEST: Final = 1024 * 1024 * 1024

_log = logging.getLogger(__name__)


class CompileCache:
    """The compile cache in one private folder; a cache that cannot be used is only slower."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, engine: wasmtime.Engine, digest: str) -> wasmtime.Module | None:
        """The kept module, if it is there, whole, and made by this version for this machine."""
        code, seal = self._paths(digest)
        try:
            private_folder(self._folder)
            if not code.exists() or not seal.exists():
                return None
            expected = read_private(seal).decode("ascii", "replace").strip()
            if hashlib.sha256(read_private(code, _LARGEST)).hexdigest() != expected:
                _log.warning("compile cache: %s is damaged and will be made again", code.name)
                return None
            return wasmtime.Module.deserialize_file(engine, str(code))
        except (PrivateFileError, OSError, wasmtime.WasmtimeError) as error:
            _log.warning("compile cache: %s cannot be used (%s)", code.name, type(error).__name__)
            return None

    def keep(self, digest: str, data: bytes) -> None:
        """Keeps a compiled module for the next process."""
        code, seal = self._paths(digest)
        try:
            private_folder(self._folder)
            write_private(code, data, replace=True)
            write_private(seal, hashlib.sha256(data).hexdigest().encode(), replace=True)
            self._prune()
        except (PrivateFileError, OSError) as error:
            _log.warning("compile cache: %s cannot be kept (%s)", code.name, type(error).__name__)

    def _paths(self, digest: str) -> tuple[Path, Path]:
        name = f"{digest}-{version('wasmtime')}-{platform.machine()}"
        return self._folder / f"{name}.cwasm", self._folder / f"{name}.sha256"

    def _prune(self) -> None:
        newest_first = sorted(self._folder.glob("*.cwasm"), key=lambda path: path.stat().st_mtime, reverse=True)
        for code in newest_first[_KEPT_FILES:]:
            code.unlink(missing_ok=True)
            code.with_suffix(".sha256").unlink(missing_ok=True)
