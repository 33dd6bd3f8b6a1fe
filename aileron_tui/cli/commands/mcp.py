"""Serve the actions of the gate to an MCP client, on standard input and output. MCP clients start this command."""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from aileron_tui.core.agent_names import is_agent_name
from aileron_tui.core.errors import AileronError

DEFAULT_AGENT: Final = "mcp"
DEFAULT_HOLD: Final = 240
LONGEST_HOLD: Final = 86_400

BY_HAND: Final = (
    "This is an MCP server, which an MCP client starts: it expects messages on standard input. ctrl+d ends it.\n"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "--agent", metavar="NAME", default=DEFAULT_AGENT, help=f"the agent's name at the gate; default: {DEFAULT_AGENT}"
    )
    parser.add_argument(
        "--hold",
        metavar="SECONDS",
        type=_seconds,
        default=DEFAULT_HOLD,
        help="how long a call may wait before it is answered with an id for its result; must be shorter than the "
        f"client's timeout; default: {DEFAULT_HOLD}",
    )
    parser.add_argument(
        "--data", metavar="DIR", type=Path, help="the data folder of the gate, whatever the environment says"
    )
    parser.add_argument("--url", default="", help="the gate to call; default: the gate of this home")
    parser.add_argument(
        "--token-file", metavar="FILE", type=Path, help="the agent's token file; default: that of the agent"
    )


def run(options: argparse.Namespace) -> int:
    """Returns 0 once the client has gone, 1 if the server cannot start, 130 if it was interrupted."""
    if not is_agent_name(options.agent):
        raise AileronError("--agent is not a valid name of an agent", options.agent)
    if find_spec("mcp") is None:
        raise AileronError("the MCP server needs the package mcp, which is not installed", hint=_hint())
    try:
        from aileron_tui.doors.action_calls import GateAccess  # noqa: PLC0415
        from aileron_tui.doors.mcp_server import serve  # noqa: PLC0415  # the SDK takes a second to load
        from aileron_tui.doors.mcp_stdio import take_standard_streams  # noqa: PLC0415
    except ImportError as error:
        detail = f"the installed version does not fit: {error}"
        raise AileronError("the package mcp cannot be used", detail, _hint()) from None
    if sys.stdin.isatty():
        sys.stderr.write(BY_HAND)
    access = GateAccess(options.agent, options.data, options.url, options.token_file)
    return serve(access, options.hold, take_standard_streams())


def _hint() -> str:
    from aileron_tui.files.extras import install_command  # noqa: PLC0415  # only if it is missing

    return f"Install it with `{install_command('mcp')}`."


def _seconds(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6 or not 1 <= int(text) <= LONGEST_HOLD:
        raise argparse.ArgumentTypeError(f"must be a whole number of seconds from 1 to {LONGEST_HOLD:,}")
    return int(text)
