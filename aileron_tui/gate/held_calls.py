"""Holds the response to an agent's call open until it is answered, and limits how many calls an agent makes."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from aileron_tui.gate.http_limits import AgentBuckets, HttpLimits
from aileron_tui.gate.http_request import ClientDisconnected, HttpRequest, too_many, unauthorized
from aileron_tui.gate.replies import Reply

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

_WAITING_PER_COST: Final = 100


class HeldCalls:
    """What the routes for agents share. `closing` is set when the gate stops."""

    def __init__(self, gate: "Gate", closing: asyncio.Event, limits: HttpLimits) -> None:
        self._gate = gate
        self._closing = closing
        self._rates = AgentBuckets(limits.requests_per_second, limits.requests_burst)

    def check_rate(self, http_request: HttpRequest) -> None:
        """Checks how many requests the agent makes, before its arguments are read.

        The more of them wait already, the fewer it may add: each costs a preview, several entries and an event.
        """
        agent = http_request.agent.name
        if seconds := self._rates.of(agent).take(1 + self._gate.waiting_of(agent) // _WAITING_PER_COST):
            refusal = too_many(f"this agent makes too many requests; try again in {seconds} s", seconds)
            raise http_request.refused_unread(refusal)

    async def wait(
        self, http_request: HttpRequest, call: Callable[..., Coroutine[Any, Any, Reply]], seconds: int
    ) -> Reply:
        """Waits for a call to end. If the agent disconnects, the request is withdrawn.

        If the agent gets a new token meanwhile, the call with the old one ends and the request keeps waiting.
        """
        call_task = asyncio.create_task(call(wait=seconds), name="call")
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
