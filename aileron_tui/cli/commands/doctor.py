"""Check the setup, from the terminal to the daemon, and suggest fixes."""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.cli.output import columns, counted, print_json
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.visible_text import Visible, cells, inline, wrap

if TYPE_CHECKING:
    from aileron_tui.cli.machine_checks import Check

_GLYPHS: Final = {"ok": "✓", "warn": "!", "fail": "✗"}
_COLOURS: Final = {"ok": "", "warn": "\x1b[33m", "fail": "\x1b[31m"}
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"
_NARROW: Final = 60
_WIDEST_LABEL: Final = 24


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--start-servers", action="store_true", help="also start MCP servers, to compare their tools")
    parser.add_argument("--alerts", action="store_true", help="also show a notification and send a webhook message")


def run(options: argparse.Namespace) -> int:
    """Returns 0 if no check failed, 1 otherwise. Warnings are not failures."""
    from aileron_tui.signing.secret_memory import protect_process  # noqa: PLC0415  # not needed for `--help`

    protect_process()
    checks = list(_checks(options.start_servers, options.alerts))
    failures = sum(check.status == "fail" for check in checks)
    warnings = sum(check.status == "warn" for check in checks)
    if options.json:
        print_json({"checks": [_fields(check) for check in checks], "failed": failures, "warnings": warnings})
    else:
        _print(checks)
        sys.stdout.write(f"\n{_summary(failures, warnings)}\n")
    return FAILED if failures else OK


def _checks(starts: bool, sends: bool) -> "Iterator[Check]":
    from aileron_tui.cli import machine_checks  # noqa: PLC0415  # loads nearly everything
    from aileron_tui.cli.account_checks import accounts  # noqa: PLC0415
    from aileron_tui.cli.agent_checks import agents  # noqa: PLC0415
    from aileron_tui.cli.alert_checks import alerts  # noqa: PLC0415
    from aileron_tui.cli.bundle_checks import bundle  # noqa: PLC0415
    from aileron_tui.cli.connection_checks import connections  # noqa: PLC0415
    from aileron_tui.cli.mcp_checks import mcp  # noqa: PLC0415
    from aileron_tui.cli.metrics_checks import metrics  # noqa: PLC0415
    from aileron_tui.cli.network_checks import network  # noqa: PLC0415
    from aileron_tui.cli.security_key_checks import security_keys  # noqa: PLC0415
    from aileron_tui.files.paths import paths  # noqa: PLC0415

    here = paths()
    check, config = machine_checks.configuration(here.config)
    yield machine_checks.program()
    yield machine_checks.terminal(os.environ)
    yield from machine_checks.multiplexer(os.environ, config)
    yield check
    yield from machine_checks.folders(here)
    yield machine_checks.signing_keys(here)
    yield from security_keys(here, config)
    yield from bundle(here, config)
    yield from network(os.environ, config)
    yield from accounts(here)
    yield from machine_checks.ledgers(here)
    yield from connections(config)
    if config:
        yield from alerts(config, sends=sends)
        yield from metrics(config)
    yield from agents(here)
    yield from mcp(here, starts=starts)


def _fields(check: "Check") -> JsonObject:
    return {"id": check.id, "status": check.status, "words": check.words, "detail": check.detail, "fix": check.fix}


def _print(checks: "list[Check]") -> None:
    width = columns(sys.stdout)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    stacked = 0 < width < _NARROW
    label_width = min(max(cells(_label(check)) for check in checks), _WIDEST_LABEL)
    hang = "  " if stacked else " " * (label_width + 4)
    for check in checks:
        colour_code = _COLOURS[check.status] if colour else ""
        head = f"{_GLYPHS[check.status]} {_label(check)}"
        gap = "" if stacked else " " * max(label_width + 4 - cells(head), 2)
        if stacked:
            _write(wrap(Visible(head), width, hang), colour_code)
        rows = list(_wrapped(inline(check.words), f"{head}{gap}" if not stacked else hang, hang, width))
        _write(rows, colour_code)
        for line in check.detail.split("\n") if check.detail else ():
            _write(_wrapped(inline(line), hang, f"{hang}  ", width), _DIM if colour else "")
        if check.fix and check.status != "ok":
            _write(_wrapped(inline(check.fix), f"{hang}→ ", f"{hang}  ", width), "")


def _label(check: "Check") -> str:
    return inline(check.id.replace(".", " "))


def _write(rows: Iterable[str], colour_code: str) -> None:
    for row in rows:
        sys.stdout.write(f"{colour_code}{row}{_PLAIN}\n" if colour_code else f"{row}\n")


def _wrapped(text: Visible, first: str, hang: str, width: int) -> Iterator[str]:
    """A line wrapped between words; a word that is longer than a row is broken at its end."""
    row = first
    empty = True
    for word in text.split(" "):
        space = "" if empty else " "
        if width and not empty and cells(row) + 1 + cells(word) > width:
            yield row
            row, space = hang, ""
        *full, row = wrap(Visible(f"{row}{space}{word}"), width, hang)
        yield from full
        empty = False
    yield row


def _summary(failures: int, warnings: int) -> str:
    words = f"{failures} failed" if failures else "nothing failed"
    return f"{words}, {counted(warnings, 'warning')}" if warnings else words
