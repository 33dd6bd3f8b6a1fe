"""Prints the entry of an MCP server for clients, and changes nothing."""

import argparse
import json
import sys

from aileron_tui.cli.commands.setup.settings_text import tell
from aileron_tui.cli.exit_codes import OK
from aileron_tui.core import toml_changes
from aileron_tui.core.settings_changes import EMPTY, apply
from aileron_tui.core.visible_text import inline
from aileron_tui.doors.known_servers import read_server
from aileron_tui.doors.mcp_clients import CLIENTS, McpClient, generic_entry
from aileron_tui.doors.mcp_entries import ServerStart, new_entry
from aileron_tui.doors.mcp_setup import OWN, ClientSettings, proxied_words, proxy_words, server_words
from aileron_tui.doors.setup_plan import SetupContext


def run(options: argparse.Namespace, context: SetupContext) -> int:
    """Works without a key and without a terminal."""
    if options.client:
        _print_for(CLIENTS[options.client], options, context)
        return OK
    words = (
        server_words(context) if options.name == OWN else proxied_words(context, options.name, _start(options, context))
    )
    sys.stdout.write(entry_text(options.name, words))
    if options.name == OWN:
        _tell_clients(context)
    return OK


def entry_text(name: str, words: tuple[str, ...]) -> str:
    """An entry as most clients want it, as text to copy."""
    return json.dumps({"mcpServers": {name: generic_entry(words)}}, indent=2) + "\n"


def _start(options: argparse.Namespace, context: SetupContext) -> ServerStart:
    if options.server or options.url:
        return ServerStart(tuple(options.server), options.url)
    known = read_server(context.data, options.name)
    return ServerStart(known.command, known.url)


def _print_for(client: McpClient, options: argparse.Namespace, context: SetupContext) -> None:
    path = client.path(context)
    if options.wrap:
        settings = ClientSettings(client, context, None, options.wrap)
        settings.start(options.wrap, context)  # refuses what cannot be wrapped
        wanted = settings.wrapped(options.wrap, proxy_words(context, options.name, client)).wanted
    elif options.name == OWN:
        wanted = new_entry(client, OWN, server_words(context, client))
    else:
        wanted = new_entry(client, options.name, proxied_words(context, options.name, _start(options, context), client))
    text = toml_changes.apply("", wanted).text if path.suffix == ".toml" else apply(EMPTY, wanted).text
    sys.stdout.write(f"{inline(str(path))}:\n\n{text}")


def _tell_clients(context: SetupContext) -> None:
    found = [client for client in CLIENTS.values() if client.is_found(context)]
    tell("", "Found here:" if found else "None of the known clients was found here.")
    for client in found:
        tell(f"  {client.title}", f"    aileron-tui setup mcp --client {client.word}")
    tell("", f"For any other client: copy the entry above, and run `aileron-tui agent add {context.agent}`.")
