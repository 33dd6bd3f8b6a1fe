"""Deny one waiting request: nothing runs, and the agent is told why."""

import argparse

from aileron_tui.cli import answer_command, approver_session
from aileron_tui.core.decision import Verdict


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    answer_command.arguments(parser)
    parser.add_argument("--reason", default="", help="told to the agent")
    parser.set_defaults(digest="")
    approver_session.arguments(parser)


def run(options: argparse.Namespace) -> int:
    """0 if denied, 1 if not, 5 if it does not wait any more."""
    return answer_command.give(options, Verdict.DENY)
