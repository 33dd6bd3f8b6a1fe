"""Tools of MCP servers: their definitions, the hash that pins one, and what their annotations say.

A server can change what a tool does, and how it is described, at any time. A definition is therefore pinned by a hash
over all of it. What it says about itself can raise the risk of a call but proves nothing.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from aileron_tui.core.frozen_json import frozen_object
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, WrittenNumber, canonical
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
    """The hash over all of a definition, also over its description, its annotations and members that nobody knows."""
    return f"sha256:{hashlib.sha256(canonical(exact(definition))).hexdigest()}"


def pinned(definition: JsonObject) -> PinnedTool:
    """A definition as it is pinned. Raises ValueError if it has no name, and JsonError if it cannot be hashed."""
    name = definition.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError("a tool without a name")
    kept = exact(definition)
    return PinnedTool(name, kept, definition_hash(kept))


def exact(definition: JsonObject) -> JsonObject:
    """A definition with texts for the numbers that a double cannot hold, such as the largest 64-bit integer.

    Schemas name such numbers as limits. As numbers, two of them could have the same hash.
    """
    try:
        canonical(definition)
    except JsonError:
        return {name: _exact(value) for name, value in definition.items()}
    return definition


def _exact(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _exact(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            canonical(value)
        except JsonError:
            return f"{value.text if isinstance(value, WrittenNumber) else value} (a number)"
    return value


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
