"""Policies for MCP servers: which tool shows the operator what a call is about, and which calls are of high risk.

A policy is a TOML file of the user. Its `preview` tables use the language of `[approval.preview]` in action manifests;
the differences are those between a connector's op and a tool: the tool belongs to the same server, its args have types,
and its result has the form of MCP.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from aileron_tui.core.action_templates import TemplateWords, check_template
from aileron_tui.core.findings import Finding, Path, Problems, Reading
from aileron_tui.core.interpolation import TOOL_TOKEN, interpolate_tool
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.preview_directive import PreviewDirective, read_directive
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.toml_manifest import read_toml_manifest
from aileron_tui.core.toml_schema import (
    AnyTableSchema,
    Fields,
    NamedTablesSchema,
    StringListSchema,
    StringTableSchema,
    TableSchema,
    dotted,
)
from aileron_tui.core.values import dataclass

if TYPE_CHECKING:
    from aileron_tui.core.prompt import PreviewResult

MOST_ROWS: Final = 20
"""How many fields of a result a preview can show."""
LONGEST_LABEL: Final = 40
"""The longest label of a row. How many values or characters there are may be added to it."""
LONGEST_NAME: Final = 128
"""The longest name of a tool that the protocol recommends."""
RISKS: Final = (RiskLevel.NORMAL, RiskLevel.HIGH)
TOOL_WORDS: Final = TemplateWords(
    TOOL_TOKEN, "${{args.{name}}} is not an arg of this tool", "Use the name of an arg of the tool that is asked about."
)

_FIELDS: Final[Fields] = {
    "server": str,
    "description": str,
    "tools": NamedTablesSchema(
        {
            "risk": str,
            "preview": TableSchema(
                {
                    "tool": str,
                    "args": AnyTableSchema(),
                    "render": StringTableSchema(),
                    "multiline": StringListSchema(),
                    "absent": StringListSchema(),
                }
            ),
        }
    ),
}
_FIRST_PARTS: Final = ("content", "structuredContent")


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """What a policy says about one tool.

    An answer of the preview tool that is an error and begins with one of the texts in `absent` says that what it was
    asked for does not exist, such as a file that is about to be created.
    """

    risk: RiskLevel | None = None
    preview: PreviewDirective | None = None
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class McpPolicy:
    """A policy without errors. `server` names the server that it was written for, such as its package."""

    server: str
    description: str
    tools: Mapping[str, ToolPolicy]

    def preview_call(self, tool: str, args: JsonObject) -> tuple[str, JsonObject] | None:
        """The tool to call before a call of `tool` with these args is asked about, and its args; None if there is none.

        Args that were not given are left out, and no template is ever sent as text.
        """
        preview = self._of(tool).preview
        return (preview.op, interpolate_tool(preview.args, args)) if preview else None

    def preview_result(self, tool: str, result: JsonObject) -> "PreviewResult":
        """What the operator is shown of the result of that call. Never raises, whatever the server answered."""
        from aileron_tui.core.mcp_preview import no_preview, tool_preview  # noqa: PLC0415  # `lint` shows no previews

        known = self._of(tool)
        if known.preview is None:
            return no_preview(tool)
        return tool_preview(known.preview, known.absent, result)

    def risk(self, tool: str) -> RiskLevel | None:
        """The least risk of a call of this tool, or None if the policy does not set one."""
        return self._of(tool).risk

    def _of(self, tool: str) -> ToolPolicy:
        return self.tools.get(tool, _NOTHING)


_NOTHING: Final = ToolPolicy()


def read_policy(text: bytes | str, file: str) -> tuple[McpPolicy | None, tuple[Finding, ...]]:
    """Returns the policy in a file, or None if it has errors, and every problem found in it."""
    reading = policy_reading(text, file)
    return reading.value, reading.findings


def policy_reading(data: bytes | str, file: str) -> Reading[McpPolicy]:
    """Returns the policy in a file together with its source, as other manifests are read."""
    return read_toml_manifest(data, file, _FIELDS, _policy)


def is_policy(table: Mapping[str, object]) -> bool:
    """Whether a TOML file is a policy for an MCP server rather than another manifest."""
    return "tools" in table or "server" in table


def _policy(table: dict[str, Any], problems: Problems) -> McpPolicy:
    for key, fix in (
        ("server", "Name the server's package, such as @modelcontextprotocol/server-filesystem."),
        ("tools", "Add a table such as [tools.write_file.preview]."),
    ):
        if problems.missing(table.get(key), (key,)):
            problems.add((key,), "required", f"{key} is required", fix)
    tools = {name: _tool(name, item, ("tools", name), problems) for name, item in table.get("tools", {}).items()}
    return McpPolicy(table.get("server", ""), table.get("description", ""), tools)


def _tool(name: str, table: dict[str, Any], path: Path, problems: Problems) -> ToolPolicy:
    _check_name(name, path, problems)
    if not table and not problems.any:
        fix = "Add risk or a preview, or remove the table."
        problems.add(path, "tool-empty", f"{dotted(path)} says nothing about the tool", fix)
    preview: dict[str, Any] | None = table.get("preview")
    risk = _risk(table.get("risk"), (*path, "risk"), problems)
    if preview is None:
        return ToolPolicy(risk)
    directive = _preview(name, preview, (*path, "preview"), problems)
    return ToolPolicy(risk, directive, _absent(preview.get("absent", ()), (*path, "preview", "absent"), problems))


def _check_name(name: str, path: Path, problems: Problems) -> None:
    if not name.strip():
        problems.add(path, "tool-name", "the name of a tool is empty", "Write the name as the server does.")
    elif len(name) > LONGEST_NAME:
        message = f"the name of a tool has {len(name):,} characters"
        problems.add(path, "tool-name", message, f"A preview can only use names of at most {LONGEST_NAME}.")


def _risk(level: str | None, path: Path, problems: Problems) -> RiskLevel | None:
    if level is None:
        return None
    if level not in RISKS:
        fix = f"Use one of {', '.join(RISKS)}. A policy can only raise the risk."
        problems.add(path, "risk", f'"{level}" is not a valid risk', fix)
        return None
    return RiskLevel(level)


def _preview(name: str, table: dict[str, Any], path: Path, problems: Problems) -> PreviewDirective:
    tool: str = table.get("tool", "")
    if problems.missing(tool.strip(), (*path, "tool")):
        fix = "Name a tool of the same server that only reads."
        problems.add((*path, "tool"), "required", f"{dotted((*path, 'tool'))} is required", fix)
    else:
        _check_name(tool, (*path, "tool"), problems)
    if tool == name:
        message = f"{tool} cannot be its own preview: it would be called before anyone is asked"
        problems.add((*path, "tool"), "preview-itself", message, "Name another tool, which only reads.")
    render: dict[str, str] = table.get("render", {})
    here = (*path, "render")
    if problems.missing(render, here):
        fix = 'Add at least one field of the result, such as "Present content" = "content.0.text".'
        problems.add(here, "required", f"{dotted(here)} is required", fix)
    if len(render) > MOST_ROWS:
        problems.add(here, "render-count", f"{len(render)} fields are shown", f"Show at most {MOST_ROWS}.")
    for label, target in render.items():
        if len(label) > LONGEST_LABEL:
            message = f"a label in render has {len(label):,} characters"
            problems.add((*here, label), "render-label", message, f"Write at most {LONGEST_LABEL}.")
        if target.strip() and target.split(".", 1)[0] not in _FIRST_PARTS:
            message = f'"{target}" is not a path into the result of a tool'
            fix = "Begin it with content, such as content.0.text, or with structuredContent."
            problems.add((*here, label), "render-path", message, fix)
    check_template(table.get("args", {}), (*path, "args"), None, problems, TOOL_WORDS)
    return read_directive(tool, table, path, problems)


def _absent(texts: list[str] | tuple[()], path: Path, problems: Problems) -> tuple[str, ...]:
    for index, text in enumerate(texts):
        if not text.strip():
            fix = "Write how the server's error begins, or remove the entry."
            problems.add((*path, index), "absent", f"{dotted((*path, index))} is empty", fix)
    return tuple(texts)
