"""Writes the results of a history search to a file that only its owner can read."""

import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import IO

from aileron_tui.core.errors import AileronError
from aileron_tui.core.history_csv import HistoryCsvWriter
from aileron_tui.surface.history_records import HistoryPage, SourcedRecord


class ExportError(AileronError):
    """The file cannot be written."""


class FileExists(ExportError):
    """A file with this name already exists."""


class ExportFormat(StrEnum):
    """The format of the file, chosen by its extension."""

    JSONL = "JSON lines"
    CSV = "CSV"


def export_format(name: str) -> ExportFormat | None:
    """The format of a file with this name; None if the extension is not known."""
    return {".jsonl": ExportFormat.JSONL, ".csv": ExportFormat.CSV}.get(Path(name).suffix.lower())


def export(
    pages: Iterable[HistoryPage], path: Path, *, replace: bool = False, progress: Callable[[int], None] = lambda _: None
) -> int:
    """Writes every request of the pages, all or nothing; returns how many. Replaces a file only with `replace`."""
    wanted = export_format(path.name)
    if wanted is None:
        raise ExportError("unknown file extension", path.name, "Use .jsonl or .csv.")
    count = 0
    with _new_file(path, replace=replace) as out:
        write = _json_lines(out) if wanted is ExportFormat.JSONL else HistoryCsvWriter(out, SourcedRecord).write
        for page in pages:
            write(page.requests)
            count += len(page.requests)
            progress(count)
    return count


@contextmanager
def _new_file(path: Path, *, replace: bool) -> Iterator[IO[str]]:
    """A temporary file beside the wanted one, which gets its name once it is complete and on the disk."""
    if not replace and (path.exists() or path.is_symlink()):
        raise _exists(path)
    if path.is_symlink() or path.is_dir():
        raise ExportError("not a regular file", str(path), "Choose another name.")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as out:
            yield out
            out.flush()
            os.fsync(descriptor)
        if replace:
            temporary.replace(path)
        else:
            os.link(temporary, path, follow_symlinks=False)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ExportError("cannot write the file", f"{path}: {why}", "Choose another folder or name.") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _exists(path: Path) -> FileExists:
    return FileExists("the file already exists", str(path), "Choose another name, or replace the file.")


def _json_lines(out: IO[str]) -> Callable[[Iterable[SourcedRecord]], None]:
    def write(records: Iterable[SourcedRecord]) -> None:
        # Everything but ASCII is escaped, so that printing the file cannot affect a terminal.
        out.writelines(json.dumps(asdict(record), separators=(",", ":")) + "\n" for record in records)

    return write
