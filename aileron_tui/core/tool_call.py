"""Tool calls: what an agent's own program executes once it is allowed, and what the gate knows about their files.

The gate decides about a tool call and records it; the program executes it.
"""

from enum import StrEnum

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.frozen_json import frozen_object
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.resolved_step import ConnectorRef, ResolvedStep
from aileron_tui.core.risk import Risk
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool. `args` is exactly what would be executed.

    `server` is the MCP server or the program that has the tool, "" for a tool that the agent has by itself. `folder` is
    where the program works, as it says. `definition` is the hash of the tool's definition, "" if it is not known. For
    the kind `definition`, the args are the definition of the tool `before` and `after` it changed.
    """

    tool: str
    args: JsonObject
    server: str = ""
    folder: str = ""
    definition: str = ""
    kind: CallKind = CallKind.TOOL

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", frozen_object(self.args))

    @property
    def connector(self) -> ConnectorRef:
        """What has the tool, in the place where a prompt has the connector of an action."""
        return ConnectorRef(self.server, hash=self.definition)


@dataclass(frozen=True, slots=True)
class DoorClaims:
    """What a door says about a call beyond the call: a preview that it fetched, and a risk, which can only raise it."""

    preview: PreviewResult | None = None
    risk: Risk | None = None


@dataclass(frozen=True, slots=True)
class NamedPath:
    """A path that a tool call names, as an absolute path. `changes` means that the tool would write there.

    `needs_text` means that the prompt shows what the file contains now.
    """

    path: str
    changes: bool = False
    needs_text: bool = False


class FileKind(StrEnum):
    """What a path leads to."""

    FILE = "file"
    FOLDER = "folder"
    MISSING = "missing"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the gate found at a path, just before it asks.

    `resolved` is the path without symbolic links, "" if it is not known. `text` is what the file contains, None if it
    was not read; `problem` then says why, in words, if it was needed.
    """

    kind: FileKind
    resolved: str = ""
    text: str | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ToolPrompt:
    """What the operator is shown for a tool call, made by `core/tool_prompts.py`.

    `rows` show every arg. `warnings` are sentences of this program, which may quote args. `preview` is what the gate
    read itself, None if the tool changes no file.
    """

    question: str
    rows: tuple[Row, ...]
    risk: Risk
    warnings: tuple[str, ...] = ()
    preview: PreviewResult | None = None


@dataclass(frozen=True, slots=True)
class ResolvedTool:
    """A tool call with what the gate found about it: the one value that its prompt and its digest are made from.

    `leads_to` are the paths that it names, without symbolic links. `claims` are part of what is shown.
    """

    call: ToolCall
    shown: ToolPrompt
    leads_to: tuple[str, ...] = ()
    claims: DoorClaims = DoorClaims()

    @property
    def args(self) -> JsonObject:
        """Exactly what would be executed."""
        return self.call.args

    @property
    def steps(self) -> tuple[ResolvedStep, ...]:
        """Nothing runs in the gate."""
        return ()

    @property
    def connector(self) -> ConnectorRef:
        """The MCP server that has the tool, and the hash of its definition. No connector of the gate runs."""
        return self.call.connector
