"""Backs up a ledger: a consistent copy in one file, verified before it gets its name."""

import errno
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from aileron_tui.files.private_files import sync_folder
from aileron_tui.ledger.entry_check import CheckReport
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.ledger.quick_check import QuickCheck
from aileron_tui.ledger.store import LedgerReader
from aileron_tui.signing.recorded_signers import RecordedSigners

Progress = Callable[[int, int], None]

_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})


def back_up(reader: LedgerReader, path: Path, copying: Progress, checking: Progress) -> CheckReport:
    """Copies a ledger to a new file, and returns what verifying the copy found. A bad copy is deleted."""
    if path.exists() or path.is_symlink():
        raise _exists(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        reader.copy_to(draft, copying)
        with open_reader(draft, foreign=True) as copy:
            report, _ = QuickCheck(RecordedSigners, None, checking).run(copy)
        if report.fault is None:
            _name(draft, path)
    except OSError as error:
        raise LedgerError("cannot write the backup", f"{path}: {error.strerror}", "Choose another file.") from None
    finally:
        draft.unlink(missing_ok=True)
    return report


def _name(draft: Path, path: Path) -> None:
    """Gives the copy its name, unless there is such a file by now."""
    try:
        os.link(draft, path, follow_symlinks=False)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():
            raise _exists(path) from None
        draft.rename(path)  # a file system without links, such as that of a memory stick
    sync_folder(path.parent)


def _exists(path: Path) -> LedgerError:
    return LedgerError("the file already exists", str(path), "Choose another name.")
