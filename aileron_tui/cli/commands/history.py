"""The ledger: look back, search, check that nothing was changed, take it elsewhere."""

import argparse
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Final

from aileron_tui.cli import FAILED, OK
from aileron_tui.cli.output import columns
from aileron_tui.core.edits import arg_rows, paired
from aileron_tui.core.entry_chain import ChainFault, Damage, Entry, EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonObject, plain
from aileron_tui.core.outcomes import EDITED_ELSEWHERE, ELSEWHERE, ending, unknown_outcome
from aileron_tui.core.prompt import EDITED, row_lines
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment, timestamp
from aileron_tui.core.visible_text import Visible, block, cells, clip, inline, wrap
from aileron_tui.ledger import history_pages
from aileron_tui.ledger.entry_check import CheckReport, verify
from aileron_tui.ledger.errors import LedgerDamaged, LedgerError
from aileron_tui.ledger.export import Exported, write_csv, write_jsonl
from aileron_tui.ledger.file_names import lock_path
from aileron_tui.ledger.full_check import audit, audit_export
from aileron_tui.ledger.head import Head, read_head
from aileron_tui.ledger.history_filter import ALL, PAGE, HistoryFilter
from aileron_tui.ledger.lock_file import noted_head
from aileron_tui.ledger.store import LedgerReader, is_ledger, open_ledger, open_reader, set_aside
from aileron_tui.surface import local_ledgers

NOT_FOUND: Final = 5

_AGO: Final = re.compile(r"(\d{1,5})([mhdw])", re.ASCII)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_WIDE: Final = 100
_SOURCE: Final = "the ledger of this daemon instead of the gate's"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    _filters(parser)
    parser.add_argument("--limit", type=_positive, default=PAGE, help=f"at most so many ({PAGE})")
    parser.add_argument("--before", type=_positive, help="only requests older than this number (`next` of --json)")
    parser.add_argument("--json", action="store_true", help="as one JSON document")
    parser.add_argument("--source", metavar="NAME", help=_SOURCE)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    show = commands.add_parser("show", help="everything about one request")
    show.add_argument("id", help="its id")
    head = commands.add_parser("head", help="the head of the chain, to keep elsewhere")
    check = commands.add_parser("verify", help="check chain, sequence, signatures, keys, and that nothing ran twice")
    check.add_argument("file", metavar="FILE", nargs="?", help="an export or a ledger; this home's ledger if none")
    check.add_argument("--against", metavar="HEAD", type=_head, help="a head kept earlier, which must be in the chain")
    for reading in (show, head, check):
        reading.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="as one JSON document")
    export = commands.add_parser("export", help="the whole ledger as JSON lines, or a table of requests as CSV")
    export.add_argument("--format", choices=("jsonl", "csv"), default="jsonl", help="jsonl can be verified (jsonl)")
    export.add_argument("--output", metavar="FILE", help="a new file; standard output if none")
    _filters(export)
    aside = commands.add_parser("set-aside", help="keep a damaged ledger under another name and begin a new one")
    rebuild = commands.add_parser("rebuild", help="build the history and its search anew from the entries")
    for command in (show, head, check, export, aside, rebuild):
        command.add_argument("--source", metavar="NAME", default=argparse.SUPPRESS, help=_SOURCE)


def _filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--search", metavar="TEXT", default="", help="words that must occur; `word*` for a beginning")
    parser.add_argument("--since", metavar="WHEN", type=_when, help="a date, a time, or 30m, 12h, 7d, 2w ago")
    parser.add_argument("--until", metavar="WHEN", type=_when, help="as --since; not included")
    outcomes = [state.value for state in RequestState]
    parser.add_argument("--outcome", action="append", default=[], choices=outcomes, help="may be given several times")
    parser.add_argument("--surface", action="append", default=[], help="may be given several times")
    parser.add_argument("--action", action="append", default=[], help="may be given several times")


