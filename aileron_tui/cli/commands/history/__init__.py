"""Show, search, verify, back up, restore and export the history."""

import argparse
import sys
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Final

from aileron_tui.cli.exit_codes import OK
from aileron_tui.core.errors import AileronError
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import Config
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.head import Head, read_head
from aileron_tui.ledger.history_filter import PAGE, HistoryFilter
from aileron_tui.surface.history_query import (
    OUTCOMES,
    HistorySearch,
    SearchError,
    read_outcome,
    read_search,
    read_when,
)
from aileron_tui.surface.local_ledgers import choose_ledger, gate_ledger

_SOURCE: Final = "use the ledger of this daemon, or of the gate (--source gate); default: the source in use"
_REPEAT: Final = "; can be repeated"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    _filters(parser)
    limit = f"show at most this many requests; default: {PAGE}"
    parser.add_argument("--limit", metavar="NUMBER", type=_positive, default=PAGE, help=limit)
    before = "show requests older than this number (`next` in --json)"
    parser.add_argument("--before", metavar="NUMBER", type=_positive, help=before)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--source", metavar="NAME", help=_SOURCE)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    show = commands.add_parser("show", help="show everything about one request")
    show.add_argument("id", metavar="ID", help="the request's id")
    show.add_argument(
        "--preview", action="store_true", help="show the preview too, if it was kept; asks for your passphrase"
    )
    head = commands.add_parser("head", help="print the head of the chain, to store elsewhere")
    verify = commands.add_parser("verify", help="check the chain, signatures and keys, and that nothing ran twice")
    verify.add_argument("file", metavar="FILE", nargs="?", help="an export or a ledger file; default: this ledger")
    verify.add_argument("--against", metavar="HEAD", type=_head, help="an earlier head that must be in the chain")
    verify.add_argument(
        "--all", action="store_true", help="check every entry again, also those that were checked before"
    )
    for command in (show, head, verify):
        command.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    backup = commands.add_parser("backup", help="copy the ledger to a new file, also while the gate runs")
    backup.add_argument("file", metavar="FILE", help="the new file")
    backup.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    restore = commands.add_parser("restore", help="replace the gate's ledger by a backup; the gate must not run")
    restore.add_argument("file", metavar="FILE", help="a backup, or another ledger file")
    restore.add_argument("--key", metavar="NAME", help="your key to sign with; required if there are several")
    restore.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    export = commands.add_parser("export", help="export the ledger as JSON lines or OCSF, or the requests as CSV")
    export.add_argument(
        "--format",
        choices=("jsonl", "csv", "ocsf"),
        default="jsonl",
        help="default: jsonl, which can be verified; ocsf: events of OCSF 1.9, one per line",
    )
    export.add_argument("--output", metavar="FILE", help="a new file; default: standard output")
    _filters(export)
    reduce = commands.add_parser(
        "reduce", help="remove contents older than [ledger] keep, as a running gate does by itself; it must not run"
    )
    reduce.add_argument("--keep", metavar="SPAN", help="instead of [ledger] keep: days or weeks, such as 365d or 52w")
    reduce.add_argument("--dry-run", action="store_true", help="only say what would be removed; the gate may run")
    reduce.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    set_aside = commands.add_parser("set-aside", help="move a damaged ledger aside and start a new one")
    rebuild = commands.add_parser("rebuild", help="rebuild the search index from the entries")
    for command in (show, head, verify, backup, restore, reduce, export, set_aside, rebuild):
        command.add_argument("--source", metavar="NAME", default=argparse.SUPPRESS, help=_SOURCE)


def _filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--search",
        metavar="TEXT",
        default="",
        help="words to find (word* for a prefix), since:tuesday, until:2026-05-12, outcome:approved, agent:, action:,"
        " surface:, source:",
    )
    when = "a date, a time, a weekday, today, yesterday, or how long ago: 30m, 12h, 7d, 2w"
    parser.add_argument("--since", metavar="WHEN", type=_time, help=when)
    until = "like --since; that time itself is not included"
    parser.add_argument("--until", metavar="WHEN", type=_time, help=until)
    outcome = f"{', '.join(OUTCOMES)}; approved finds all that was allowed{_REPEAT}"
    parser.add_argument("--outcome", metavar="OUTCOME", action="append", default=[], type=_outcome, help=outcome)
    parser.add_argument("--agent", action="append", default=[], help=f"the name of the agent's token{_REPEAT}")
    parser.add_argument("--surface", action="append", default=[], help=f"where it was answered{_REPEAT}")
    parser.add_argument("--action", action="append", default=[], help=f"the action's name{_REPEAT}")


