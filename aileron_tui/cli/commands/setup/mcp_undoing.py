"""Takes back what `setup mcp` changed in the settings of a client."""

import argparse

from aileron_tui.cli import confirmation
from aileron_tui.cli.commands.setup.settings_text import said_yes, tell
from aileron_tui.cli.commands.setup.undoing import take_back_all
from aileron_tui.cli.confirmation import NotDecided
from aileron_tui.cli.exit_codes import NOT_FOUND, OK
from aileron_tui.cli.output import print_lines, write_error
from aileron_tui.core.visible_text import inline
from aileron_tui.doors.known_servers import server_names, server_path
from aileron_tui.doors.mcp_clients import CLIENTS
from aileron_tui.doors.mcp_setup import OWN, McpName, read_name
from aileron_tui.doors.setup_plan import SetupContext
from aileron_tui.doors.setup_record import SetupRecord, read_records
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.files.policy_files import policy_path


def run(options: argparse.Namespace, context: SetupContext) -> int:
    """Returns 5 if nothing of that name was set up. Without a client, everything of that name is taken back."""
    here, name = paths(), options.name
    confirmation.check_terminal(load_config(here.config).policy, "undoing a setup")
    of_server = [(found, record) for record in read_records(here.data) if (found := _found(record, name))]
    folder = str(context.folder) if context.project else ""
    chosen = [
        (found, record)
        for found, record in of_server
        if not options.client or (found.client == options.client and record.folder == folder)
    ]
    pinned = name in server_names(here.data)
    if not chosen and (options.client or not pinned):
        where = f"in {CLIENTS[options.client].title}" if options.client else "here"
        title = "aileron-tui mcp" if name == OWN else f"the MCP server {name}"
        known = pinned or of_server
        words = "setup mcp" if name == OWN else f"setup mcp --name {name}"
        hint = f"`aileron-tui {words} --undo` takes back everything that was set up for it." if known else ""
        write_error(f"{title} was not set up {where}{' for this folder' if folder else ''}", hint)
        return NOT_FOUND
    last = len(chosen) == len(of_server)
    if not chosen:
        tell(f"{inline(str(server_path(here.data, name)))} would be removed, with the pinned tools.")
        if not said_yes("Remove it?"):
            raise NotDecided("nothing was changed")
    take_back_all(here.data, tuple(record for _, record in chosen))
    if pinned and last:
        server_path(here.data, name).unlink(missing_ok=True)
        server_path(here.data, name).with_suffix(".lock").unlink(missing_ok=True)
        print_lines(f"The pinned tools of {name} are forgotten.", *_kept_policy(name))
    agents = sorted({record.agent for _, record in chosen}) or [context.agent]
    for agent in agents:
        print_lines(
            f"The agent {agent} and its rules are kept.",
            f"  `aileron-tui agent revoke {agent}` revokes it for good; its name cannot be used again.",
        )
    return OK


def _kept_policy(server: str) -> list[str]:
    path = policy_path(server)
    return [f"Its policy is kept: {inline(str(path))}"] if path.exists() else []


def _found(record: SetupRecord, server: str) -> McpName | None:
    name = read_name(record.word)
    return name if name and name.server == server else None
