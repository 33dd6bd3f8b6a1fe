"""The ledgers of this home: the gate's, and one for each daemon that a console was connected to."""

import sys
from pathlib import Path

from aileron_tui.core.visible_text import inline
from aileron_tui.files.paths import paths
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.file_names import DAEMONS, FILE, lock_path
from aileron_tui.ledger.lock_file import noted_head


def gate() -> Path:
    """The gate's, which may not exist yet."""
    return paths().data / FILE


def daemons() -> dict[str, Path]:
    """Those of daemons by the names of their sources, also one of which only the note beside it is left."""
    folders = sorted((paths().data / DAEMONS).glob("*/"))
    return {folder.name: folder / FILE for folder in folders if _recorded(folder / FILE)}


def chosen(source: str | None) -> Path:
    """The one that is meant: a daemon's by its name, else the gate's, else the only one there is."""
    found = daemons()
    if source is None and _recorded(gate()):
        if found:
            sys.stderr.write(f"this is the gate's; for daemons see --source: {inline(', '.join(found))}\n")
        return gate()
    if source is not None:
        if source not in found:
            detail = f"there are {', '.join(found)}" if found else "nothing was recorded of any daemon yet"
            hint = "Without --source it is the gate's history."
            raise LedgerError(f"nothing was recorded of a daemon named {source}", detail, hint)
        return found[source]
    if len(found) == 1:
        name, path = next(iter(found.items()))
        sys.stderr.write(f"no gate recorded anything here; this is the ledger of {inline(name)}\n")
        return path
    if found:
        sys.stderr.write(f"there are ledgers of daemons, see --source: {inline(', '.join(found))}\n")
    return gate()


def _recorded(path: Path) -> bool:
    return path.exists() or path.is_symlink() or noted_head(lock_path(path)) is not None
