"""The MCP proxy as a process: puts its parts together, and runs until the client or the server is gone."""

import gc
import os
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.doors.known_servers import KnownServer, read_server
from aileron_tui.doors.mcp_child import ServerProcess
from aileron_tui.doors.mcp_gated_calls import ProxySetting
from aileron_tui.doors.mcp_grants import grants
from aileron_tui.doors.mcp_previews import Policy
from aileron_tui.doors.mcp_proxy import McpProxy
from aileron_tui.doors.mcp_proxy_loop import ProxyLoop
from aileron_tui.doors.mcp_questions import GateAccess, Questions
from aileron_tui.doors.mcp_unready import UnreadyProxy

DEFAULT_HOLD: Final = 50
"""Seconds. Many clients wait 60 seconds for a tool."""

_REPORT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """What the command line says. Without a command and a URL, those of the setup are used."""

    name: str
    data: Path
    command: tuple[str, ...] = ()
    url: str = ""
    hold: int = DEFAULT_HOLD
    bearer: str = ""
    gate: str = ""
    token_file: Path | None = None


def run_proxy(options: ProxyOptions) -> int:
    """Runs the proxy; returns the exit code."""
    loop = ProxyLoop()
    try:
        known = read_server(options.data, options.name)
        command, url = _target(options, known)
        setting = ProxySetting(known, options.data, float(options.hold), _policy(known.policy))
        server = None if url else ServerProcess(command)
    except AileronError as error:
        return loop.run(UnreadyProxy(loop, error), None)
    access = GateAccess(known.agent, options.data, options.gate, options.token_file)
    questions = Questions(access, f"mcp-{os.urandom(8).hex()}", grants(options.data, known.agent), loop.post)
    proxy = McpProxy(loop, questions, setting)
    gc.freeze()  # so that what stays is not looked through again and again
    try:
        if server is not None:
            return loop.run(proxy, server)
        from aileron_tui.doors.mcp_http_server import HttpServer  # noqa: PLC0415  # not for processes

        return loop.run(proxy, HttpServer(url, options.bearer, loop, proxy))
    finally:
        questions.finish(_REPORT_SECONDS)


def _target(options: ProxyOptions, known: KnownServer) -> tuple[tuple[str, ...], str]:
    """The command or the URL of the server: that of its set-up, and no other, because its tools were seen there."""
    wanted, seen = (options.command, options.url), (known.command, known.url)
    if any(seen) and any(wanted) and wanted != seen:
        title = f"the MCP server {known.name} was set up with another command or address"
        hint = "Run `aileron-tui setup mcp` again, and look at what it would start."
        raise AileronError(title, " ".join(known.command) or known.url, hint)
    if any(seen) or any(wanted):
        return seen if any(seen) else wanted
    hint = "Pass its command after `--`, or its address with --url."
    raise AileronError(f"it is not known how to start or reach the MCP server {known.name}", hint=hint)


def _policy(file: str) -> Policy | None:
    """The user's policy. One that cannot be used stops the proxy: without it, a high risk would look normal."""
    if not file:
        return None
    from aileron_tui.files.policy_files import load_policy  # noqa: PLC0415  # only if there is a policy

    return load_policy(Path(file))


def bearer_from(variable: str) -> str:
    """The token in an environment variable. Raises AileronError if it is not set."""
    if not variable:
        return ""
    if not (token := os.environ.get(variable, "")):
        raise AileronError(f"the environment variable {variable} is not set", hint="Set it to the server's token.")
    return token
