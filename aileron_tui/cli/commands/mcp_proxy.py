"""Put an MCP server behind the gate. MCP clients run this command in place of the server.

Every call of a tool is asked about, unless a rule allows it. Everything else is passed on unchanged. Run
`aileron-tui setup mcp` first: it makes the token, pins the server's tools, and prints the entry for your client.
"""

import argparse
import sys
from pathlib import Path
from typing import Final

from aileron_tui.cli.commands.mcp import BY_HAND
from aileron_tui.doors.mcp_proxy_process import DEFAULT_HOLD, ProxyOptions, bearer_from, run_proxy
from aileron_tui.files.paths import paths

_LONGEST_HOLD: Final = 3600


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--name", required=True, help="the name that the server was set up with")
    parser.add_argument("--url", default="", metavar="URL", help="the address of a server that is reached over HTTP")
    parser.add_argument(
        "--bearer-env", default="", metavar="VARIABLE", help="the environment variable with the token for that server"
    )
    parser.add_argument(
        "--hold",
        type=_seconds,
        default=DEFAULT_HOLD,
        metavar="SECONDS",
        help="how long a call waits before the agent is told to make it again to go on waiting; less than the timeout "
        f"of the client; default: {DEFAULT_HOLD}",
    )
    parser.add_argument("--data", metavar="DIR", help="the data folder of the gate, whatever the environment says")
    parser.add_argument("--gate", default="", metavar="URL", help="the gate to ask; default: the gate of this home")
    parser.add_argument("--token-file", metavar="FILE", help="the token file; default: that of the server's agent")
    parser.add_argument(
        "command", metavar="COMMAND", nargs="*", help="the server's command, after `--`; default: that of the setup"
    )


def run(options: argparse.Namespace) -> int:
    """Runs until the client or the server is gone; returns the exit code of the server."""
    if sys.stdin.isatty():
        sys.stderr.write(BY_HAND)
    return run_proxy(
        ProxyOptions(
            options.name,
            Path(options.data) if options.data else paths().data,
            tuple(options.command),
            options.url,
            options.hold,
            bearer_from(options.bearer_env),
            options.gate,
            Path(options.token_file) if options.token_file else None,
        )
    )


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= _LONGEST_HOLD):
        raise argparse.ArgumentTypeError(f"must be a whole number of seconds from 1 to {_LONGEST_HOLD:,}")
    return int(text)