def run(options: argparse.Namespace) -> int:
    """0 if fine, 1 if something failed or the ledger is damaged, 5 if there is no such request."""
    if options.command == "verify" and options.file is not None:
        return _verify(Path(options.file), options.against, as_json=options.json, foreign=True)
    path = local_ledgers.chosen(options.source)
    match options.command:
        case "show":
            return _show(path, options.id, as_json=options.json)
        case "head":
            return _print_head(path, as_json=options.json)
        case "verify":
            return _verify(path, options.against, as_json=options.json, source=options.source or "")
        case "export":
            return _export(path, options)
        case "set-aside":
            folder = set_aside(path)
            sys.stdout.write(f"the old ledger is in {inline(str(folder))}\n")
            if path == local_ledgers.gate():
                sys.stdout.write("enrol the keys again: aileron-tui key enroll\n")
        case "rebuild":
            with open_ledger(path, role="history rebuild") as ledger:
                ledger.rebuild_index()
            sys.stdout.write("history and search were built anew\n")
        case _:
            return _list(path, options)
    return OK


@contextmanager
def _reading(path: Path, *, history: bool = False) -> Iterator[LedgerReader | None]:
    """A ledger of this home, or None where nothing was ever recorded.

    The `history` in a ledger of an older version is made anew; the entries themselves can be read as they are.
    """
    if path.exists() or path.is_symlink():
        with open_reader(path) as reader:
            if history and not reader.indexed():
                open_ledger(path, role="history", guest=True).close()
            yield reader
        return
    if noted := noted_head(lock_path(path)):
        raise LedgerDamaged(path, f"the file is missing; its last entry was {noted.seq}")
    yield None


def _wanted(options: argparse.Namespace) -> HistoryFilter:
    return HistoryFilter(
        options.search,
        options.since or "",
        options.until or "",
        tuple(options.outcome),
        tuple(options.surface),
        tuple(options.action),
    )


def _list(path: Path, options: argparse.Namespace) -> int:
    wanted = _wanted(options)
    with _reading(path, history=True) as reader:
        records = reader.page(wanted, before=options.before, limit=options.limit) if reader else ()
    more = records[-1].seq if len(records) == options.limit else None
    if options.json:
        _print_json({"requests": [_fields(record) for record in records], "next": more})
        return OK
    width = shutil.get_terminal_size().columns
    for record in records:
        sys.stdout.write("".join(f"{line}\n" for line in _row(record, width)))
    if not records:
        sys.stderr.write("nothing recorded yet\n" if wanted == ALL and not options.before else "nothing found\n")
    elif more is not None:
        sys.stderr.write(f"older ones: --before {more}\n")
    return OK


def _fields(record: HistoryRecord) -> JsonObject:
    return asdict(record) | {"signed": bool(record.signer)}


def _row(record: HistoryRecord, width: int) -> list[str]:
    """One line where it fits, else two: what and how it ended first, then when, who, where and how long it took."""
    glyph, word = _ended(record)
    took = "" if record.took is None else f"decided in {_span(record.took)}"
    signed = "signed" if record.signer else "not signed" if record.surface == ELSEWHERE else ""
    parts = (record.id, record.agent, record.surface, took, signed, record.reason or record.error)
    details = " · ".join(inline(part) for part in parts if part)
    line = Visible(f"{_local(record.asked)}  {glyph} {word:<15}  {inline(record.action)}  {details}")
    if width >= _WIDE and cells(line) <= width:
        return [line]
    first = Visible(f"{glyph} {word}  {inline(record.action)}")
    return [clip(first, width), f"  {clip(Visible(f'{_local(record.asked)} · {details}'), max(width - 2, 10))}"]


def _ended(record: HistoryRecord) -> tuple[str, str]:
    glyph, word = ending(record, datetime.now(UTC))
    return glyph, inline(word)


def _local(asked: str) -> str:
    """A time of the ledger in the person's own zone."""
    try:
        return moment(asked).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return inline(asked)


def _span(seconds: float) -> str:
    for limit, unit, size in ((60, "s", 1), (3600, "min", 60), (86400, "h", 3600)):
        if seconds < limit:
            return f"{seconds / size:.1f} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:.0f} d"


