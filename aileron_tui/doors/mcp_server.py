"""The MCP server of the gate's actions. It decides nothing: every call goes to the gate, with the agent's token."""

import asyncio
import logging
import os
import signal
import sys
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from aileron_tui import __version__
from aileron_tui.core.action_answers import ToolAnswer, not_called, wrong_arguments
from aileron_tui.core.action_tools import INSTRUCTIONS, RESULT_TOOL, STATUS_TOOL, ActionTools, own_tools
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.visible_text import inline
from aileron_tui.doors.action_calls import ActionCalls, GateAccess
from aileron_tui.doors.mcp_stdio import StdioTransport, Wire

INTERRUPTED: Final = 130

_FIRST_PROGRESS_SECONDS: Final = 1.0
_PROGRESS_SECONDS: Final = 5.0
_CHECK_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 2.0
_MOST_SUBSCRIPTIONS: Final = 8
_LONGEST_CLAIM: Final = 100

Context = ServerRequestContext[Any, Any]

log: Final = logging.getLogger(__name__)


class ActionServer:
    """The handlers of one conversation."""

    def __init__(self, calls: ActionCalls, check_seconds: float) -> None:
        self._calls = calls
        self._check_seconds = check_seconds
        self._own = own_tools()
        self._tools = ActionTools((), {})
        self._listed: tuple[JsonObject, ...] | None = None
        self._bus = InMemorySubscriptionBus()
        self._session: ServerSession | None = None
        self.server: Server[Any] = Server(
            "aileron-tui",
            version=__version__,
            title="Actions behind an approval gate",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus, max_subscriptions=_MOST_SUBSCRIPTIONS),
        )

    async def watch(self) -> None:
        """Tells the client when the tools are no longer those that it was given."""
        while True:
            await asyncio.sleep(self._check_seconds)
            try:
                await self._announce_changes()
            except Exception:  # the tools can be called all the same
                log.exception("it could not be checked whether the tools have changed")

    async def _announce_changes(self) -> None:
        if self._listed is None or (current := await self._current()) == self._listed:
            return
        self._listed = current
        await self._bus.publish(ToolsListChanged())
        if self._session is not None:
            await self._session.send_tool_list_changed()

    async def _list_tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        """Our own tools and those of the actions. While the gate cannot be asked, nobody knows which actions it has."""
        del params
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self._session = context.session
        self._listed = await self._current()
        return ListToolsResult(tools=[Tool.model_validate(definition) for definition in self._listed])

    async def _current(self) -> tuple[JsonObject, ...]:
        try:
            self._tools = await self._calls.tools()
        except AileronError as error:
            if self._listed is None or len(self._listed) > len(self._own):
                log.warning("the actions cannot be listed: %s. %s", error, error.hint)
            return self._own
        return (*self._own, *self._tools.definitions)

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        try:
            answer = await self._answer(context, params.name, params.arguments or {})
        except MCPError:
            raise
        except Exception as error:  # the client must not take a bug for a call that was not made
            log.exception("a call of %s failed", params.name)
            message = f"aileron-tui failed ({type(error).__name__}). It is not known whether anything was run."
            answer = ToolAnswer(message, {"status": "outcome_unknown", "message": message}, is_error=True)
        text = TextContent(type="text", text=answer.text)
        return CallToolResult(content=[text], structured_content=answer.content, is_error=answer.is_error)

    async def _answer(self, context: Context, tool: str, args: JsonObject) -> ToolAnswer:
        if tool == STATUS_TOOL:
            return wrong_arguments("this tool takes none") if args else await self._calls.status()
        if tool == RESULT_TOOL:
            match args:
                case {"approval_id": str(id_), **more} if not more:
                    return await self._with_progress(context, "the result", self._calls.result(id_))
            return wrong_arguments('"approval_id" is required, must be a string, and is the only argument')
        action = self._tools.actions.get(tool)
        if action is None:
            try:
                self._tools = await self._calls.tools()
            except AileronError as error:
                return not_called(tool, error)
            action = self._tools.actions.get(tool)
        if action is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {tool[:_LONGEST_CLAIM]}")
        return await self._with_progress(context, action, self._calls.call(action, args, _claimed_name(context)))

    async def _with_progress(self, context: Context, what: str, work: Any) -> ToolAnswer:
        """Waits for a call, and tells a client that asked for it that the call is alive."""
        task: asyncio.Task[ToolAnswer] = asyncio.ensure_future(work)
        waited, pause = 0.0, _FIRST_PROGRESS_SECONDS
        try:
            while not (await asyncio.wait((task,), timeout=pause))[0]:
                waited, pause = waited + pause, _PROGRESS_SECONDS
                await context.session.report_progress(waited, message=f"Waiting in aileron-tui for {what}")
            return task.result()
        finally:
            task.cancel()


def serve(access: GateAccess, hold: int, wire: Wire) -> int:
    """Serves one client until it has gone or a signal arrives; returns the exit code."""
    _log_to_standard_error()
    return asyncio.run(_serve(access, hold, wire))


async def _serve(access: GateAccess, hold: int, wire: Wire) -> int:
    transport = StdioTransport(wire)
    received = _catch_signals(transport)
    await converse(ActionCalls(access, hold), transport)
    return INTERRUPTED if signal.SIGINT in received else 0


async def converse(calls: ActionCalls, transport: StdioTransport, check_seconds: float = _CHECK_SECONDS) -> None:
    """Serves one client until the conversation ends, then withdraws what nobody will fetch."""
    handlers = ActionServer(calls, check_seconds)
    options = handlers.server.create_initialization_options(NotificationOptions(tools_changed=True))
    watching = asyncio.create_task(handlers.watch())
    async with transport.streams() as (reads, writes):
        serving = asyncio.create_task(handlers.server.run(reads, writes, options))
        await asyncio.wait((serving, asyncio.create_task(transport.ended.wait())), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((serving,), timeout=_STOP_SECONDS)
        serving.cancel()
        watching.cancel()
        await asyncio.wait((serving, watching), timeout=_STOP_SECONDS)
        await calls.withdraw_all()
    if serving.done() and not serving.cancelled() and (error := serving.exception()):
        raise AileronError("the MCP server failed", f"{type(error).__name__}: {error}") from error


def _catch_signals(transport: StdioTransport) -> list[signal.Signals]:
    """Lets the first signal end the conversation properly and the second one at once; returns those that arrived."""
    received: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        if received:
            os._exit(INTERRUPTED)
        received.append(number)
        transport.end()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    return received


def _claimed_name(context: Context) -> str:
    """What the client calls itself, which nobody has checked."""
    params = context.session.client_params
    if params is None:
        return ""
    name = f"{params.client_info.name[:_LONGEST_CLAIM]} {params.client_info.version[:_LONGEST_CLAIM]}"
    return "".join(character if character.isprintable() else "�" for character in name).strip()


class _VisibleFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"aileron-tui mcp: {inline(super().format(record))}"


def _log_to_standard_error() -> None:
    """Logs warnings to standard error, which clients show or store; foreign text in them is made visible."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_VisibleFormatter("%(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
