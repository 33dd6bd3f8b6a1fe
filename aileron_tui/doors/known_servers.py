"""The MCP servers that were set up: how each is started or reached, as which agent it asks, and its pinned tools.

Each has a file of its own in the data folder, which only the user can read or write.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aileron_tui.core.agent_names import is_agent_name
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, read_object, step
from aileron_tui.core.mcp_tools import SERVER_NAME_RULE, PinnedTool, definition_hash, is_server_name
from aileron_tui.core.values import dataclass
from aileron_tui.files.private_files import PrivateFileError, private_folder, read_private, write_private

FOLDER: Final = "mcp"
_VERSION: Final = 1
_LARGEST: Final = 32 * 1024 * 1024
_LIMITS: Final = JsonLimits(size=_LARGEST, depth=80, count=1_000_000)


class ServerFault(AileronError):
    """An MCP server that is not set up, or whose file cannot be read."""


class NoSuchServer(ServerFault):
    """No MCP server of this name is set up."""


class DamagedServer(ServerFault):
    """An MCP server whose file is damaged. Setting it up again writes a new one."""


@dataclass(frozen=True, slots=True)
class KnownServer:
    """One MCP server. It has a command or a URL.

    `policy` is the path of the user's policy file, "" if there is none. `tools` are the definitions that were accepted.
    """

    name: str
    agent: str
    command: tuple[str, ...] = ()
    url: str = ""
    policy: str = ""
    tools: tuple[PinnedTool, ...] = ()

    def with_tool(self, tool: PinnedTool) -> "KnownServer":
        """The same server with this definition in place of an earlier one of the same name."""
        others = [known for known in self.tools if known.name != tool.name]
        kept = tuple(sorted((*others, tool), key=lambda each: each.name))
        return KnownServer(self.name, self.agent, self.command, self.url, self.policy, kept)


def server_path(data: Path, name: str) -> Path:
    """The file of a server. Raises ServerFault if the name cannot be used."""
    if not is_server_name(name):
        raise ServerFault(f"{name!r} cannot be the name of an MCP server", hint=SERVER_NAME_RULE)
    return data / FOLDER / f"{name}.json"


def server_names(data: Path) -> tuple[str, ...]:
    """The names of all servers that were set up, in order."""
    names = (path.stem for path in (data / FOLDER).glob("*.json"))
    return tuple(sorted(name for name in names if is_server_name(name)))


def read_server(data: Path, name: str) -> KnownServer:
    """A server that was set up. Raises ServerFault."""
    path = server_path(data, name)
    hint = f"Run `aileron-tui setup mcp --name {name} -- COMMAND …` with the server's command."
    if not path.exists():
        raise NoSuchServer(f"the MCP server {name} is not set up", f"there is no {path}", hint)
    try:
        return _server(name, read_object(read_private(path, _LARGEST), _LIMITS))
    except JsonError as error:
        raise DamagedServer(f"{path} cannot be read", str(error), hint) from None
    except PrivateFileError as error:
        raise ServerFault(f"the file of the MCP server {name} cannot be used", str(error), error.hint) from None


def write_server(data: Path, server: KnownServer) -> None:
    """Writes the file of a server as a whole; replaces an older one."""
    path = server_path(data, server.name)
    with _locked(path):
        _write(path, server)


def pin_tool(data: Path, name: str, tool: PinnedTool, replaces: str = "") -> KnownServer:
    """Adds an accepted definition to the file of a server, and returns the server as it is then.

    `replaces` is the hash of the definition that it takes the place of. If another process has pinned yet another
    definition in the meantime, that one stays: nobody has compared the two.
    """
    path = server_path(data, name)
    with _locked(path):
        server = read_server(data, name)
        known = next((each.hash for each in server.tools if each.name == tool.name), "")
        if known in (replaces, "") and known != tool.hash:
            server = server.with_tool(tool)
            _write(path, server)
        return server


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keeps other processes from changing the file of the same server."""
    private_folder(path.parent)
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(path: Path, server: KnownServer) -> None:
    fields: JsonObject = {
        "version": _VERSION,
        "agent": server.agent,
        "command": list(server.command),
        "url": server.url,
        "policy": server.policy,
        "tools": [{"definition": tool.definition, "hash": tool.hash} for tool in server.tools],
    }
    write_private(path, json.dumps(fields, indent=1).encode() + b"\n", replace=True)


def _server(name: str, fields: JsonObject) -> KnownServer:
    version = fields.get("version")
    if isinstance(version, int) and version > _VERSION:
        raise ServerFault(f"the MCP server {name} was set up by a newer aileron-tui", hint="Update aileron-tui.")
    match fields:
        case {
            "version": 1,
            "agent": str(agent),
            "command": [*command],
            "url": str(url),
            "policy": str(policy),
            "tools": [*tools],
        } if is_agent_name(agent) and all(isinstance(word, str) for word in command):
            read = tuple(_tool(step("$.tools", number), tool) for number, tool in enumerate(tools))
            if len({tool.name for tool in read}) != len(read):
                raise JsonError("two tools have the same name", "$.tools")
            return KnownServer(name, agent, tuple(map(str, command)), url, policy, read)
    raise JsonError("this is not an MCP server that was set up")


def _tool(path: str, value: Json) -> PinnedTool:
    match value:
        case {"definition": dict(definition), "hash": str(kept)} if isinstance(name := definition.get("name"), str):
            if definition_hash(definition) != kept:
                raise JsonError("the hash of the definition is another one", path)
            return PinnedTool(name, definition, kept)
    raise JsonError("this is not a pinned tool", path)
