"""Run the gate without a console. Agents call it, and operators answer from other terminals.

Started in a terminal, it also asks there when no other surface is attached.
"""

import argparse
import asyncio
import os
import sys
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from aileron_tui.cli.exit_codes import OK, USAGE
from aileron_tui.cli.log_output import LogOutput
from aileron_tui.cli.output import write_error
from aileron_tui.doors.claude_route import claude_routes
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.gate.gate_state import GateSetup
from aileron_tui.gate.server import DEFAULT_HOST, DEFAULT_PORT, ListenAddress
from aileron_tui.gate.server import run as serve
from aileron_tui.gate.service_manager import service_manager
from aileron_tui.page.offer import make_page
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.surface.embedded_gate import gate_setup
from aileron_tui.surface.gate_channels import gate_channels

if TYPE_CHECKING:
    from aileron_tui.cli.question_floor import TerminalFloor
    from aileron_tui.files.config import Config


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
    parser.add_argument(
        "--manifests",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="use exactly the manifests in this folder; can be given several times; default: what is installed",
    )
    parser.add_argument("--key", metavar="NAME", default="", help="the key to sign with in this terminal")
    parser.add_argument("--log-json", action="store_true", help="write the log as JSON lines")
    parser.add_argument(
        "--service",
        action="store_true",
        help="write a file that lets systemd or launchd run the gate with the other options, and say how to use it",
    )
    parser.add_argument("--print", action="store_true", help="with --service: only print the file")


def run(options: argparse.Namespace) -> int:
    """Returns 0 after a clean stop, 1 if it cannot start."""
    if options.print and not options.service:
        write_error("--print needs --service")
        return USAGE
    if options.service:
        from aileron_tui.cli import service_setup  # noqa: PLC0415  # seldom needed

        return service_setup.run(options, load_config(paths().config))
    protect_process()
    config = load_config(paths().config)
    setup = gate_setup(config, options.manifests)
    address = ListenAddress(options.host, options.port, options.allow_remote)
    output = LogOutput(sys.stderr)
    log = GateLog(cast("TextIO", output), as_json=options.log_json)
    try:
        asyncio.run(_serve(setup, address, log, _floor(config, options.key, output, log) if has_terminal() else None))
    finally:
        output.drain()
    _leave_running_ops()
    return OK


def _leave_running_ops() -> None:
    """Ends the process without waiting for ops that still run; they are recorded as interrupted.

    An op can take minutes, and Python would wait for its thread.
    """
    if any(thread.name.startswith("sandbox-") and not thread.daemon for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(OK)


def _floor(config: "Config", key_name: str, output: LogOutput, log: GateLog) -> "TerminalFloor":
    from aileron_tui.cli.question_floor import TerminalFloor  # noqa: PLC0415  # loads an HTTP client

    return TerminalFloor(config, key_name, output, log)


async def _serve(setup: GateSetup, address: ListenAddress, log: GateLog, floor: "TerminalFloor | None" = None) -> None:
    gate = Gate(setup)
    gate.use_channels(gate_channels(gate, setup.config))
    async with floor.following(gate) if floor else nullcontext():
        await serve(
            gate,
            setup.data,
            address,
            output=sys.stdout,
            gate_log=log,
            own_process=True,
            manager=service_manager(os.environ),
            doors=claude_routes,
            page=make_page,
        )


def has_terminal() -> bool:
    """Whether there is somebody to ask here: input and log are on a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError("must be a port from 0 to 65535")
    return int(text)
