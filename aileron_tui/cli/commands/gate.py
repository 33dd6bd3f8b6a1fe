"""Run the gate without a console. Agents call it, and operators answer from other terminals."""

import argparse
import asyncio
import sys
from pathlib import Path

from aileron_tui.cli.exit_codes import OK
from aileron_tui.doors.claude_route import claude_routes
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.gate.server import DEFAULT_HOST, DEFAULT_PORT, ListenAddress
from aileron_tui.gate.server import run as serve
from aileron_tui.page.offer import make_page
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.surface.embedded_gate import gate_setup
from aileron_tui.surface.gate_channels import gate_channels


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "--port",
        type=_port,
        default=DEFAULT_PORT,
        help=f"the port to listen on, 0 for any free one; default: {DEFAULT_PORT}",
    )
    parser.add_argument("--host", default=DEFAULT_HOST, help=f"the address to listen on; default: {DEFAULT_HOST}")
    parser.add_argument("--allow-remote", action="store_true", help="allow an address that other machines can reach")
    parser.add_argument("--manifests", metavar="DIR", type=Path, help="the manifests; default: the bundled ones")
    parser.add_argument("--log-json", action="store_true", help="write the log as JSON lines")


def run(options: argparse.Namespace) -> int:
    """Returns 0 after a clean stop, 1 if it cannot start."""
    protect_process()
    setup = gate_setup(load_config(paths().config), options.manifests)
    log = GateLog(sys.stderr, as_json=options.log_json)
    address = ListenAddress(options.host, options.port, options.allow_remote)
    gate = Gate(setup)
    gate.use_channels(gate_channels(gate, setup.config))
    asyncio.run(
        serve(
            gate,
            setup.data,
            address,
            output=sys.stdout,
            gate_log=log,
            own_process=True,
            doors=claude_routes,
            page=make_page,
        )
    )
    return OK


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError("must be a port from 0 to 65535")
    return int(text)
