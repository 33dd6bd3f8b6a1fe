"""The checks of `doctor` on MCP: the clients that were set up, and the servers behind the proxy."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote

from aileron_tui.cli.agent_checks import token
from aileron_tui.cli.machine_checks import Check, Status, failed
from aileron_tui.cli.output import counted
from aileron_tui.core.errors import AileronError
from aileron_tui.core.tool_changes import tool_changes
from aileron_tui.doors.agent_programs import check_command
from aileron_tui.doors.executor import approvers_of
from aileron_tui.doors.known_servers import KnownServer, read_server, server_names
from aileron_tui.doors.mcp_clients import CLIENTS
from aileron_tui.doors.mcp_entries import ServerStart, entries, existing_start, filled_words, start_words
from aileron_tui.doors.mcp_listing import listed_tools
from aileron_tui.doors.mcp_setup import McpName, changed_client, proxy_words, read_name, server_words
from aileron_tui.doors.settings_file import undone
from aileron_tui.doors.settings_findings import read_text
from aileron_tui.doors.setup_plan import SetupContext
from aileron_tui.doors.setup_record import SetupRecord, read_records
from aileron_tui.files.paths import Paths
from aileron_tui.files.policy_files import load_policy
from aileron_tui.signing.approvers import Approvers, approver_lines
from aileron_tui.surface.key_enrolment import read_approvers

_SHOWN = 5


def mcp(here: Paths, env: Mapping[str, str] = os.environ, *, starts: bool = False) -> Iterator[Check]:
    """Checks every client and every server that was set up. `starts`: servers are started, to compare their tools."""
    try:
        found = [(name, record) for record in read_records(here.data) if (name := read_name(record.word))]
    except AileronError:
        found = []  # the checks of agents say so
    for name, record in found:
        yield from _client(here, name, record, env)
    for server in server_names(here.data):
        of_server = [(name, record) for name, record in found if name.server == server]
        yield from _server(here, server, of_server, env, starts=starts)


def _context(here: Paths, record: SetupRecord, env: Mapping[str, str]) -> SetupContext:
    folder = Path(record.folder) if record.folder else Path.cwd()
    data = here.data.absolute()
    return SetupContext(record.agent, record.command, Path.home(), folder, env, data, bool(record.folder))


def _client(here: Paths, name: McpName, record: SetupRecord, env: Mapping[str, str]) -> Iterator[Check]:
    """Checks that the entry in the client still starts this program."""
    client, id_ = changed_client(name, record), f"mcp.{name.client}.{name.server}"
    context = _context(here, record, env)
    again = _again(name, record)
    path = client.path(context)
    try:
        entry = entries(client, path, read_text(path)).get(name.entry)
        check_command(record.command)
    except AileronError as error:
        yield failed(id_, error, again)
        return
    expected = server_words(context, client) if name.is_own else proxy_words(context, name.server, client)
    if entry is None:
        yield Check(id_, Status.FAIL, f"{path} no longer has the server {name.entry}", fix=again)
    elif start_words(entry)[: len(expected)] != expected:
        what = "aileron-tui mcp" if name.is_own else "the proxy, so its tools are called without asking"
        yield Check(id_, Status.FAIL, f"the server {name.entry} in {path} does not start {what}", fix=again)
    elif not name.is_own and _starts_another(here, name, start_words(entry)[len(expected) :], env):
        words = f"the server {name.entry} in {path} starts another command than the one that was set up"
        yield Check(id_, Status.WARN, words, fix=again)
    else:
        yield Check(id_, Status.OK, f"{client.title} starts {name.entry} as it was set up", str(path))
    if name.is_own:
        yield token(f"{id_}.token", record.agent, here, again)


def _starts_another(here: Paths, name: McpName, words: tuple[str, ...], env: Mapping[str, str]) -> bool:
    """Whether the words after those of the proxy start another server than the one whose tools were pinned."""
    try:
        known = read_server(here.data, name.server)
        filled = filled_words(CLIENTS[name.client], words, env)
    except AileronError:
        return False  # other checks say so
    return filled not in ((), ("--", *known.command), ("--url", known.url))


def _again(name: McpName, record: SetupRecord) -> str:
    words = f"aileron-tui setup mcp --client {name.client}{' --project' if record.folder else ''}"
    if not name.is_own:
        place = changed_client(name, record).place(name.entry)
        changes = [change for file in record.files for change in file.changes]
        wraps = any(change.wanted.path != place or change.had for change in changes)
        words += f" --name {name.server}{f' --wrap {quote(name.entry)}' if wraps else ''}"
    return f"Run `{words}`{f' in {record.folder}' if record.folder else ''}."


def _server(
    here: Paths,
    name: str,
    records: list[tuple[McpName, SetupRecord]],
    env: Mapping[str, str],
    *,
    starts: bool,
) -> Iterator[Check]:
    id_, again = f"mcp.{name}", f"Run `aileron-tui setup mcp --name {name}`."
    try:
        server = read_server(here.data, name)
    except AileronError as error:
        yield failed(id_, error, again)
        return
    yield Check(id_, Status.OK, f"{counted(len(server.tools), 'tool')} pinned")
    yield token(f"{id_}.token", server.agent, here, again)
    yield _approvers(f"{id_}.approvers", server, here, again)
    if server.policy:
        yield _policy(f"{id_}.policy", server)
    if starts:
        try:
            yield _definitions(f"{id_}.tools", server, _start(here, server, records, env), again)
        except AileronError as error:
            yield Check(f"{id_}.tools", Status.WARN, error.title, error.detail, error.hint)


def _approvers(id_: str, server: KnownServer, here: Paths, again: str) -> Check:
    """Checks that the proxy accepts the decisions of those who may approve now, and of nobody else."""
    try:
        known = sorted(approver_lines(Approvers(approvers_of(here.data, server.agent))))
        now = sorted(approver_lines(read_approvers(here.data)))
    except AileronError as error:
        return failed(id_, error, again)
    if known != now:
        words = "the proxy does not know who may approve now, so it refuses or accepts the wrong keys"
        return Check(id_, Status.FAIL, words, fix=again)
    return Check(id_, Status.OK, f"the proxy knows {counted(len(now), 'approver')}")


def _policy(id_: str, server: KnownServer) -> Check:
    try:
        load_policy(Path(server.policy))
    except AileronError as error:
        return failed(id_, error, f"Check {server.policy}.")
    return Check(id_, Status.OK, server.policy)


def _start(
    here: Paths, server: KnownServer, records: list[tuple[McpName, SetupRecord]], env: Mapping[str, str]
) -> ServerStart:
    """How the server is started: with the variables of the client's entry, if there is one."""
    for name, record in records:
        client, context = changed_client(name, record), _context(here, record, env)
        path = client.path(context)
        file = next((file for file in record.files if file.path == str(path.resolve())), None)
        text = read_text(path)
        listed = entries(client, path, undone(file, text).after if file else text)
        if name.entry in listed and start_words(listed[name.entry])[:1] == server.command[:1]:
            return existing_start(client, name.entry, listed, env)
    return ServerStart(server.command, server.url)


def _definitions(id_: str, server: KnownServer, start: ServerStart, again: str) -> Check:
    """Starts the server, and compares its tools with those that are pinned. Raises AileronError."""
    changes = tool_changes(server.tools, listed_tools(start))
    if not changes:
        return Check(id_, Status.OK, "its tools are as they were pinned")
    kinds = {
        "new": [tool.name for tool in changes.new],
        "changed": [tool.name for _, tool in changes.changed],
        "gone": [tool.name for tool in changes.gone],
    }
    listed = (
        f"{kind}: {', '.join(names[:_SHOWN])}{' …' if len(names) > _SHOWN else ''}"
        for kind, names in kinds.items()
        if names
    )
    fix = f"You are asked before a changed tool is called. To pin all of them now: {again}"
    return Check(id_, Status.WARN, f"its tools are not as they were pinned: {'; '.join(listed)}", fix=fix)
