"""Answer one hook event of a coding agent. Agents run this command; `aileron-tui setup` tells them to.

It reads the event on standard input, and writes one JSON object or exits with 2 and a reason on standard error.
"""

from typing import TYPE_CHECKING

from aileron_tui.doors.hook_process import AGENTS, DEFAULT_TIMEOUT, run

if TYPE_CHECKING:
    import argparse

__all__ = ["arguments", "run"]


def arguments(parser: "argparse.ArgumentParser") -> None:
    """Declares the command's arguments for its help. `run` reads the words itself, without a parser, which is slow."""
    parser.add_argument("agent", metavar="AGENT", choices=AGENTS, help=f"whose hook it is: {', '.join(AGENTS)}")
    parser.add_argument(
        "--agent", dest="name", metavar="NAME", help="the agent's name at the gate; default: the same word"
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=int,
        default=DEFAULT_TIMEOUT,
        help=f"the timeout in the agent's settings, before which it replies; default: {DEFAULT_TIMEOUT}",
    )
    parser.add_argument("--url", default="", help="the gate to ask; default: the gate of this home")
    parser.add_argument("--token-file", metavar="FILE", help="the agent's token file; default: that of the agent")
