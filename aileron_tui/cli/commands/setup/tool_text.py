"""The tools of an MCP server as text for the terminal. Everything that a server says is foreign text."""

import json
import sys
from collections.abc import Iterable
from typing import Final

from aileron_tui.cli.commands.setup.settings_text import diff_lines, tell
from aileron_tui.cli.output import counted, write
from aileron_tui.core.mcp_tools import PinnedTool, hints
from aileron_tui.core.tool_changes import ToolChanges
from aileron_tui.core.visible_text import inline, quoted

_QUOTE: Final = "    > "
_LONGEST: Final = 1000
_MOST_CHANGES: Final = 20


def tell_tools(tools: Iterable[PinnedTool]) -> None:
    """Writes each tool with what the server says about it. Only the server's own words begin with `>`."""
    for tool in tools:
        found = hints(tool.definition)
        says = (
            " says that it only reads" if found.read_only else " says that it may destroy" if found.destructive else ""
        )
        tell(f"  {quoted(tool.name)}{says}")
        description = tool.definition.get("description")
        if isinstance(description, str) and description:
            write(sys.stderr, f"{_QUOTE}{inline(description[:_LONGEST])}", indent=_QUOTE)
            if (more := len(description) - _LONGEST) > 0:
                tell(f"    … and {counted(more, 'more character')}")
        if names := _inputs(tool):
            tell(f"    inputs: {', '.join(map(quoted, names))}")


def tell_changes(changes: ToolChanges) -> None:
    """Writes what has changed since the tools were pinned."""
    for tool in changes.gone:
        tell(f"  {quoted(tool.name)} is gone")
    for old, new in changes.changed[:_MOST_CHANGES]:
        tell(f"  {quoted(new.name)} has changed:")
        for line in diff_lines("definition", _text(old), _text(new))[2:]:
            write(sys.stderr, f"    {line}", indent=f"    {line[:1]} ")
    if (more := len(changes.changed) - _MOST_CHANGES) > 0:
        tell(f"  … and {counted(more, 'more tool')} that changed")
    tell_tools(changes.new)


def _inputs(tool: PinnedTool) -> list[str]:
    schema = tool.definition.get("inputSchema")
    found = schema.get("properties") if isinstance(schema, dict) else None
    return list(found) if isinstance(found, dict) else []


def _text(tool: PinnedTool) -> str:
    return json.dumps(dict(tool.definition), indent=1, ensure_ascii=False, sort_keys=True)
