"""Takes what a search of the history finds to a file that only its owner can read."""

import csv
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from enum import StrEnum
from pathlib import Path
from typing import IO, Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.visible_text import inline
from aileron_tui.surface.history_records import HistoryPage, SourcedRecord

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


class ExportError(AileronError):
    """The file cannot be written."""


class FileExists(ExportError):
    """There is a file of this name already."""


class ExportFormat(StrEnum):
    """What the file holds, by the end of its name."""

    JSONL = "JSON lines"
    CSV = "CSV"


def form(name: str) -> ExportFormat | None:
    """What a file of this name would hold; None if its name does not say."""
    return {".jsonl": ExportFormat.JSONL, ".csv": ExportFormat.CSV}.get(Path(name).suffix.lower())


def export(
    pages: Iterable[HistoryPage], path: Path, *, replace: bool = False, progress: Callable[[int], None] = lambda _: None
) -> int:
    """Writes every request of the pages, all or nothing; returns how many. Never replaces a file unasked."""
    kind = form(path.name)
    if kind is None:
        raise ExportError("the name does not say what the file holds", path.name, "End it in .jsonl or .csv.")
    count = 0
    with _draft(path, replace=replace) as out:
        write = _csv_writer(out) if kind is ExportFormat.CSV else _json_writer(out)
        for page in pages:
            for request in page.requests:
                write(request)
            count += len(page.requests)
            progress(count)
    return count


@contextmanager
def _draft(path: Path, *, replace: bool) -> Iterator[IO[str]]:
    """A new file beside the wanted one, which takes its name once it is whole and on the disk."""
    if not replace and (path.exists() or path.is_symlink()):
        raise FileExists("there is a file of this name", str(path), "Choose another name, or replace it.")
    if path.is_symlink() or path.is_dir():
        raise ExportError("this is not an ordinary file", str(path), "Choose another name.")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as out:
            yield out
            out.flush()
            os.fsync(descriptor)
        if replace:
            draft.replace(path)
        else:
            os.link(draft, path, follow_symlinks=False)
    except FileExistsError:
        raise FileExists("there is a file of this name", str(path), "Choose another name, or replace it.") from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ExportError("the file cannot be written", f"{path}: {why}", "Choose another folder or name.") from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _json_writer(out: IO[str]) -> Callable[[SourcedRecord], None]:
    def write(request: SourcedRecord) -> None:
        # Everything but ASCII is escaped, so that showing the file in a terminal does nothing to it.
        out.write(json.dumps(asdict(request), separators=(",", ":")) + "\n")

    return write


def _csv_writer(out: IO[str]) -> Callable[[SourcedRecord], None]:
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(column.name for column in fields(SourcedRecord))

    def write(request: SourcedRecord) -> None:
        writer.writerow(map(_cell, asdict(request).values()))

    return write


def _cell(value: object) -> str:
    """A value as a spreadsheet must show it: text is never a formula and holds no control character."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    text = inline(value)
    return f"'{text}" if value.lstrip(" ").startswith(_FORMULA) else text
