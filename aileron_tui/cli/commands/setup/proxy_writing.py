"""Puts the proxy in front of an MCP server: starts the server once, shows and pins its tools, and writes the entry."""

import argparse
import sys
from dataclasses import replace

from aileron_tui.cli import confirmation
from aileron_tui.cli.commands.setup.agent_access import AgentAccess, access_with_rules, give_access
from aileron_tui.cli.commands.setup.client_text import chosen_file, mcp_record, tried
from aileron_tui.cli.commands.setup.mcp_printing import entry_text
from aileron_tui.cli.commands.setup.server_policy import accepted_policy, chosen_policy, copy_policy
from aileron_tui.cli.commands.setup.settings_text import said_yes, tell
from aileron_tui.cli.commands.setup.settings_writing import check_places, known_file, known_record, write_recorded
from aileron_tui.cli.commands.setup.tool_text import tell_changes
from aileron_tui.cli.confirmation import NotDecided
from aileron_tui.cli.exit_codes import OK
from aileron_tui.cli.output import counted, print_lines
from aileron_tui.cli.source_options import unlocked_key
from aileron_tui.core.mcp_tools import PinnedTool
from aileron_tui.core.rule import Rule
from aileron_tui.core.rule_words import rule_words
from aileron_tui.core.starter_rules import server_rules
from aileron_tui.core.times import utc_now
from aileron_tui.core.tool_changes import tool_changes
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.doors.agent_programs import check_command, shell_words
from aileron_tui.doors.known_servers import DamagedServer, KnownServer, read_server, server_names, write_server
from aileron_tui.doors.mcp_clients import CLIENTS, McpClient
from aileron_tui.doors.mcp_entries import ServerStart
from aileron_tui.doors.mcp_listing import listed_tools
from aileron_tui.doors.mcp_setup import ClientSettings, McpName, proxied_words, proxy_words
from aileron_tui.doors.settings_file import PlannedFile, planned
from aileron_tui.doors.setup_plan import SetupContext
from aileron_tui.doors.setup_record import SetupRecord
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.signing import key_store
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.surface.local_ledgers import gate_ledger


@dataclass(frozen=True, slots=True)
class _Target:
    """The server that is put behind the gate, and the client whose settings are changed for that, if there is one."""

    context: SetupContext
    name: McpName
    start: ServerStart
    client: McpClient | None = None
    file: PlannedFile | None = None
    known: SetupRecord | None = None
    wraps: bool = False


def run(options: argparse.Namespace, context: SetupContext) -> int:
    """Everything that can be refused is refused before anything is asked, and everything is asked before a change."""
    protect_process()
    here = paths()
    confirmation.check_terminal(load_config(here.config).policy, "setting up an MCP server")
    key_store.choose(here.keys, options.key)
    check_command(context.command)
    pinned = _pinned(options)
    if pinned and not options.agent:
        context = replace(context, agent=pinned.agent)
    target = _target(options, context, pinned)
    found = _listed(target)
    start = target.start
    policy = chosen_policy(options, pinned, start.command)
    server = KnownServer(options.name, context.agent, start.command, start.url, policy.path, found)
    access = _access(server)
    _accept_tools(found, pinned, start)
    policy = accepted_policy(policy, found)
    server = replace(server, policy=policy.path)
    chosen = chosen_file(target.file, target.client, here.data) if target.file and target.client else []
    rules = _chosen_rules(access)
    changed = bool(chosen or rules or access.state != "ok" or server != pinned)
    if target.client and target.known is None:
        changed = True
    if not changed:
        tell("Nothing to change.")
        return OK if options.no_check or not said_yes("Try it?") else _tried(target, server)
    tell(*filter(None, [access.words]))
    with unlocked_key(options.key) as key:
        give_access(gate_ledger(), access, rules, key)
        copy_policy(policy)
        write_server(here.data, server)
        if target.client:
            write_recorded(here.data, mcp_record(target.name, context), chosen, target.known)
    _report(target, server)
    return OK if options.no_check else _tried(target, server)


def _pinned(options: argparse.Namespace) -> KnownServer | None:
    """The server as it was set up before. A file of it that is damaged is written anew. Raises ServerFault."""
    data = paths().data
    if options.name not in server_names(data):
        return None
    try:
        return read_server(data, options.name)
    except DamagedServer as error:
        if not (options.server or options.url or options.wrap):
            raise
        tell(f"! {inline(str(error))}. It is written anew.")
        return None


