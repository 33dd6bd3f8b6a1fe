"""The tools of an MCP server as text for the terminal. Everything that a server says is foreign text."""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from aileron_tui.cli.commands.setup.settings_text import diff_lines
from aileron_tui.cli.output import counted
from aileron_tui.core.mcp_tools import PinnedTool, hints, tool_named
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline

_LONGEST: Final = 300
_MOST_CHANGES: Final = 20


@dataclass(frozen=True, slots=True)
class ToolChanges:
    """How the tools of a server differ from those that were pinned before."""

    new: tuple[PinnedTool, ...]
    changed: tuple[tuple[PinnedTool, PinnedTool], ...]
    gone: tuple[PinnedTool, ...]

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)


def tool_changes(pinned: Iterable[PinnedTool], now: Iterable[PinnedTool]) -> ToolChanges:
    """Compares pinned tools with those that a server has now."""
    before, after = tuple(pinned), tuple(now)
    known = [(tool_named(before, tool.name), tool) for tool in after]
    return ToolChanges(
        tuple(tool for old, tool in known if old is None),
        tuple((old, tool) for old, tool in known if old is not None and old.hash != tool.hash),
        tuple(tool for tool in before if tool_named(after, tool.name) is None),
    )


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
