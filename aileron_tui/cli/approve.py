"""Approve one waiting request: it then runs once, with exactly the inputs shown."""

import argparse

from aileron_tui.cli import answer, approver
from aileron_tui.core.decision import Verdict


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    answer.arguments(parser)
    parser.add_argument("--reason", default="", help="kept in the history")
    parser.add_argument("--digest", default="", help="approve only if the prompt still has this digest (see `show`)")
    approver.arguments(parser)


def run(options: argparse.Namespace) -> int:
    """0 if approved, 1 if not, 5 if it does not wait any more."""
    return answer.give(options, Verdict.APPROVE)
