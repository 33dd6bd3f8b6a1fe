"""Show one request with the prompt the operator sees."""

import argparse
import sys

from aileron_tui.cli import source_options
from aileron_tui.cli.exit_codes import NOT_FOUND, OK
from aileron_tui.cli.output import print_error, print_json, print_lines
from aileron_tui.cli.request_lookup import ID_HELP, NoSuchRequest, find_waiting, wait_for_preview
from aileron_tui.cli.request_text import answer_commands, prompt_lines
from aileron_tui.core.request import Request
from aileron_tui.runtime.errors import NotFound
from aileron_tui.surface.source_connection import OpenSources


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("id", metavar="ID", help=ID_HELP)
    source_options.arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Returns 0 if shown, 5 if there is no such request."""
    with source_options.open_sources(options) as sources:
        try:
            request = wait_for_preview(sources, _find(sources, options.id))
        except NoSuchRequest as error:
            print_error(error)
            return NOT_FOUND
    if options.json:
        print_json(request.fields | {"edit": request.edit})
        return OK
    print_lines(*prompt_lines(request, sys.stdout))
    if request.state.decidable:
        print_lines("", *answer_commands(request))
    return OK


def _find(sources: OpenSources, id_: str) -> Request:
    """A waiting request, or one that ended a short while ago, by its full id."""
    try:
        return find_waiting(sources, id_)
    except NoSuchRequest as missing:
        try:
            return sources.find(id_)
        except NotFound:
            raise missing from None
