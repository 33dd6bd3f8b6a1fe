"""Run the gate alone, without a screen; agents call it, and people answer from other terminals."""

import argparse
import asyncio
import sys
from pathlib import Path

from aileron_tui.cli import OK
from aileron_tui.core.errors import AileronError
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import bundled, paths
from aileron_tui.files.private_files import private_folder
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.gate.gate_state import GateSetup
from aileron_tui.gate.server import DEFAULT_HOST, DEFAULT_PORT, ListenAddress
from aileron_tui.gate.server import run as serve
from aileron_tui.sandbox.connector_package import load_keyring
from aileron_tui.signing.secret_memory import protect_process


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--port", type=_port, default=DEFAULT_PORT, help=f"0 for any free one ({DEFAULT_PORT})")
    parser.add_argument("--host", default=DEFAULT_HOST, help=f"the address to listen on ({DEFAULT_HOST})")
    parser.add_argument("--allow-remote", action="store_true", help="listen also where other machines can reach it")
    parser.add_argument("--manifests", metavar="DIR", type=Path, help="what can be called; the bundled suite if none")
    parser.add_argument("--log-json", action="store_true", help="the log as lines of JSON")


def run(options: argparse.Namespace) -> int:
    """0 after a clean stop, 1 if it cannot start."""
    protect_process()
    here = paths()
    manifests: Path = options.manifests or bundled("manifests")
    if not manifests.is_dir():
        raise AileronError(f"there is no folder {manifests}", hint="Name one with --manifests.")
    setup = GateSetup(
        private_folder(here.data),
        manifests,
        load_config(here.config),
        private_folder(here.cache),
        keyring=load_keyring(here.keyring),
    )
    journal = GateLog(sys.stderr, as_json=options.log_json)
    address = ListenAddress(options.host, options.port, options.allow_remote)
    asyncio.run(serve(Gate(setup), setup.data, address, ready=sys.stdout, journal=journal))
    return OK


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError("expected a port from 0 to 65535")
    return int(text)
