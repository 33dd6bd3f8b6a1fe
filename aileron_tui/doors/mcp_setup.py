"""What `setup mcp` sets up: the server of this program in a client, or the proxy in front of another server."""

from dataclasses import replace
from typing import Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.settings_changes import Wanted
from aileron_tui.core.values import dataclass
from aileron_tui.doors.agent_programs import ENV
from aileron_tui.doors.mcp_clients import CLIENTS, McpClient
from aileron_tui.doors.mcp_entries import ServerStart, entries, existing_start, is_own, new_entry, wrapped_entry
from aileron_tui.doors.settings_file import undone
from aileron_tui.doors.settings_findings import SettingsFault, read_text
from aileron_tui.doors.setup_plan import FilePlan, SetupContext
from aileron_tui.doors.setup_record import SetupRecord

OWN: Final = "aileron"
"""The name of the entry for the server of this program."""

_WORD: Final = "mcp"


@dataclass(frozen=True, slots=True)
class McpName:
    """What identifies one setup: the client, the name of the server at the gate, and that of its entry."""

    client: str
    server: str
    entry: str

    @property
    def word(self) -> str:
        """How the record of the setup calls it."""
        return f"{_WORD}:{self.client}:{self.server}:{self.entry}"

    @property
    def is_own(self) -> bool:
        """Whether this is the server of this program, and not a proxy."""
        return self.server == OWN


def read_name(word: str) -> McpName | None:
    """What a record is about, or None if it is not about MCP."""
    parts = word.split(":", 3)
    match parts:
        case [kind, client, server, entry] if kind == _WORD and client in CLIENTS:
            return McpName(client, server, entry)
    return None


def server_words(context: SetupContext, client: McpClient | None = None) -> tuple[str, ...]:
    """The words that start the server of this program. It needs nothing of the environment."""
    return (*context.command, "mcp", "--agent", context.agent, "--data", str(context.data), *_hold(client))


def proxy_words(context: SetupContext, name: str, client: McpClient | None = None) -> tuple[str, ...]:
    """The words that start the proxy of a server, which is to have the environment that the client gives it."""
    own = context.command[2:] if context.command[:2] == (ENV, "-i") else context.command
    return (*own, "mcp-proxy", "--name", name, "--data", str(context.data), *_hold(client))


def proxied_words(
    context: SetupContext, name: str, start: ServerStart, client: McpClient | None = None
) -> tuple[str, ...]:
    """The words that start the proxy with its server."""
    more = ("--", *start.command) if start.command else ("--url", start.url)
    return (*proxy_words(context, name, client), *more)


def _hold(client: McpClient | None) -> tuple[str, ...]:
    """How long a call may wait, if it is known when the client gives up."""
    return ("--hold", str(client.hold)) if client else ()


class ClientSettings:
    """The servers of a client as they were before any setup of the same name.

    Claude Code keeps servers that were added for one folder only in the user's file too, below `projects`. They are
    looked at if that file has no other server named `entry`.
    """

    def __init__(self, client: McpClient, context: SetupContext, known: SetupRecord | None, entry: str = "") -> None:
        self.path = client.path(context)
        text = read_text(self.path)
        record = next((file for file in known.files if file.path == str(self.path.resolve())), None) if known else None
        text = undone(record, text).after if record else text
        self.client = client
        self.listed: JsonObject = entries(client, self.path, text)
        if entry and entry not in self.listed and client.word == "claude" and not context.project:
            local = replace(client, servers=("projects", str(context.folder), *client.servers))
            if entry in (listed := entries(local, self.path, text)):
                self.client, self.listed = local, listed

    def added(self, entry: str, words: tuple[str, ...]) -> FilePlan:
        """The plan for a new entry. Raises SettingsFault if the client has another server of this name."""
        if entry in self.listed and not is_own(self.listed[entry]):
            hint = f"Choose another name with --name, or put that server behind the gate with --wrap {entry}."
            if entry == OWN:
                hint = "Give that server another name there, then try again."
            title = f"{self.client.title} already has another MCP server named {entry}"
            raise SettingsFault(title, str(self.path), hint)
        return self._plan(new_entry(self.client, entry, words))

    def start(self, entry: str, context: SetupContext) -> ServerStart:
        """How the server of an entry is started. Raises SettingsFault."""
        return existing_start(self.client, entry, self.listed, context.env)

    def wrapped(self, entry: str, proxy: tuple[str, ...]) -> FilePlan:
        """The plan for putting the proxy in front of the server of an entry."""
        return self._plan(wrapped_entry(self.client, entry, self.listed.get(entry), proxy))

    def _plan(self, wanted: tuple[Wanted, ...]) -> FilePlan:
        return FilePlan(self.path, wanted, comments=self.client.comments)


def changed_client(name: McpName, record: SetupRecord) -> McpClient:
    """The client of a setup, with the place of the servers among which the entry was changed."""
    client = CLIENTS[name.client]
    for change in (change for file in record.files for change in file.changes):
        if name.entry in (path := change.wanted.path):
            return replace(client, servers=path[: path.index(name.entry)])
    return client
