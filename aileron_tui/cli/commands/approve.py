"""Approve one waiting request: it then runs once, with exactly the inputs shown. Says how that ended."""

import argparse

from aileron_tui.cli import answer_command, answer_following, approver_session
from aileron_tui.core.decision import Verdict


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    answer_command.arguments(parser)
    parser.add_argument("--reason", default="", help="kept in the history")
    parser.add_argument("--digest", default="", help="approve only if the prompt still has this digest (see `show`)")
    words = f"how long to wait for its end, 0 to {answer_following.LONGEST}; usually {answer_following.USUAL}"
    parser.add_argument(
        "--wait", metavar="SECONDS", type=answer_following.seconds, default=answer_following.USUAL, help=words
    )
    approver_session.arguments(parser)


def run(options: argparse.Namespace) -> int:
    """0 done, 1 not approved or failed, 5 changed or not waiting any more, 75 approved and still running."""
    return answer_command.give(options, Verdict.APPROVE)
