"""Reads what `setup mcp` is to set up, and does it."""

import argparse
import os
from importlib import import_module
from pathlib import Path

from aileron_tui.cli.exit_codes import USAGE
from aileron_tui.cli.output import write_error
from aileron_tui.core.agent_names import NAME_RULE, is_agent_name, is_reserved
from aileron_tui.core.mcp_tools import SERVER_NAME_RULE, is_server_name
from aileron_tui.doors.agent_programs import own_command
from aileron_tui.doors.mcp_clients import CLIENTS
from aileron_tui.doors.mcp_setup import OWN
from aileron_tui.doors.setup_plan import SetupContext
from aileron_tui.files.paths import paths


def run(options: argparse.Namespace) -> int:
    """Returns 0 on success, 1 on failure, 2 if the options or names are not valid, 5 if there is nothing to undo."""
    options.name = options.name or options.wrap
    proxied = bool(options.name or options.url or options.server)
    if why := _misuse(options, proxied):
        write_error(*why)
        return USAGE
    options.name = options.name or OWN
    agent = options.agent or _agent(options, proxied)
    if not is_agent_name(agent) or is_reserved(agent):
        write_error("not a valid name for an agent", repr(agent), NAME_RULE)
        return USAGE
    here = Path.home(), Path.cwd()
    context = SetupContext(agent, own_command(), *here, os.environ, paths().data.absolute(), options.project)
    step = "mcp_printing" if options.prints else "mcp_undoing" if options.undo else ""
    step = step or ("proxy_writing" if proxied else "server_writing" if options.client else "mcp_printing")
    code: int = import_module(f"aileron_tui.cli.commands.setup.{step}").run(options, context)
    return code


def _agent(options: argparse.Namespace, proxied: bool) -> str:
    """The name of the agent that asks. Clients that shared one could fetch each other's results."""
    if proxied:
        return f"mcp-{options.name}"
    return f"{options.client}-mcp" if options.client else "mcp"


def _misuse(options: argparse.Namespace, proxied: bool) -> tuple[str, ...]:
    """What is wrong with the options, in words, or ()."""
    if sum(map(bool, (options.url, options.wrap, options.server))) > 1:
        return ("give only one of a command, --url and --wrap",)
    if options.wrap and not options.client:
        return ("--wrap needs --client",)
    if (options.url or options.server) and not options.name:
        return ("give the server a name with --name",)
    if options.policy and not proxied:
        return ("--policy needs the --name of a server",)
    if options.project and not options.client:
        return ("--project needs --client",)
    if options.project and not CLIENTS[options.client].project:
        return (f"{CLIENTS[options.client].title} has no settings of a project", "Leave out --project.")
    if proxied and (not is_server_name(options.name) or options.name == OWN):
        hint = f"{options.wrap!r} needs another --name. " if options.wrap == options.name else ""
        return ("not a valid name for an MCP server", repr(options.name), f"{hint}{SERVER_NAME_RULE}")
    if options.url and not options.url.startswith(("http://", "https://")):
        return ("--url must begin with http:// or https://", repr(options.url))
    if odd := next((word for word in (*options.server, options.url, options.wrap) if not _is_utf8(word)), ""):
        return ("this cannot be written to settings, because it is not UTF-8", repr(odd))
    return ()


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
