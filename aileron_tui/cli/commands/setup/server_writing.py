"""Gives an MCP client the server of this program: shows what would change, asks, writes it, and tries it."""

import argparse
from dataclasses import replace
from importlib.util import find_spec

from aileron_tui.cli import confirmation
from aileron_tui.cli.commands.setup.agent_access import access_with_rules, give_access
from aileron_tui.cli.commands.setup.client_text import chosen_file, mcp_record, tried
from aileron_tui.cli.commands.setup.settings_text import said_yes, tell
from aileron_tui.cli.commands.setup.settings_writing import check_places, known_file, known_record, write_recorded
from aileron_tui.cli.exit_codes import OK
from aileron_tui.cli.output import print_lines
from aileron_tui.cli.source_options import unlocked_key
from aileron_tui.core.errors import AileronError
from aileron_tui.core.times import utc_now
from aileron_tui.doors.agent_programs import check_command
from aileron_tui.doors.mcp_clients import CLIENTS
from aileron_tui.doors.mcp_entries import ServerStart
from aileron_tui.doors.mcp_setup import OWN, ClientSettings, McpName, server_words
from aileron_tui.doors.settings_file import planned
from aileron_tui.doors.setup_plan import SetupContext
from aileron_tui.files.config_file import load_config
from aileron_tui.files.extras import install_command
from aileron_tui.files.paths import paths
from aileron_tui.signing import key_store
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.surface.local_ledgers import gate_ledger


def run(options: argparse.Namespace, context: SetupContext) -> int:
    """Everything that can be refused is refused before anything is asked, and everything is asked before a change."""
    protect_process()
    here, client = paths(), CLIENTS[options.client]
    confirmation.check_terminal(load_config(here.config).policy, "setting up an MCP client")
    key_store.choose(here.keys, options.key)
    check_command(context.command)
    if find_spec("mcp") is None:
        hint = f"Install it with `{install_command('mcp')}`."
        raise AileronError("the MCP server needs the package mcp, which is not installed", hint=hint)
    name = McpName(client.word, OWN, OWN)
    known = known_record(here.data, name.word, context)
    if known and not options.agent:
        context = replace(context, agent=known.agent)
    words = server_words(context, client)
    plan = ClientSettings(client, context, known).added(OWN, words)
    file = planned(plan, known_file(known, plan.path))
    check_places([file], context)
    access = access_with_rules(gate_ledger(), context.agent, utc_now(), lambda _: ())
    chosen = chosen_file(file, client, here.data)
    if not chosen and access.state == "ok" and known is not None:
        tell("Nothing to change.")
        return OK if options.no_check or not said_yes("Try it?") else tried(ServerStart(words), {})
    tell(*filter(None, [access.words]))
    with unlocked_key(options.key) as key:
        give_access(gate_ledger(), access, (), key)
        write_recorded(here.data, mcp_record(name, context), chosen, known)
    print_lines(client.next_step(project=context.project), "The actions of the gate are its tools while the gate runs.")
    return OK if options.no_check else tried(ServerStart(words), {})
