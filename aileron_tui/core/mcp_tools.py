"""Tools of MCP servers: their definitions, the hash that pins one, and what their annotations say.

A server can change what a tool does, and how it is described, at any time. A definition is therefore pinned by a hash
over all of it. What it says about itself can raise the risk of a call but proves nothing.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from aileron_tui.core.frozen_json import frozen_object
from aileron_tui.core.jsontext import JsonObject, canonical
from aileron_tui.core.values import dataclass

SERVER_NAME_RULE: Final = (
    "Use 1 to 28 lowercase letters, digits, dots, dashes and underscores, and begin with a letter or digit."
)

_SERVER_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9_-]|\.(?=[a-z0-9])){0,27}", re.ASCII)
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """A tool with the definition that was accepted, exactly as the server sent it, and the hash of that definition."""

    name: str
    definition: JsonObject
    hash: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "definition", frozen_object(self.definition))


@dataclass(frozen=True, slots=True)
class ToolHints:
    """What a server says about a tool with its annotations. Both are False if it says nothing."""

    read_only: bool = False
    destructive: bool = False


def is_server_name(text: str) -> bool:
    """Whether the text can name an MCP server. It becomes a file name and, after `mcp-`, the name of an agent."""
    return _SERVER_NAME.fullmatch(text) is not None


def is_definition_hash(text: str) -> bool:
    """Whether the text has the form of a definition's hash."""
    return _HASH.fullmatch(text) is not None


def definition_hash(definition: JsonObject) -> str:
    """The hash over all of a definition, also over its description, its annotations and members that nobody knows.

    Raises JsonError if it has a number that cannot be written exactly.
    """
    return f"sha256:{hashlib.sha256(canonical(definition)).hexdigest()}"


def pinned(definition: JsonObject) -> PinnedTool:
    """A definition as it is pinned. Raises ValueError if it has no name, and JsonError if it cannot be hashed."""
    name = definition.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError("a tool without a name")
    return PinnedTool(name, definition, definition_hash(definition))


def tool_named(tools: Iterable[PinnedTool], name: str) -> PinnedTool | None:
    """The tool with this name, or None."""
    return next((tool for tool in tools if tool.name == name), None)


def hints(definition: JsonObject) -> ToolHints:
    """What the annotations of a definition say. Only an exact `true` counts, and destructive wins over read-only."""
    annotations = definition.get("annotations")
    if not isinstance(annotations, dict):
        return ToolHints()
    destructive = annotations.get("destructiveHint") is True
    return ToolHints(annotations.get("readOnlyHint") is True and not destructive, destructive)
