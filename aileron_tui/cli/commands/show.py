"""Show one request exactly as the operator is asked about it."""

import argparse
import sys

from aileron_tui.cli import OK, approver_session
from aileron_tui.cli.exit_codes import NOT_FOUND
from aileron_tui.core.request import Request
from aileron_tui.runtime.errors import NotFound
from aileron_tui.surface.source_connection import Sources


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("id", metavar="ID", help="its id, or enough of its beginning or end")
    approver_session.arguments(parser)
    parser.add_argument("--json", action="store_true", help="as one JSON document")


def run(options: argparse.Namespace) -> int:
    """0 if shown, 5 if there is no such request."""
    with approver_session.approver(options) as sources:
        try:
            try:
                item = approver_session.pick(sources, options.id)
            except approver_session.NoSuchRequest as missing:
                item = _ended(sources, options.id, missing)
        except approver_session.NoSuchRequest as error:
            approver_session.complain(error)
            return NOT_FOUND
        item = approver_session.settled(sources, item)
    if options.json:
        approver_session.say_json(item.fields | {"edit": item.edit})
        return OK
    approver_session.say(*approver_session.shown(item, sys.stdout))
    if item.state.decidable:
        approver_session.say("", *approver_session.hint(item))
    return OK


def _ended(sources: Sources, id_: str, missing: approver_session.NoSuchRequest) -> Request:
    """A request that was answered a short while ago can still be looked at by its whole id."""
    try:
        return sources.find(id_)
    except NotFound:
        raise missing from None