def _show(path: Path, request: str, *, as_json: bool) -> int:
    with _reading(path, history=True) as reader:
        record = reader.find(request) if reader else None
        if reader is None or record is None:
            sys.stderr.write(f"error: there is no request {inline(request)}\n")
            return NOT_FOUND
        entries = reader.of_request(request)
        signature = _signature(record, entries, reader.key_changes())
        edit = history_pages.edit(record, entries)
    if as_json:
        steps: list[JsonObject] = [
            {"seq": entry.seq, "time": entry.time, "kind": entry.kind, "body": entry.body} for entry in entries
        ]
        _print_json({**_fields(record), "signature": signature, "edit": edit, "entries": [*steps]})
        return OK
    glyph, word = _ended(record)
    _print_line(f"{glyph} {word}: {inline(record.action)}", " " * 14)
    about = {
        "id": record.id,
        "kind": record.kind,
        "connector": record.connector,
        "agent": record.agent,
        "risk": record.risk,
        "surface": record.surface,
        "decided in": "" if record.took is None else _span(record.took),
        "reason": record.reason,
        "error": record.error,
        "signature": signature,
        "news": unknown_outcome(record, datetime.now(UTC)),
        "edited": "" if not record.edited else EDITED if edit else EDITED_ELSEWHERE,
    }
    for name, value in about.items():
        if value:
            _print_line(f"  {name:<10}  {inline(value)}", " " * 14)
    if edit:
        sys.stdout.write("".join(f"{line}\n" for line in _edit_lines(edit)))
    for entry in entries:
        sys.stdout.write("\n")
        _print_line(f"{entry.seq}  {inline(entry.time)}  {inline(entry.kind)}", " " * 14)
        shown = {name: value for name, value in entry.body.items() if name != "envelope"}
        for line in block(plain(shown)) if shown else ():
            _print_line(f"  > {line}", "  > ")
    return OK


def _edit_lines(edit: JsonObject) -> Iterator[Visible]:
    """All inputs of an edited call, with the sign of what was changed in the first column."""
    asked, approved = edit["asked"], edit["approved"]
    if isinstance(asked, dict) and isinstance(approved, dict):
        yield from row_lines(paired(arg_rows(approved), arg_rows(asked)), columns(sys.stdout))


def _print_line(line: str, hang: str) -> None:
    """A line that holds foreign text, wrapped where a terminal would let it go on in the first column."""
    sys.stdout.write("".join(f"{row}\n" for row in wrap(Visible(line), columns(sys.stdout), hang)))


def _signature(record: HistoryRecord, entries: tuple[Entry, ...], changes: tuple[Entry, ...]) -> str:
    """Whether the decision that counted was signed by a key that might, in words."""
    from aileron_tui.signing.recorded_signers import RecordedSigners  # noqa: PLC0415  # signatures are not needed to list

    decided = next((entry for entry in reversed(entries) if entry.kind == EntryKind.DECIDED), None)
    if record.surface == ELSEWHERE:
        late = "; an answer from here came too late" if decided else ""
        return f"none: answered elsewhere, not signed{late}"
    if decided is None:
        return "none: not decided"
    signers = RecordedSigners()
    for change in changes:
        if change.seq < decided.seq:
            signers.learn(change)
    statement, text = signers.check(decided.body.get("envelope"))
    if isinstance(statement, Damage):
        return f"BAD: {text}"
    if statement.request != decided.request:
        return f"BAD: it was made for request {statement.request}"
    approver = signers.approvers[text]
    return f"good, by {approver.name} ({text}{', insecure: no passphrase' if approver.insecure else ''})"


def _print_head(path: Path, *, as_json: bool) -> int:
    with _reading(path) as reader:
        head = reader.head() if reader else Head()
    if as_json:
        _print_json({"seq": head.seq, "hash": head.hash})
    else:
        sys.stdout.write(f"{head}\n")
    return OK


def _verify(path: Path, against: Head | None, *, as_json: bool, foreign: bool = False, source: str = "") -> int:
    from aileron_tui.signing.recorded_signers import RecordedSigners  # noqa: PLC0415  # needs cryptography

    expected = [against] if against else []
    signers = RecordedSigners()
    if not foreign:
        with _reading(path) as reader:
            report = audit(reader, signers, expected) if reader else verify((), signers, expected)
    elif is_ledger(path):
        with open_reader(path, foreign=True) as reader:
            report = audit(reader, signers, expected)
    else:
        report = audit_export(Exported(path), signers, expected)
    names = {fingerprint: approver.name for fingerprint, approver in signers.approvers.items()}
    if as_json:
        _print_json(_report(report, names))
    else:
        _print_report(report, names, source)
    return FAILED if report.fault else OK


