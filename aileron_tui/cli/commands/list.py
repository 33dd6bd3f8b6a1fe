"""Show what waits for an answer, oldest first."""

import argparse
import sys
from datetime import UTC, datetime

from aileron_tui.cli import OK, approver_session


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    approver_session.arguments(parser)
    parser.add_argument("--json", action="store_true", help="as one JSON document")


def run(options: argparse.Namespace) -> int:
    """0, also if nothing waits."""
    with approver_session.approver(options) as sources:
        items = sources.waiting()
    if options.json:
        approver_session.say_json({"items": [item.fields for item in items]})
        return OK
    now, width = datetime.now(UTC), approver_session.width()
    for item in items:
        approver_session.say(*approver_session.row(item, now, width))
    sys.stderr.write(f"{len(items)} waiting\n" if items else "nothing is waiting\n")
    return OK
