"""List the waiting requests, oldest first."""

import argparse
import sys

from aileron_tui.cli import source_options
from aileron_tui.cli.exit_codes import OK
from aileron_tui.cli.output import print_json, print_lines
from aileron_tui.cli.request_text import list_lines, list_width
from aileron_tui.core.times import utc_now


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    source_options.arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Returns 0, even if nothing is waiting."""
    with source_options.open_sources(options) as sources:
        requests = sources.waiting()
    if options.json:
        print_json({"items": [request.fields for request in requests]})
        return OK
    now, width = utc_now(), list_width()
    for request in requests:
        print_lines(*list_lines(request, now, width))
    sys.stderr.write(f"{len(requests)} waiting\n" if requests else "nothing is waiting\n")
    return OK
