"""The connector of the skeleton in C, compiled and stored, so that tests need no compiler.

`make skeletons` compiles it again and updates `tests/fixtures/notes` if the sources have changed.
"""

import hashlib
from pathlib import Path

from aileron_tui.packages.new_repository import new_repository

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "fixtures" / "notes"
MODULE = FOLDER / "connector.wasm"
SUMS = FOLDER / "SHA256SUMS"
SOURCE = ROOT / "skeletons" / "c" / "connector"


def sums() -> str:
    """Checksums of the sources and of the module, as `sha256sum` writes them, to notice a forgotten rebuild."""
    files = [*sorted(SOURCE.iterdir()), MODULE]
    return "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(ROOT).as_posix()}\n" for file in files
    )


def built_repository(folder: Path) -> Path:
    """A new repository with the stored module, as if it was built there."""
    new_repository(folder, "", "c")
    (folder / "connector" / MODULE.name).write_bytes(MODULE.read_bytes())
    return folder
