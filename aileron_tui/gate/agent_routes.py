"""The HTTP routes for agents: list actions, call them, fetch results. Nothing from a preview is ever sent here."""

from functools import partial
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from aileron_tui.core.jsontext import JsonError, JsonObject, kind
from aileron_tui.core.prompt import Asker
from aileron_tui.gate import agent_docs as docs
from aileron_tui.gate.agent_replies import output_of
from aileron_tui.gate.held_calls import HeldCalls
from aileron_tui.gate.http_request import (
    HttpRequest,
    invalid_body,
    json_response,
    not_found,
    reply_response,
    unauthorized,
)
from aileron_tui.gate.large_values import work_on
from aileron_tui.gate.replies import Reply, compact_json
from aileron_tui.gate.route_table import Route, RouteAccess

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

_RETRY_SECONDS: Final = 2
_UNFINISHED: Final = ("pending_approval", "running")


class AgentRoutes:
    """The routes that agents may use."""

    def __init__(self, gate: "Gate", held: HeldCalls) -> None:
        self._gate = gate
        self._held = held
        self.routes = (
            Route("GET", "/v1/actions", RouteAccess.CATALOGUE, self.actions, docs.ACTIONS),
            Route("GET", "/v1/actions/{name}", RouteAccess.CATALOGUE, self.action, docs.ACTION),
            Route("POST", "/v1/actions/{name}/run", RouteAccess.AGENT, self.run, docs.RUN),
            Route("GET", "/v1/action-approvals/{id}/result", RouteAccess.AGENT, self.result, docs.RESULT),
            Route("DELETE", "/v1/action-approvals/{id}", RouteAccess.AGENT, self.withdraw, docs.WITHDRAW),
        )

    async def actions(self, http_request: HttpRequest) -> Response:
        """Lists the actions."""
        http_request.query()
        return json_response(self._gate.actions())

    async def action(self, http_request: HttpRequest) -> Response:
        """Returns one action with its inputs."""
        http_request.query()
        action = self._gate.action(http_request.path_params["name"])
        if action is None:
            raise not_found("action")
        return json_response(action)

    async def run(self, http_request: HttpRequest) -> Response:
        """Calls an action. For a gated action, the response may say that approval is pending."""
        http_request.query()
        name, agent = http_request.path_params["name"], http_request.agent
        if gated := self._gate.is_gated(name):
            self._held.check_rate(http_request)
        args = _call_args(await http_request.body(http_request.limits.call_bytes, {"args"}, optional=True))
        asker = Asker(
            agent.name,
            session=http_request.agent_header("X-Aileron-Session-Id"),
            folder=http_request.agent_header("X-Aileron-Folder"),
            says=http_request.agent_header("X-Aileron-Agent"),
        )
        if not self._gate.agents().with_hash(agent.token):
            raise unauthorized()  # the token was revoked or replaced while the body was read
        call = partial(self._gate.call, name, args, asker, agent=agent.name)
        wait = http_request.wait() if gated else None
        reply = await (call(wait=None) if wait is None else self._held.wait(http_request, call, wait))
        return await _response(reply, wait)

    async def result(self, http_request: HttpRequest) -> Response:
        """Returns the result of a call, or its state while it is open."""
        http_request.query()
        poll = partial(self._gate.result, http_request.path_params["id"], agent=http_request.agent.name)
        wait = http_request.wait()
        reply = await (poll(wait=None) if wait is None else self._held.wait(http_request, poll, wait))
        return await _response(reply, wait)

    async def withdraw(self, http_request: HttpRequest) -> Response:
        """Withdraws a call that waits for approval."""
        http_request.query()
        refused = await self._gate.withdraw(http_request.path_params["id"], agent=http_request.agent.name)
        return reply_response(refused) if refused else Response(status_code=204)


async def _response(reply: Reply, wait: int | None) -> Response:
    """Adds the headers for an agent that waits, and the result as JSON beside its text."""
    headers = {} if wait is None else {"Preference-Applied": f"wait={wait}"}
    if reply.body.get("status") in _UNFINISHED:
        headers["Retry-After"] = str(_RETRY_SECONDS)
    if reply.status == 202:
        headers["Location"] = str(reply.body["result_url"])
    text = reply.body.get("result")
    if not isinstance(text, str):
        return reply_response(reply, headers)
    return json_response(await work_on(len(text), lambda: _with_output(reply, text)), reply.status, headers)


def _with_output(reply: Reply, text: str) -> bytes:
    """Encodes a result. The text that is JSON is copied as it is, so that no number in it is rounded."""
    body, output = compact_json(reply.body), output_of(text)
    return b'%b,"output":%b}' % (body[:-1], output.encode()) if output else body


def _call_args(body: JsonObject) -> JsonObject:
    args = body.get("args", {})
    if not isinstance(args, dict):
        raise invalid_body(JsonError(f"expected an object, found {kind(args)}", "$.args"))
    return args
