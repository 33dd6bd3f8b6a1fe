"""Deny one waiting request. Nothing runs, and the agent gets the reason."""

import argparse

from aileron_tui.cli import answer_command, source_options
from aileron_tui.core.decision import Verdict


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    answer_command.arguments(parser)
    parser.add_argument("--reason", default="", help="the reason to give to the agent")
    parser.set_defaults(digest="")
    source_options.arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0 if denied, 1 if not, 5 if no longer waiting."""
    return answer_command.give_answer(options, Verdict.DENY)
