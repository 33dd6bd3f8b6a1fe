"""The HTTP routes for agents: list actions, call them, fetch results. Nothing from a preview is ever sent here."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from aileron_tui.core.jsontext import JsonError, JsonObject, kind
from aileron_tui.core.prompt import Asker
from aileron_tui.gate.http_limits import AgentBuckets, HttpLimits
from aileron_tui.gate.http_request import (
    ClientDisconnected,
    HttpRequest,
    invalid_body,
    json_response,
    not_found,
    reply_response,
    too_many,
    unauthorized,
)
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.route_table import Route, RouteAccess

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate


class AgentRoutes:
    """The routes that agents may use."""

    def __init__(self, gate: "Gate", closing: asyncio.Event, limits: HttpLimits) -> None:
        self._gate = gate
        self._rates = AgentBuckets(limits.requests_per_second, limits.requests_burst)
        self._closing = closing
        self.routes = (
            Route("GET", "/v1/actions", RouteAccess.CATALOGUE, self.actions),
            Route("GET", "/v1/actions/{name}", RouteAccess.CATALOGUE, self.action),
            Route("POST", "/v1/actions/{name}/run", RouteAccess.AGENT, self.run),
            Route("GET", "/v1/action-approvals/{id}/result", RouteAccess.AGENT, self.result),
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
            self._check_rate(http_request)
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
        wait = http_request.wait()
        if wait is None or not gated:
            return reply_response(await call(wait=None))
        return reply_response(
            await self._wait_for_result(http_request, call, wait), {"Preference-Applied": f"wait={wait}"}
        )

    def _check_rate(self, http_request: HttpRequest) -> None:
        """Checks how many requests the agent makes, before its arguments are read."""
        if seconds := self._rates.of(http_request.agent.name).take():
            refusal = too_many(f"this agent makes too many requests; try again in {seconds} s", seconds)
            raise http_request.refused_unread(refusal)

    async def _wait_for_result(
        self, http_request: HttpRequest, call: Callable[..., Coroutine[Any, Any, Reply]], wait: int
    ) -> Reply:
        """Waits for a call to end. If the agent disconnects, the request is withdrawn.

        If the agent gets a new token meanwhile, the call with the old one ends and the request keeps waiting.
        """
        call_task = asyncio.create_task(call(wait=wait), name="call")
        disconnect_task = asyncio.create_task(http_request.wait_for_disconnect(), name="connection")
        closing_task = asyncio.create_task(self._closing.wait(), name="closing")
        token_task = asyncio.create_task(self._gate.wait_until_invalid(http_request.agent.token), name="token")
        tasks = (call_task, disconnect_task, closing_task, token_task)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if call_task.done():
                return call_task.result()
            if disconnect_task.done():
                raise ClientDisconnected
            if token_task.done():
                if self._gate.agents().is_revoked(http_request.agent.name):
                    await self._gate.withdraw_revoked()
                else:
                    await call(wait=None)  # so that the request keeps waiting; the new token can poll for its result
                raise unauthorized()
            # The gate is stopping, which withdraws nothing. Repeating the call without waiting joins the open request
            # and returns the reply that asks the agent to poll for the result.
            return await call(wait=None)
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def result(self, http_request: HttpRequest) -> Response:
        """Returns the result of a call, or its state while it is open."""
        http_request.query()
        return reply_response(await self._gate.result(http_request.path_params["id"], agent=http_request.agent.name))


def _call_args(body: JsonObject) -> JsonObject:
    args = body.get("args", {})
    if not isinstance(args, dict):
        raise invalid_body(JsonError(f"expected an object, found {kind(args)}", "$.args"))
    return args
