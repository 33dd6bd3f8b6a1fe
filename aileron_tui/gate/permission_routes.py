"""The HTTP routes for tool calls: an agent asks whether its own program may execute one, and reports what became of it.

Nothing that the gate read for the operator is ever sent here.
"""

import secrets
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.jsontext import JsonError, JsonObject, kind, with_canonical_numbers
from aileron_tui.core.prompt import Asker
from aileron_tui.core.tool_call import ToolCall
from aileron_tui.gate import permission_docs as docs
from aileron_tui.gate.call_inputs import tool_fingerprint
from aileron_tui.gate.door_claims import check_definition, read_claims
from aileron_tui.gate.gate_request import ToolDoor
from aileron_tui.gate.held_calls import HeldCalls
from aileron_tui.gate.http_request import HttpRequest, invalid_body, json_response, reply_response, unauthorized
from aileron_tui.gate.permission_handler import ToolQuestion
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.route_table import Route, RouteAccess

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

LONGEST_HOLD: Final = 3600
"""How many seconds a response can be held open for the answer."""

_LONGEST: Final = {
    "tool": 200,
    "server": 200,
    "folder": 4096,
    "session": 200,
    "call_id": 200,
    "door": 32,
    "says": 200,
    "batch": 100,
    "definition": 71,
    "risk": 8,
    "risk_reason": 200,
    "kind": 16,
}
_ASKED: Final = frozenset({*_LONGEST, "input", "can_edit", "seconds", "preview", "resumable"})
_REPORTED: Final = frozenset({"status", "input", "error"})
_STATUSES: Final = ("executed", "failed", "unknown")
_EVENTS: Final = ("started", "heard", "ended")
_LONGEST_ERROR: Final = 16 * 1024
_HTTP: Final = "http"
_RETRY_SECONDS: Final = 2


class PermissionRoutes:
    """The routes for tool calls."""

    def __init__(self, gate: "Gate", held: HeldCalls) -> None:
        self._gate = gate
        self._held = held
        self.routes = (
            Route("POST", "/v1/permissions", RouteAccess.AGENT, self.ask, docs.ASK),
            Route("POST", "/v1/permissions/outcome", RouteAccess.AGENT, self.call_outcome, docs.CALL_OUTCOME),
            Route("GET", "/v1/permissions/{id}", RouteAccess.AGENT, self.poll, docs.POLL),
            Route("DELETE", "/v1/permissions/{id}", RouteAccess.AGENT, self.withdraw, docs.WITHDRAW),
            Route("POST", "/v1/permissions/{id}/outcome", RouteAccess.AGENT, self.outcome, docs.OUTCOME),
            Route("POST", "/v1/doors", RouteAccess.AGENT, self.door, docs.DOOR),
            Route("GET", "/v1/agent", RouteAccess.AGENT, self.agent, docs.AGENT),
        )

    async def ask(self, http_request: HttpRequest) -> Response:
        """Asks about a tool call. Without `Prefer: wait`, the response says where to poll."""
        http_request.query()
        self._held.check_rate(http_request)
        body = await http_request.body(http_request.limits.call_bytes, _ASKED)
        asked = read_question(body, http_request.agent.name)
        if not self._gate.agents().with_hash(http_request.agent.token):
            raise unauthorized()  # the token was revoked or replaced while the body was read
        return await self._reply(http_request, partial(self._gate.ask_permission, asked, agent=http_request.agent.name))

    async def poll(self, http_request: HttpRequest) -> Response:
        """Returns the answer to a tool call, or its state while it waits."""
        http_request.query()
        id_ = http_request.path_params["id"]
        return await self._reply(http_request, partial(self._gate.permission, id_, agent=http_request.agent.name))

    async def _reply(self, http_request: HttpRequest, call: Callable[..., Coroutine[Any, Any, Reply]]) -> Response:
        wait = http_request.wait(LONGEST_HOLD)
        reply = await (call(wait=None) if wait is None else self._held.wait(http_request, call, wait))
        headers = {} if wait is None else {"Preference-Applied": f"wait={wait}"}
        if reply.status == 202:
            headers |= {"Location": str(reply.body["result_url"]), "Retry-After": str(_RETRY_SECONDS)}
        return reply_response(reply, headers)

    async def withdraw(self, http_request: HttpRequest) -> Response:
        """Withdraws a tool call that waits for an answer."""
        http_request.query()
        id_ = http_request.path_params["id"]
        refused = await self._gate.withdraw(id_, agent=http_request.agent.name, is_tool=True)
        return reply_response(refused) if refused else Response(status_code=204)

    async def outcome(self, http_request: HttpRequest) -> Response:
        """Takes the report about a tool call."""
        http_request.query()
        report = read_report(await http_request.body(http_request.limits.call_bytes, _REPORTED))
        id_ = http_request.path_params["id"]
        return reply_response(await self._gate.report_outcome(id_, report, agent=http_request.agent.name))

    async def call_outcome(self, http_request: HttpRequest) -> Response:
        """Takes the report about a tool call, given by its session and call id."""
        http_request.query()
        body = await http_request.body(http_request.limits.call_bytes, _REPORTED | {"session", "call_id"})
        session, call_id = _text(body, "session"), _text(body, "call_id", required=True)
        report = read_report({name: value for name, value in body.items() if name in _REPORTED})
        agent = http_request.agent.name
        return reply_response(await self._gate.report_call_outcome(session, call_id, report, agent=agent))

    async def door(self, http_request: HttpRequest) -> Response:
        """Takes a sign of life of a door."""
        http_request.query()
        fields = ("door", "session", "event", "transcript")
        body = await http_request.body(http_request.limits.session_bytes, fields)
        door, session = _text(body, "door", required=True), _text(body, "session", required=True)
        event, transcript = body.get("event"), body.get("transcript", "")
        if event not in _EVENTS:
            raise invalid_body(JsonError(f"expected one of {', '.join(_EVENTS)}", "$.event"))
        if not isinstance(transcript, str) or len(transcript) > _LONGEST["folder"]:
            raise invalid_body(JsonError("expected a path", "$.transcript"))
        self._gate.door_heard(http_request.agent.name, door, session, event=str(event), transcript=transcript)
        return Response(status_code=204)

    async def agent(self, http_request: HttpRequest) -> Response:
        """Returns the agent's name and its own waiting requests."""
        http_request.query()
        return json_response(self._gate.own_requests(http_request.agent.name))


