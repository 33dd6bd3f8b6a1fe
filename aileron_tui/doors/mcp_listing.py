"""Starts or reaches an MCP server once, and asks it for its tools."""

from aileron_tui.core.mcp_tools import PinnedTool
from aileron_tui.doors.mcp_entries import ServerStart
from aileron_tui.doors.mcp_session import McpSession, SessionLimits, Transport
from aileron_tui.doors.mcp_session_process import SessionProcess


def listed_tools(start: ServerStart, limits: SessionLimits | None = None) -> tuple[PinnedTool, ...]:
    """The tools of a server as they are now, in order of their names. Raises SessionFault or ToolFault.

    What is raised may contain foreign text.
    """
    with McpSession(_transport(start), limits) as session:
        session.start()
        found = session.tools()
    return tuple(found[name] for name in sorted(found))


def _transport(start: ServerStart) -> Transport:
    if start.url:
        from aileron_tui.doors.mcp_session_http import SessionHttp  # noqa: PLC0415  # most servers are started

        return SessionHttp(start.url)
    return SessionProcess(start.command, start.folder, start.env)
