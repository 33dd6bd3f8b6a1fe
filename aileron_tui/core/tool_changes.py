"""How the tools of an MCP server differ from those that were pinned."""

from collections.abc import Iterable

from aileron_tui.core.mcp_tools import PinnedTool, tool_named
from aileron_tui.core.values import dataclass


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