def read_question(body: JsonObject, agent: str) -> ToolQuestion:
    """Reads a tool call that an agent asks about. Raises a Refusal that names the field that is wrong."""
    texts = {name: _text(body, name, required=name == "tool") for name in _LONGEST}
    args, seconds = body.get("input"), body.get("seconds", 0)
    if not isinstance(args, dict):
        raise invalid_body(JsonError(f"expected an object, found {kind(args)}", "$.input"))
    can_edit, resumable = (_flag(body, name) for name in ("can_edit", "resumable"))
    if type(seconds) is not int or not 0 <= seconds <= LONGEST_HOLD:
        raise invalid_body(JsonError(f"expected a whole number from 0 to {LONGEST_HOLD:,}", "$.seconds"))
    try:
        args = with_canonical_numbers(args)
    except JsonError as error:
        raise invalid_body(error) from None
    try:
        claims = read_claims(body, texts["door"] or _HTTP, has_server=bool(texts["server"]))
        of_definition = check_definition(texts["kind"], texts["definition"], texts["server"], args)
    except JsonError as error:
        raise invalid_body(error) from None
    kind_ = CallKind.DEFINITION if of_definition else CallKind.TOOL
    call = ToolCall(texts["tool"], args, texts["server"], texts["folder"], texts["definition"], kind_)
    asker = Asker(agent, session=texts["session"], folder=texts["folder"], says=texts["says"])
    can_edit = can_edit and not of_definition
    door = ToolDoor(texts["door"] or _HTTP, texts["call_id"], can_edit, seconds, texts["batch"], resumable)
    # Without an id, no other call can be the same one.
    call_id = texts["call_id"] or f"{secrets.token_hex(16)} without an id"
    return ToolQuestion(call, asker, door, tool_fingerprint(agent, texts["session"], call_id), claims)


def read_report(body: JsonObject) -> JsonObject:
    """Reads the report about a tool call. Raises a Refusal that names the field that is wrong."""
    if body.get("status") not in _STATUSES:
        raise invalid_body(JsonError(f"expected one of {', '.join(_STATUSES)}", "$.status"))
    if not isinstance(executed := body.get("input", {}), dict):
        raise invalid_body(JsonError(f"expected an object, found {kind(executed)}", "$.input"))
    if not isinstance(error := body.get("error", ""), str) or len(error) > _LONGEST_ERROR:
        raise invalid_body(JsonError(f"expected a text of at most {_LONGEST_ERROR:,} characters", "$.error"))
    try:
        return body | {"input": with_canonical_numbers(executed)} if "input" in body else body
    except JsonError as inexact:
        raise invalid_body(inexact) from None


def _flag(body: JsonObject, name: str) -> bool:
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise invalid_body(JsonError(f"expected a boolean, found {kind(value)}", f"$.{name}"))
    return value


def _text(body: JsonObject, name: str, *, required: bool = False) -> str:
    value = body.get(name, "")
    if not isinstance(value, str):
        raise invalid_body(JsonError(f"expected a string, found {kind(value)}", f"$.{name}"))
    if required and not value:
        raise invalid_body(JsonError("this field is missing", f"$.{name}"))
    if len(value) > _LONGEST[name]:
        raise invalid_body(JsonError(f"expected at most {_LONGEST[name]:,} characters", f"$.{name}"))
    return value