def run(options: argparse.Namespace) -> int:
    """Returns 0 on success, 1 if something failed or the ledger is damaged, 5 if there is no such request."""
    if options.command == "verify" and options.file is not None:
        from aileron_tui.cli.commands.history import verify  # noqa: PLC0415  # needs cryptography

        return verify.run_on_file(Path(options.file), options)
    search = read_search(getattr(options, "search", ""), utc_now())
    source = _source(options.source, search)
    chosen = choose_ledger(source, _config())
    if chosen.note:
        sys.stderr.write(f"{inline(chosen.note)}\n")
    return _run(options, chosen.path, search, source or "")


def _run(options: argparse.Namespace, ledger: Path, search: HistorySearch, source: str) -> int:
    # Each subcommand loads only what it needs.
    match options.command:
        case "show":
            from aileron_tui.cli.commands.history import show  # noqa: PLC0415

            return show.run(ledger, options)
        case "head":
            from aileron_tui.cli.commands.history import head  # noqa: PLC0415

            return head.run(ledger, options)
        case "verify":
            from aileron_tui.cli.commands.history import verify  # noqa: PLC0415

            return verify.run(ledger, options, source)
        case "backup":
            from aileron_tui.cli.commands.history import backup  # noqa: PLC0415

            return backup.run(ledger, options)
        case "restore":
            from aileron_tui.cli.commands.history import restore  # noqa: PLC0415

            return restore.run(ledger, options)
        case "reduce":
            from aileron_tui.cli.commands.history import reduce  # noqa: PLC0415

            return reduce.run(ledger, options)
        case "export":
            from aileron_tui.cli.commands.history import export  # noqa: PLC0415

            return export.run(ledger, options, _filter(options, search))
        case "set-aside":
            _set_aside(ledger)
        case "rebuild":
            _rebuild(ledger)
        case _:
            from aileron_tui.cli.commands.history import list  # noqa: A004, PLC0415  # named after the command

            return list.run(ledger, options, _filter(options, search))
    return OK


def _config() -> Config:
    """The configuration. The history can be read even if there is an error in it."""
    try:
        return load_config(paths().config)
    except AileronError:
        return Config()


def _source(option: str | None, search: HistorySearch) -> str | None:
    """The source to search: each has a ledger of its own here."""
    names = {*search.sources, *(() if option is None else (option,))}
    if len(names) > 1:
        raise SearchError("only one source can be searched at a time", hint="Search in the console to combine sources.")
    return next(iter(names), None)


def _filter(options: argparse.Namespace, search: HistorySearch) -> HistoryFilter:
    """What both the search text and the options ask for."""
    from aileron_tui.core.times import timestamp  # noqa: PLC0415  # only for requests

    since = max((at for at in (options.since, search.since) if at), default=None)
    until = min((at for at in (options.until, search.until) if at), default=None)
    return HistoryFilter(
        " ".join(search.words),
        timestamp(since) if since else "",
        timestamp(until) if until else "",
        tuple(dict.fromkeys((*chain(*options.outcome), *search.outcomes))),
        (*options.surface, *search.surfaces),
        (*options.action, *search.actions),
        (*options.agent, *search.agents),
    )


def _set_aside(ledger: Path) -> None:
    from aileron_tui.ledger.open_store import set_aside  # noqa: PLC0415

    folder = set_aside(ledger)
    sys.stdout.write(f"moved the old ledger to {inline(str(folder))}\n")
    if ledger == gate_ledger():
        sys.stdout.write("enroll the keys again: aileron-tui key enroll\n")


def _rebuild(ledger: Path) -> None:
    from aileron_tui.cli.progress import Progress  # noqa: PLC0415
    from aileron_tui.ledger.open_store import open_ledger  # noqa: PLC0415

    with open_ledger(ledger, role="history rebuild") as opened, Progress("read {} of {} entries") as progress:
        opened.rebuild_index(progress)
    sys.stdout.write("rebuilt the search index\n")


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not int(text[:18]) > 0:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return int(text[:18])


def _head(text: str) -> Head:
    try:
        return read_head(text)
    except LedgerError as error:
        raise argparse.ArgumentTypeError(f"{error.title}. {error.hint}") from None


def _outcome(text: str) -> tuple[str, ...]:
    try:
        return read_outcome(text)
    except SearchError as error:
        raise argparse.ArgumentTypeError(f"{error.title}. {error.hint}") from None


def _time(text: str) -> datetime:
    try:
        return read_when(text, utc_now())
    except SearchError as error:
        raise argparse.ArgumentTypeError(f"{error.title}. {error.hint}") from None
