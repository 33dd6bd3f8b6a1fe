"""Exports the ledger as JSON lines or as events of OCSF, or requests as CSV."""

import argparse
import io
import os
import sys
from pathlib import Path
from typing import IO

from aileron_tui import __version__
from aileron_tui.cli.exit_codes import OK
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.core.history_csv import HistoryCsvWriter
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.export import write_jsonl, write_ocsf
from aileron_tui.ledger.history_filter import ALL, HistoryFilter
from aileron_tui.ledger.store import LedgerReader


def run(ledger: Path, options: argparse.Namespace, wanted: HistoryFilter) -> int:
    """Writes the export to a new file or to standard output."""
    if options.format != "csv" and wanted != ALL:
        raise LedgerError(
            "a part of the ledger cannot be verified",
            "filters work with --format csv only",
            f"Export the whole ledger as {options.format}, or a part as csv.",
        )
    if options.format == "jsonl" and options.output is None and sys.stdout.isatty():
        raise LedgerError(
            "an export may contain control characters that affect your terminal",
            hint="Use --output FILE, or a pipe.",
        )
    with local_reader(ledger, indexed=options.format != "jsonl") as reader:
        if reader is None:
            raise LedgerError("nothing recorded yet", hint="There is nothing to export.")
        if options.output is None:
            _write_stdout(reader, options.format, wanted)
        else:
            _write_file(reader, options.format, wanted, Path(options.output))
    return OK


def _write_stdout(reader: LedgerReader, kind: str, wanted: HistoryFilter) -> None:
    try:
        _write(reader, kind, wanted, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise LedgerError("cannot write the export", str(error.strerror)) from None


def _write_file(reader: LedgerReader, kind: str, wanted: HistoryFilter, path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise LedgerError("cannot write the export", f"{path}: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as out:
            _write(reader, kind, wanted, out)
            out.flush()
            os.fsync(descriptor)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise LedgerError("cannot write the export", f"{path}: {error.strerror}") from None
        raise
    sys.stderr.write(f"wrote {inline(str(path))}\n")


def _write(reader: LedgerReader, kind: str, wanted: HistoryFilter, out: IO[bytes]) -> None:
    if kind == "jsonl":
        write_jsonl(reader, out, utc_now())
        return
    if kind == "ocsf":
        write_ocsf(reader, out, __version__)
        return
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    HistoryCsvWriter(text).write(reader.every(wanted))
    text.detach()
