"""Handles of calls that were asked about: wait for the answer and run the function, look at the state, withdraw."""

import inspect
import threading
import time
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.gated.calls import GatedCall
from aileron_tui.gated.exchanges import Exchanges, fetching, listing
from aileron_tui.gated.gate_links import carry_async

if TYPE_CHECKING:
    import asyncio

R = TypeVar("R")

WAITING: Final = "waiting"
APPROVED: Final = "approved"
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"
ENDED: Final = "ended"


class _Handle(Generic[R]):
    """What handles have in common. The end of a call is kept, so that its result can be asked for again."""

    def __init__(self, call: GatedCall) -> None:
        self._call = call
        self._state = WAITING
        self._value: R | None = None
        self._error: BaseException | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.tool} {self.id}>"

    @property
    def id(self) -> str:
        """The id of the request, as the operator sees it."""
        return self._call.id

    @property
    def tool(self) -> str:
        """The name of the function in prompts and rules."""
        return self._call.tool

    @property
    def batch(self) -> str:
        """The id of the batch, "" without one."""
        return self._call.batch

    def _fetching(self, deadline: float | None) -> Exchanges[JsonObject | None]:
        return fetching(self.tool, self._call.session.settings.agent, self.id, deadline)

    def _end(self, state: str, value: R | None = None, error: BaseException | None = None) -> None:
        self._state, self._value, self._error = state, value, error

    @property
    def _has_ended(self) -> bool:
        return self._state in (DONE, FAILED, ENDED)

    def _outcome(self) -> R:
        if self._error is not None:
            raise self._error
        return cast("R", self._value)

    def _known_state(self, reply: JsonObject | None) -> str:
        """The state of the call; `reply` is what the gate says about all calls of the agent."""
        if self._state == WAITING and self._call.is_granted:
            return APPROVED
        if self._state != WAITING or reply is None:
            return self._state
        for name, state in (("waiting", WAITING), ("approved", APPROVED)):
            items = reply.get(name)
            if isinstance(items, list) and any(isinstance(item, dict) and item.get("id") == self.id for item in items):
                return state
        return ENDED


class Pending(_Handle[R]):
    """A call that was asked about and not waited for. `result` waits for the answer and runs the function."""

    def __init__(self, call: GatedCall) -> None:
        super().__init__(call)
        self._lock = threading.RLock()

    def result(self, timeout: float | None = None) -> R:
        """Waits for the answer, runs the function and returns what it returns. Later calls return the same again.

        Raises what the function raises, or a GatedError. If nobody has answered after `timeout` seconds, it raises
        TimeoutError, and can be called again.
        """
        self._call.check_process()
        with self._lock:
            if self._state == RUNNING:
                raise RuntimeError(f"{self.tool} is running; it cannot wait for its own result")
            if not self._has_ended:
                self._run(None if timeout is None else time.monotonic() + timeout)
            return self._outcome()

    def state(self) -> str:
        """Where the call is: waiting, approved, running, done, failed, or ended without having been run."""
        asks = self._state == WAITING and not self._call.is_granted
        return self._known_state(self._call.session.links.carry(listing()) if asks else None)

    def withdraw(self) -> None:
        """Withdraws the call, which is then never run. Does nothing if it was run or has ended."""
        self._call.check_process()
        self._call.abandon()

    def _run(self, deadline: float | None) -> None:
        call = self._call
        if not call.is_granted:
            try:
                grant = call.session.links.carry(self._fetching(deadline))
            except Exception as error:
                self._end(ENDED, error=error)
                raise
            if grant is None:
                raise TimeoutError(f"nobody has answered yet whether {self.tool} may run")
            call.was_granted(grant)
        try:
            positional, keywords = call.arguments()
        except Exception as error:
            self._end(ENDED, error=error)
            raise
        self._state = RUNNING
        try:
            value = call.function.parameters.function(*positional, **keywords)
            _refuse_unrun(value, call.tool)
        except BaseException as error:
            self._end(FAILED, error=error)
            call.ended(error)
            raise
        self._end(DONE, value)
        call.ended(None)


class AsyncPending(_Handle[R]):
    """A call of an async function that was asked about and not waited for."""

    def __init__(self, call: GatedCall) -> None:
        super().__init__(call)
        self._fetch: asyncio.Task[JsonObject | None] | None = None
        self._lock: asyncio.Lock | None = None

    async def result(self) -> R:
        """Waits for the answer, runs the function and returns what it returns. Later calls return the same again.

        Raises what the function raises, or a GatedError. If the task that waits is cancelled, it can be called again.
        """
        import asyncio  # noqa: PLC0415  # not needed for functions that are not async

        self._call.check_process()
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            if not self._has_ended:
                await self._run()
            return self._outcome()

    async def state(self) -> str:
        """Where the call is: waiting, approved, running, done, failed, or ended without having been run."""
        asks = self._state == WAITING and not self._call.is_granted
        return self._known_state(await carry_async(self._call.session.settings, listing()) if asks else None)

    def withdraw(self) -> None:
        """Withdraws the call, which is then never run. Does nothing if it was run or has ended."""
        self._call.check_process()
        self._call.abandon()

    def stop_waiting(self) -> None:
        """Ends the wait for an answer that nobody needs any more."""
        if self._fetch is not None:
            self._fetch.cancel()

    async def _run(self) -> None:
        import asyncio  # noqa: PLC0415  # not needed for functions that are not async

        call = self._call
        if not call.is_granted:
            # An answer that arrives while nobody waits for it must not get lost, because the gate gives it only once.
            if self._fetch is None:
                self._fetch = asyncio.ensure_future(carry_async(call.session.settings, self._fetching(None)))
                self._fetch.add_done_callback(lambda done: done.cancelled() or done.exception())
            try:
                grant = await asyncio.shield(self._fetch)
            except Exception as error:
                self._end(ENDED, error=error)
                raise
            call.was_granted(grant or {})
        try:
            positional, keywords = call.arguments()
        except Exception as error:
            self._end(ENDED, error=error)
            raise
        self._state = RUNNING
        try:
            value = await call.function.parameters.function(*positional, **keywords)
        except BaseException as error:
            self._end(FAILED, error=error)
            call.ended(error)
            raise
        self._end(DONE, value)
        call.ended(None)


def _refuse_unrun(value: Any, tool: str) -> None:
    """Refuses a result whose work only begins later, outside of what was approved and reported."""
    if inspect.iscoroutine(value) or inspect.isgenerator(value):
        value.close()
    elif not inspect.isasyncgen(value):
        return
    raise TypeError(
        f"{tool} returned a {type(value).__name__}, which has not run yet; gate an `async def` function or one that "
        "returns when it is done"
    )
