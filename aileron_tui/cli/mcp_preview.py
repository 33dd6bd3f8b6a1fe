"""The prompt for a call of an MCP tool, as the operator would see it. The server is started only for the preview."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from aileron_tui.cli import action_inputs
from aileron_tui.cli.exit_codes import FAILED, NOT_FOUND, OK, USAGE
from aileron_tui.cli.output import columns, print_json, write, write_error
from aileron_tui.core.findings import Finding
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.mcp_policy import McpPolicy
from aileron_tui.core.mcp_policy_check import check_policy
from aileron_tui.core.mcp_tools import PinnedTool, hints, tool_named
from aileron_tui.core.prompt import PROXY, Asker, PreviewResult, Prompt, lines
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.toml_schema import nearest
from aileron_tui.core.tool_call import ToolCall
from aileron_tui.core.tool_prompts import tool_prompt, with_claims
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.doors.known_servers import NoSuchServer, read_server
from aileron_tui.doors.mcp_previews import Preview, proxy_claims
from aileron_tui.doors.mcp_session import McpSession, SessionLimits, Transport
from aileron_tui.doors.mcp_session_process import SessionFault, SessionProcess
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.files.policy_files import load_policy, read_policy_file
from aileron_tui.gate.door_claims import read_claims

LIMITS: Final = SessionLimits()
_UNNAMED: Final = "server"


@dataclass(frozen=True, slots=True)
class _Server:
    """Where the tool is. `pins` are the definitions that were accepted, None if the server is not set up.

    `agent` is the agent that asks.
    """

    name: str
    command: tuple[str, ...]
    url: str
    policy: Path | None
    pins: tuple[PinnedTool, ...] | None
    agent: str


@dataclass(frozen=True, slots=True)
class _Result:
    """What is printed: the prompt, what was called for its preview, and remarks for the author of the policy."""

    prompt: Prompt
    called: tuple[str, JsonObject] | None
    findings: tuple[Finding, ...]
    remarks: tuple[str, ...]


class _NoSuchTool(Exception):
    """The server has no tool of this name; `known` are those that it has."""

    def __init__(self, known: Mapping[str, PinnedTool]) -> None:
        super().__init__()
        self.known = list(known)


def run(options: argparse.Namespace) -> int:
    """Returns 0 on success, 1 if the preview is unavailable, 2 for wrong usage, 5 if a server or tool is unknown."""
    if wrong := _wrong_usage(options):
        write_error(wrong)
        return USAGE
    try:
        server = _server(options)
    except NoSuchServer as error:
        write_error(str(error), error.hint)
        return NOT_FOUND
    policy = load_policy(server.policy) if server.policy else None
    try:
        with McpSession(_transport(server), LIMITS) as session:
            result = _Trial(session, server, policy).result(options)
    except action_inputs.InvalidInputs as error:
        write_error(str(error))
        return USAGE
    except _NoSuchTool as error:
        close = nearest(options.action, error.known)
        hint = f'Did you mean "{close}"?' if close else f"Its tools are: {', '.join(error.known) or 'none'}."
        write_error(f'{server.name} has no tool "{options.action}"', hint)
        return NOT_FOUND
    if options.json:
        _print_document(server, result)
    else:
        _print(server, result)
    return FAILED if result.prompt.preview and result.prompt.preview.unavailable else OK


def _wrong_usage(options: argparse.Namespace) -> str:
    if options.demo or options.manifests:
        return "--demo and --manifests are for actions, not for tools of MCP servers"
    if options.url and options.command:
        return "a server has either a URL or a command, not both"
    if not (options.mcp or options.url or options.command):
        return "--policy also needs a server: --mcp NAME, --url URL, or its command after --"
    return ""


def _server(options: argparse.Namespace) -> _Server:
    if options.url or options.command:
        name = options.mcp or (options.policy.stem if options.policy else _UNNAMED)
        return _Server(name, tuple(options.command), options.url, options.policy, None, f"mcp-{name}")
    known = read_server(paths().data, options.mcp)
    policy = options.policy or (Path(known.policy) if known.policy else None)
    return _Server(known.name, known.command, known.url, policy, known.tools, known.agent)


def _transport(server: _Server) -> Transport:
    if server.url:
        from aileron_tui.doors.mcp_session_http import SessionHttp  # noqa: PLC0415  # most servers are started

        return SessionHttp(server.url)
    return SessionProcess(server.command)


class _Trial:
    """A call that is shown but not made, at a server that was started for it."""

    def __init__(self, session: McpSession, server: _Server, policy: McpPolicy | None) -> None:
        session.start()
        self._session = session
        self._server = server
        self._policy = policy
        self._tools = session.tools()

    def result(self, options: argparse.Namespace) -> _Result:
        tool = self._tools.get(options.action)
        if tool is None:
            raise _NoSuchTool(self._tools)
        args = action_inputs.read_inputs(tool.name, _types(tool.definition), options)
        called = self._policy.preview_call(tool.name, args) if self._policy else None
        preview = None
        if self._policy and called:
            preview = Preview(called, self._preview(self._policy, tool.name, *called), 0.0)
        is_high = self._policy is not None and self._policy.risk(tool.name) is RiskLevel.HIGH
        claims = proxy_claims(tool.definition, preview, is_high=is_high)
        prompt = _prompt(self._server, tool, args, claims)
        return _Result(prompt, called, self._findings(), tuple(_remarks(self._server, self._policy, tool)))

    def _preview(self, policy: McpPolicy, asked: str, name: str, args: JsonObject) -> PreviewResult:
        """What the proxy would fetch, under the same conditions."""
        if problem := self._obstacle(name):
            return PreviewResult(unavailable=problem)
        try:
            return policy.preview_result(asked, self._session.call(name, args))
        except SessionFault as error:
            return PreviewResult(unavailable=f"{name}: {error}")

    def _obstacle(self, name: str) -> str:
        """Why a tool cannot be called as a preview, or ""."""
        tool, pins = self._tools.get(name), self._server.pins
        if tool is None:
            return f"the server has no tool {name}"
        if pins is not None:
            known = tool_named(pins, name)
            if known is None:
                return f"{name} is not a pinned tool of this server"
            if known.hash != tool.hash:
                return f"the definition of {name} has changed"
        return "" if hints(tool.definition).read_only else f"the server does not say that {name} is read-only"

    def _findings(self) -> tuple[Finding, ...]:
        """What is wrong with the policy, now that the tools of the server are known."""
        if self._server.policy is None:
            return ()
        definitions = {tool.name: tool.definition for tool in self._tools.values()}
        return check_policy(read_policy_file(str(self._server.policy)), definitions)


def _prompt(server: _Server, tool: PinnedTool, args: JsonObject, claims: JsonObject) -> Prompt:
    """The prompt that the gate makes of what the proxy tells it."""
    call = ToolCall(tool.name, args, server.name, definition=tool.hash)
    read = read_claims(claims | {"server": server.name}, server.agent, PROXY, call.kind)
    shown = with_claims(tool_prompt(call, {}, load_config(paths().config).risk), read)
    return Prompt(
        kind=call.kind,
        action=tool.name,
        connector=call.connector,
        args=call.args,
        inputs=shown.rows,
        preview=shown.preview,
        asker=Asker(server.agent),
        risk=shown.risk,
        question=shown.question,
        warnings=shown.warnings,
    )


def _remarks(server: _Server, policy: McpPolicy | None, tool: PinnedTool) -> Iterator[str]:
    """What an author may wonder about."""
    if policy is None:
        yield "no policy is used, so there is no preview"
    elif policy.preview_call(tool.name, {}) is None:
        yield f"the policy has no preview for {tool.name}"
    if server.pins is not None:
        known = tool_named(server.pins, tool.name)
        if known is None:
            yield f"{tool.name} is not pinned yet; it will be when its first call is approved"
        elif known.hash != tool.hash:
            yield f"the definition of {tool.name} has changed; the proxy asks about that before it asks about a call"


def _types(definition: JsonObject) -> dict[str, str]:
    """The type of each arg by its name, "" if it is not a simple one."""
    match definition.get("inputSchema"):
        case {"properties": dict(properties)}:
            return {name: _type(schema) for name, schema in properties.items()}
    return {}


def _type(schema: Json) -> str:
    match schema:
        case {"type": str(name)}:
            return name
        case {"type": [*names]} | {"anyOf": [*names]} | {"oneOf": [*names]}:
            found = (name if isinstance(name, str) else _type(name) for name in names)
            return next((name for name in found if name and name != "null"), "")
    return ""


def _print(server: _Server, result: _Result) -> None:
    prompt = result.prompt
    sys.stdout.write("".join(f"{line}\n" for line in lines(prompt, columns(sys.stdout))))
    write(sys.stdout, *(f"! {inline(warning)}" for warning in prompt.warnings))
    details = {
        "risk": f"{prompt.risk.level}: {prompt.risk.reason}",
        "server": server.name,
        "definition": prompt.connector.hash,
    }
    write(sys.stdout, "", *(f"{name:<11} {inline(value)}" for name, value in details.items() if value))
    sys.stdout.flush()
    write(sys.stderr, *(f"note: {inline(remark)}" for remark in result.remarks))
    write(sys.stderr, *map(_finding_line, result.findings))


def _finding_line(finding: Finding) -> str:
    place = f"{inline(finding.file)}:{finding.line}:{finding.column}"
    return f"{place}: {finding.severity.value}: {inline(finding.message)} [{finding.rule}]"


def _print_document(server: _Server, result: _Result) -> None:
    prompt = result.prompt
    called: Json = {"tool": result.called[0], "args": result.called[1]} if result.called else None
    document: JsonObject = {
        "server": server.name,
        "tool": prompt.action,
        "definition": prompt.connector.hash,
        "digest": prompt.digest,
        "prompt": prompt.fields(),
        "lines": [str(line) for line in lines(prompt)],
        "preview_call": called,
        "notes": list(result.remarks),
        "findings": [_finding_line(finding) for finding in result.findings],
    }
    print_json(document)
