"""The tools that an MCP server has listed: to its client and to the proxy itself.

A server can describe a tool differently to each of them, so both count: every definition that the client was given must
have been accepted, and so must the newest one.
"""

from collections import Counter
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.mcp_tools import PinnedTool, pinned

MOST_PAGES: Final = 200
MOST_TOOLS: Final = 10_000


class ToolFault(AileronError):
    """A tool that cannot be called, or a list of tools that cannot be used."""


class _Listing:
    """One list of tools, by its pages, in the order in which they were fetched."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[PinnedTool, ...]] = {}

    def tools(self) -> dict[str, PinnedTool]:
        return {tool.name: tool for page in self.pages.values() for tool in page}

    def doubles(self) -> set[str]:
        names = Counter(tool.name for page in self.pages.values() for tool in page)
        return {name for name, count in names.items() if count > 1}


class ToolListings:
    """What a server says about its tools."""

    def __init__(self) -> None:
        self._of_client = _Listing()
        self._continued: dict[str, _Listing] = {}
        self._told: dict[str, PinnedTool] = {}
        self._own: _Listing | None = None
        self._is_stale = False
        self.changes = 0

    def changed(self) -> None:
        """The server has said that its tools have changed, so they must be listed again before the next call."""
        self.changes += 1
        self._is_stale = True
        self._own = None

    def add_client_page(self, cursor: str, result: Json) -> None:
        """The client was given a page of the list. Raises ToolFault if the page cannot be understood."""
        tools, after = read_page(result)
        listing = self._continued.get(cursor, _Listing()) if cursor else _Listing()
        listing.pages.pop(cursor, None)
        listing.pages[cursor] = tools
        if not cursor:
            self._continued.clear()
            self._is_stale = False
            self._own = None
        if after:
            self._continued[after] = listing
        self._of_client = listing
        self._told |= listing.tools()

    def add_own(self, pages: dict[str, tuple[PinnedTool, ...]]) -> None:
        """The proxy has listed all tools itself."""
        self._own = _Listing()
        self._own.pages = pages
        self._is_stale = False

    def needs_listing(self, name: str) -> bool:
        """Whether the proxy must list the tools itself before this tool can be called."""
        return self._own is None and (self._is_stale or name not in self._of_client.tools())

    def versions(self, name: str) -> tuple[PinnedTool, ...]:
        """The definitions of a tool that matter, the current one last. Raises ToolFault."""
        newest = self._own if self._own is not None else self._of_client
        if any(name in listing.doubles() for listing in (newest, self._of_client)):
            raise ToolFault("the server lists two tools of this name, so nobody knows which one would be called")
        current = newest.tools().get(name)
        if current is None:
            raise ToolFault("the server has no tool of this name")
        told = self._told.get(name)
        return (current,) if told is None or told.hash == current.hash else (told, current)


def read_page(result: Json) -> tuple[tuple[PinnedTool, ...], str]:
    """The tools of one page of a list, and where it continues, "" if it does not. Raises ToolFault."""
    fields = result if isinstance(result, dict) else {}
    listed, after = fields.get("tools"), fields.get("nextCursor")
    if not isinstance(listed, list):
        raise ToolFault("the list of tools cannot be read", "it has no tools")
    if after is not None and not isinstance(after, str):
        raise ToolFault("the list of tools cannot be read", "nextCursor is not a text")
    return tuple(_tool(item) for item in listed), after or ""


def _tool(value: Json) -> PinnedTool:
    try:
        if isinstance(value, dict):
            return pinned(value)
    except (JsonError, ValueError) as error:
        raise ToolFault("the list of tools cannot be read", str(error)) from None
    raise ToolFault("the list of tools cannot be read", "a tool is not an object")


def definition_change(before: PinnedTool | None, after: PinnedTool) -> JsonObject:
    """What the operator is asked about if the definition of a tool has changed."""
    return {"before": before.definition if before else None, "after": after.definition}
