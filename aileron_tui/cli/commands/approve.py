"""Approve one waiting request. It runs once, with exactly the inputs shown, and its outcome is printed."""

import argparse

from aileron_tui.cli import answer_command, outcome_waiting, source_options
from aileron_tui.core.decision import Verdict


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    answer_command.arguments(parser)
    parser.add_argument("--reason", default="", help="a reason to keep in the history")
    parser.add_argument("--digest", default="", help="approve only if the prompt has this digest (see `show`)")
    default, longest = outcome_waiting.DEFAULT_SECONDS, outcome_waiting.LONGEST_SECONDS
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=outcome_waiting.seconds,
        default=default,
        help=f"how long to wait for the outcome, at most {longest}; default: {default}",
    )
    source_options.arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0 if done, 1 if not approved or failed, 5 if changed or answered, 6 if unknown, 75 if still running."""
    return answer_command.give_answer(options, Verdict.APPROVE)