def _target(options: argparse.Namespace, context: SetupContext, pinned: KnownServer | None) -> _Target:
    given = ServerStart(tuple(options.server), options.url)
    if not options.client:
        return _Target(context, McpName("", options.name, options.name), _known_start(options.name, given, pinned))
    client, entry = CLIENTS[options.client], options.wrap or options.name
    name = McpName(client.word, options.name, entry)
    known = known_record(context.data, name.word, context)
    settings = ClientSettings(client, context, known, options.wrap)
    if options.wrap:
        start = settings.start(entry, context)
        plan = settings.wrapped(entry, proxy_words(context, options.name, client))
    else:
        start = _known_start(options.name, given, pinned)
        plan = settings.added(entry, proxied_words(context, options.name, start, client))
    file = planned(plan, known_file(known, plan.path))
    check_places([file], context)
    return _Target(context, name, start, client, file, known, wraps=bool(options.wrap))


def _known_start(name: str, given: ServerStart, pinned: KnownServer | None) -> ServerStart:
    """How the server is started: as it is given now, or else as it was set up before."""
    if given.command or given.url:
        return given
    if pinned is None:
        read_server(paths().data, name)  # says that it is not set up
    return ServerStart(pinned.command, pinned.url) if pinned else given


def _listed(target: _Target) -> tuple[PinnedTool, ...]:
    start = target.start
    words = shell_words(start.command) if start.command else start.url
    tell(f"The server is {'started' if start.command else 'asked'} once, to list its tools: {inline(words)}")
    if start.folder:
        tell(f"  in the folder {inline(start.folder)}")
    if start.env:
        tell(f"  with the variables {inline(', '.join(sorted(start.env)))}")
    if target.wraps and not said_yes("Start it?" if start.command else "Ask it?"):  # the user has not just typed it
        raise NotDecided("nothing was changed")
    return listed_tools(start)


def _access(server: KnownServer) -> AgentAccess:
    now = utc_now()
    return access_with_rules(
        gate_ledger(),
        server.agent,
        now,
        lambda known: server_rules(server.agent, server.name, server.tools, now, known),
    )


def _accept_tools(found: tuple[PinnedTool, ...], pinned: KnownServer | None, start: ServerStart) -> None:
    """Shows what is pinned, and asks. Raises NotDecided."""
    changes = tool_changes(pinned.tools if pinned else (), found)
    if pinned and (pinned.command, pinned.url) != (start.command, start.url):
        before = shell_words(pinned.command) if pinned.command else pinned.url
        tell(f"! It was set up with another command or URL before: {inline(before)}")
    tell("", f"The server has {counted(len(found), 'tool')}.")
    if not changes:
        tell("They are pinned as they are." if pinned else "It has nothing to pin.")
        return
    tell("These are new or have changed since they were pinned:" if pinned else "What it says about them:")
    tell_changes(changes)
    tell("", "A tool whose definition changes later is not called before you have accepted the change.")
    if not said_yes(f"Pin {'these changes' if pinned else 'these tools'}?"):
        raise NotDecided("nothing was changed")


def _chosen_rules(access: AgentAccess) -> tuple[Rule, ...]:
    if not access.rules:
        return ()
    now = utc_now()
    words = "With these rules they are called without asking you, as long as their definitions are the same:"
    tell("", "The server says that these tools only read. Nobody has checked that.", words)
    tell(*(f"  {inline(rule_words(rule, now))}" for rule in access.rules))
    return access.rules if said_yes("Make these rules?") else ()


def _report(target: _Target, server: KnownServer) -> None:
    print_lines(f"The tools of {server.name} are pinned, and {server.agent} asks the gate about each call.")
    if target.client:
        print_lines(target.client.next_step(project=target.context.project))
        return
    print_lines("Put this into the settings of your client, instead of the server itself:", "")
    sys.stdout.write(entry_text(server.name, proxied_words(target.context, server.name, target.start)))


def _tried(target: _Target, server: KnownServer) -> int:
    start = ServerStart(
        proxied_words(target.context, server.name, target.start, target.client),
        "",
        target.start.env,
        target.start.folder,
    )
    return tried(start, {tool.name: tool.hash for tool in server.tools})