def _report(report: CheckReport, names: dict[str, str]) -> JsonObject:
    fault = report.fault
    return {
        "good": fault is None,
        "entries": report.entries,
        "head": str(report.head),
        "decisions": [
            {"key": fingerprint, "name": names.get(fingerprint, ""), "count": count}
            for fingerprint, count in report.decisions.items()
        ],
        "fault": _fault(fault) if fault else None,
        "notes": list(report.notes),
    }


def _fault(fault: ChainFault) -> JsonObject:
    return {"entry": fault.seq, "damage": fault.damage.name.lower(), "words": fault.damage, "detail": fault.detail}


def _print_report(report: CheckReport, names: dict[str, str], source: str) -> None:
    if report.fault:
        fault = report.fault
        sys.stdout.write(f"DAMAGED at entry {fault.seq}: {fault.damage}\n  {inline(fault.detail)}\n")
        sys.stdout.write(f"  good up to {report.head}\n")
        if fault.damage is Damage.INDEX:
            rebuild = f"aileron-tui history rebuild{f' --source {inline(source)}' if source else ''}"
            sys.stdout.write(f"  The entries are whole. `{rebuild}` makes the history from them anew.\n")
        return
    sys.stdout.write(f"good: {_counted(report.entries, 'entry', 'entries')}\n  head {report.head}\n")
    for fingerprint, count in report.decisions.items():
        sys.stdout.write(
            f"  {count:,} decisions signed by {inline(names.get(fingerprint, '?'))} ({inline(fingerprint)})\n"
        )
    for note in report.notes:
        sys.stderr.write(f"note: {inline(note)}\n")


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _export(ledger: Path, options: argparse.Namespace) -> int:
    wanted = _wanted(options)
    if options.format == "jsonl" and wanted != ALL:
        raise LedgerError(
            "a part of the ledger cannot be verified",
            "filters work with --format csv only",
            "Export all of it as jsonl, or the part as csv.",
        )
    if options.format == "jsonl" and options.output is None and sys.stdout.isatty():
        raise LedgerError(
            "an export may carry control characters a terminal would obey",
            hint="Give --output FILE, or send it into a pipe.",
        )
    with _reading(ledger, history=options.format == "csv") as reader:
        if reader is None:
            raise LedgerError("nothing recorded yet", hint="There is nothing to export.")
        if options.output is None:
            try:
                _write(reader, options.format, wanted, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            except BrokenPipeError:
                raise
            except OSError as error:
                raise LedgerError("cannot write the export", str(error.strerror)) from None
            return OK
        path = Path(options.output)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LedgerError("cannot write the export", f"{path}: {error.strerror}") from None
        try:
            with os.fdopen(descriptor, "wb") as out:
                _write(reader, options.format, wanted, out)
                out.flush()
                os.fsync(descriptor)
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise LedgerError("cannot write the export", f"{path}: {error.strerror}") from None
            raise
    sys.stderr.write(f"written to {inline(str(path))}\n")
    return OK


def _write(reader: LedgerReader, kind: str, wanted: HistoryFilter, out: IO[bytes]) -> None:
    if kind == "jsonl":
        write_jsonl(reader, out, datetime.now(UTC))
    else:
        write_csv(reader.every(wanted), out)


def _print_json(document: JsonObject) -> None:
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not int(text[:18]) > 0:
        raise argparse.ArgumentTypeError("a number from 1 on is needed")
    return int(text[:18])


def _head(text: str) -> Head:
    try:
        return read_head(text)
    except LedgerError as error:
        raise argparse.ArgumentTypeError(f"{error.title}. {error.hint}") from None


def _when(text: str) -> str:
    """A moment as entries write it, from a date, a time or a span back from now."""
    try:
        if found := _AGO.fullmatch(text):
            return timestamp(datetime.now(UTC) - timedelta(**{_UNITS[found[2]]: int(found[1])}))
        return timestamp(datetime.fromisoformat(text).astimezone(UTC))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a date (2026-05-12) nor a span (7d, 12h)") from None
