"""Compiled modules cached on disk, so that a new process does not have to compile them again.

A compiled module is native code that wasmtime runs unchecked. The folder is therefore private to the user (0700, files
0600, owner checked on every read). File names include the module's hash and the wasmtime version, and a checksum file
is stored next to each module, so that a damaged or half-written file is recompiled instead of run. The checksum does
not protect against the user's own processes: anything that can write here can already run code as this user.
"""

import hashlib
import logging
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Final

import wasmtime

from aileron_tui.files.private_files import PrivateFileError, private_folder, read_private, write_private

_MAX_FILES: Final = 48
_MAX_SIZE: Final = 1024 * 1024 * 1024

_log = logging.getLogger(__name__)


class CompileCache:
    """The compile cache in one private folder. If it cannot be used, modules are compiled every time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, engine: wasmtime.Engine, digest: str) -> wasmtime.Module | None:
        """Returns the cached module if it is undamaged and was built by this wasmtime version for this machine."""
        code_file, checksum_file = self._paths(digest)
        try:
            private_folder(self._folder)
            if not code_file.exists() or not checksum_file.exists():
                return None
            expected = read_private(checksum_file).decode("ascii", "replace").strip()
            if hashlib.sha256(read_private(code_file, _MAX_SIZE)).hexdigest() != expected:
                _log.warning("compile cache: %s is damaged and will be recompiled", code_file.name)
                return None
            return wasmtime.Module.deserialize_file(engine, str(code_file))
        except (PrivateFileError, OSError, wasmtime.WasmtimeError) as error:
            _log.warning("compile cache: cannot read %s (%s)", code_file.name, type(error).__name__)
            return None

    def store(self, digest: str, data: bytes) -> None:
        """Stores a compiled module for later processes."""
        code_file, checksum_file = self._paths(digest)
        try:
            private_folder(self._folder)
            write_private(code_file, data, replace=True)
            write_private(checksum_file, hashlib.sha256(data).hexdigest().encode(), replace=True)
            self._prune()
        except (PrivateFileError, OSError) as error:
            _log.warning("compile cache: cannot write %s (%s)", code_file.name, type(error).__name__)

    def _paths(self, digest: str) -> tuple[Path, Path]:
        name = f"{digest}-{version('wasmtime')}-{platform.machine()}"
        return self._folder / f"{name}.cwasm", self._folder / f"{name}.sha256"

    def _prune(self) -> None:
        newest_first = sorted(self._folder.glob("*.cwasm"), key=lambda path: path.stat().st_mtime, reverse=True)
        for code_file in newest_first[_MAX_FILES:]:
            code_file.unlink(missing_ok=True)
            code_file.with_suffix(".sha256").unlink(missing_ok=True)
