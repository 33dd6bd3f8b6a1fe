"""The form of a tool's declaration: what the tool is for, and its args with their types and roles."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass


class ToolUse(StrEnum):
    """What a tool is for."""

    SHELL = "shell"
    WRITE = "write"
    EDIT = "edit"
    PATCH = "patch"
    NOTEBOOK = "notebook"
    READ = "read"
    FETCH = "fetch"
    SEARCH = "search the web"
    NOTES = "notes"
    OTHER = "other"


class ArgRole(StrEnum):
    """What an arg means for the prompt. PLAIN ones only have a row."""

    PLAIN = "plain"
    COMMAND = "command"
    FOLDER = "folder"
    PATH = "path"
    PATTERN = "pattern"
    URL = "url"
    URLS = "text with urls"
    CONTENT = "content"
    OLD = "old"
    NEW = "new"
    EVERY = "every"
    EDITS = "edits"
    PATCH = "patch"
    WORDS = "words"
    POWER = "power"


@dataclass(frozen=True, slots=True)
class ToolArgument:
    """One arg of a tool: its name, its type as JSON, the label of its row and its role."""

    name: str
    label: str
    type: str = "text"
    role: ArgRole = ArgRole.PLAIN
    optional: bool = False

    def fits(self, args: JsonObject) -> bool:
        """Whether the arg has its type, or is absent although it is optional."""
        value = args.get(self.name)
        return self.optional if value is None else _TYPES[self.type](value)


_TYPES: Final[dict[str, Callable[[Json], bool]]] = {
    "text": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "flag": lambda value: isinstance(value, bool),
    "texts": lambda value: isinstance(value, str) or _is_list_of_texts(value),
    "list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def _is_list_of_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


@dataclass(frozen=True, slots=True)
class ToolKind:
    """A tool under all names that it has with these args. `reason` is why it has its risk, in a few words.

    `is_loose` means that the tool also replaces text that is only similar to what it was given. `takes_line_end` means
    that it edits as Claude Code does (`TextEdit`).
    """

    names: tuple[str, ...]
    use: ToolUse
    question: str
    arguments: tuple[ToolArgument, ...]
    reason: str = "effect unknown"
    is_loose: bool = False
    takes_line_end: bool = False

    def first(self, role: ArgRole) -> ToolArgument | None:
        """The first arg with this role."""
        return next((argument for argument in self.arguments if argument.role is role), None)

    def text(self, role: ArgRole, args: JsonObject) -> str:
        """The text of the arg with this role, or ""."""
        argument = self.first(role)
        value = args.get(argument.name) if argument else None
        return value if isinstance(value, str) else ""

    def texts(self, role: ArgRole, args: JsonObject) -> tuple[str, ...]:
        """The texts of every arg with this role. An arg may be a list of them."""
        values = (args.get(argument.name) for argument in self.arguments if argument.role is role)
        lists = (value if isinstance(value, list) else [value] for value in values)
        return tuple(text for values in lists for text in values if isinstance(text, str))
