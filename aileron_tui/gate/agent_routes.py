"""The agent's door: see what can be called, call it, ask how it ended. No word of any preview passes here."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from aileron_tui.core.jsontext import JsonError, JsonObject, kind
from aileron_tui.core.prompt import Asker
from aileron_tui.gate.http_request import ClientGone, HttpRequest, answer, answered, invalid_body, no_such
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.route_table import Route, RouteAccess

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate


class AgentRoutes:
    """The four things an agent can ask."""

    def __init__(self, gate: "Gate", closing: asyncio.Event) -> None:
        self._gate = gate
        self._closing = closing
        self.routes = (
            Route("GET", "/v1/actions", RouteAccess.CATALOGUE, self.actions),
            Route("GET", "/v1/actions/{name}", RouteAccess.CATALOGUE, self.action),
            Route("POST", "/v1/actions/{name}/run", RouteAccess.AGENT, self.run),
            Route("GET", "/v1/action-approvals/{id}/result", RouteAccess.AGENT, self.result),
        )

    async def actions(self, visit: HttpRequest) -> Response:
        """What can be called."""
        visit.query()
        return answer(self._gate.actions())

    async def action(self, visit: HttpRequest) -> Response:
        """One action with its inputs."""
        visit.query()
        found = self._gate.action(visit.names["name"])
        if found is None:
            raise no_such("action")
        return answer(found)

    async def run(self, visit: HttpRequest) -> Response:
        """Calls an action; the answer may be that a person must agree first."""
        visit.query()
        args = _args(await visit.body(visit.limits.call_bytes, {"args"}, optional=True))
        asker = Asker(visit.told("X-Aileron-Agent"), visit.told("X-Aileron-Session-Id"), visit.told("X-Aileron-Folder"))
        call = partial(self._gate.call, visit.names["name"], args, asker, agent=_identity(asker))
        wait = visit.wait()
        if wait is None or not self._gated(visit.names["name"]):
            return answered(await call(wait=None))
        return answered(await self._held(visit, call, wait), {"Preference-Applied": f"wait={wait}"})

    def _gated(self, name: str) -> bool:
        match self._gate.action(name):
            case {"approval": {"required": True}}:
                return True
        return False

    async def _held(self, visit: HttpRequest, call: Callable[..., Coroutine[Any, Any, Reply]], wait: int) -> Reply:
        """The answer to a call that is held open. An agent that hangs up takes the call back."""
        held = asyncio.create_task(call(wait=wait), name="call")
        left = asyncio.create_task(visit.left(), name="connection")
        closing = asyncio.create_task(self._closing.wait(), name="closing")
        try:
            await asyncio.wait({held, left, closing}, return_when=asyncio.FIRST_COMPLETED)
            if held.done():
                return held.result()
            if left.done():
                raise ClientGone
            # The gate stops, which takes nothing back: the same call made without waiting joins the one that is
            # held, and its agent is told to come again.
            return await call(wait=None)
        finally:
            for task in (held, left, closing):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def result(self, visit: HttpRequest) -> Response:
        """How a call ended, or that it has not."""
        visit.query()
        return answered(await self._gate.result(visit.names["id"]))


def _args(body: JsonObject) -> JsonObject:
    args = body.get("args", {})
    if not isinstance(args, dict):
        raise invalid_body(JsonError(f"expected an object, found {kind(args)}", "$.args"))
    return args


def _identity(asker: Asker) -> str:
    """Tells one agent's calls from another's, as far as agents name themselves. It must outlive the token.

    No header can hold a line break, so no agent's name can pass for another's name and session.
    """
    return f"{asker.agent}\n{asker.session}"
