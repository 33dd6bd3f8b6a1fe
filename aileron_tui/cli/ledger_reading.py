"""Opening a ledger of this home to read it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aileron_tui.ledger.errors import LedgerDamaged
from aileron_tui.ledger.file_names import lock_path
from aileron_tui.ledger.lock_file import noted_head
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.ledger.store import LedgerReader


@contextmanager
def local_reader(path: Path, *, indexed: bool = False) -> Iterator[LedgerReader | None]:
    """A ledger, or None if nothing was ever recorded. If an index is needed, one from an older version is rebuilt."""
    if path.exists() or path.is_symlink():
        with open_reader(path) as reader:
            outdated = indexed and not reader.indexed()
            if not outdated:
                yield reader
        if outdated:
            from aileron_tui.ledger.open_store import open_ledger  # noqa: PLC0415  # only after an update of the program

            open_ledger(path, role="history", guest=True).close()
            with open_reader(path) as reader:
                yield reader
        return
    if noted := noted_head(lock_path(path)):
        raise LedgerDamaged(path, f"the file is missing; it had {noted.seq} entries")
    yield None
