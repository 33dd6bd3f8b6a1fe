"""Open the page of the gate in a browser on this machine."""

import argparse
import sys

from aileron_tui.cli import confirmation, source_options
from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.cli.output import print_lines
from aileron_tui.cli.page_opening import CODE_SECONDS, has_browser, open_in_browser
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.runtime.gate_discovery import discover_here
from aileron_tui.runtime.page_client import PageClient
from aileron_tui.signing.secret_memory import protect_process


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--print", action="store_true", help="print the address and open no browser")
    parser.add_argument("--key", metavar="NAME", help="the key to sign in with; required if there are several")


def run(options: argparse.Namespace) -> int:
    """Returns 0 if the page was opened or its address printed, 1 if the browser could not be started."""
    protect_process()
    confirmation.check_terminal(load_config(paths().config).policy, "opening the page")
    found = discover_here()
    with source_options.unlocked_key(options.key) as key, PageClient(found, key) as client:
        url = client.page_code().url
    if options.print or not has_browser():
        if not options.print:
            sys.stderr.write("note: there is no browser here that opens a window\n")
        sys.stderr.write(
            f"Open this address in a browser on this machine within {CODE_SECONDS} seconds. It works once.\n"
        )
        print_lines(inline(url))
        return OK
    address = url.partition("#")[0]
    sys.stderr.write(
        f"Opening {inline(address)} in your browser. If nothing happens, run `aileron-tui page --print`.\n"
    )
    sys.stderr.flush()
    if open_in_browser(url):
        return OK
    sys.stderr.write("error: the browser could not be started\n  hint: Run `aileron-tui page --print`.\n")
    return FAILED
