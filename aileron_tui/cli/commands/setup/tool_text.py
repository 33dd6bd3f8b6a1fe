"""The tools of an MCP server as text for the terminal. Everything that a server says is foreign text."""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from aileron_tui.cli.commands.setup.settings_text import diff_lines
from aileron_tui.cli.output import counted
from aileron_tui.core.mcp_tools import PinnedTool, hints
from aileron_tui.core.tool_changes import ToolChanges
from aileron_tui.core.visible_text import inline

_LONGEST: Final = 300
_MOST_CHANGES: Final = 20


def tool_lines(tools: Iterable[PinnedTool]) -> Iterator[str]:
    """Each tool with what the server says about it."""
    for tool in tools:
        found = hints(tool.definition)
        says = "  (it says: only reads)" if found.read_only else "  (it says: may destroy)" if found.destructive else ""
        yield f"  {inline(tool.name)}{says}"
        description = tool.definition.get("description")
        if isinstance(description, str) and description:
            more = len(description) - _LONGEST
            left_out = f" … and {counted(more, 'more character')}" if more > 0 else ""
            yield f"    > {inline(description[:_LONGEST])}{left_out}"
        if names := _inputs(tool):
            yield f"    inputs: {inline(', '.join(names))}"


def change_lines(changes: ToolChanges) -> Iterator[str]:
    """What has changed since the tools were pinned."""
    for tool in changes.gone:
        yield f"  {inline(tool.name)} is gone"
    for old, new in changes.changed[:_MOST_CHANGES]:
        yield f"  {inline(new.name)} has changed:"
        yield from (f"    {line}" for line in diff_lines(f"tool {new.name}", _text(old), _text(new))[2:])
    if (more := len(changes.changed) - _MOST_CHANGES) > 0:
        yield f"  … and {counted(more, 'more tool')} that changed"
    yield from tool_lines(changes.new)


def _inputs(tool: PinnedTool) -> list[str]:
    schema = tool.definition.get("inputSchema")
    found = schema.get("properties") if isinstance(schema, dict) else None
    return list(found) if isinstance(found, dict) else []


def _text(tool: PinnedTool) -> str:
    return json.dumps(dict(tool.definition), indent=1, ensure_ascii=False, sort_keys=True)
