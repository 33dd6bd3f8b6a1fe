"""The control API for tests, which no real daemon has. It has its own secret and is not counted as a request."""

from __future__ import annotations

import hmac
import json
from typing import Any, Final

from tests.daemon.exchange import Request, Response
from tests.daemon.gotext import Object
from tests.daemon.queue import Queue, Unknown
from tests.daemon.routes import Api
from tests.daemon.switches import Switches

PATH: Final = "/_control"
HEADER: Final = "x-control"


class Control:
    """Does what a test asks for."""

    def __init__(self, queue: Queue, api: Api, secret: str) -> None:
        self._queue = queue
        self._api = api
        self._secret = secret

    async def __call__(self, request: Request) -> Response:
        if not hmac.compare_digest(request.headers.get(HEADER, "").encode(), self._secret.encode()):
            return Response(404)
        order = json.loads(request.body)
        try:
            done = await getattr(self, f"do_{order.pop('do')}")(**order)
        except (AttributeError, TypeError, ValueError, KeyError, Unknown) as error:
            return Response(400, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        return Response(200, json.dumps({"done": done}).encode())

    async def do_register(self, count: int = 1, burst: bool = False, **fields: Any) -> list[str]:
        """New requests. In a burst the streams get no time to write in between."""
        ids = []
        for _ in range(count):
            ids.append(self._queue.register(**fields).id)
            if not burst:
                await self._queue.streams.settle()
        return ids

    async def do_switch(self, **changes: Any) -> None:
        self._queue.switches.turn(changes)
        if changes.get("vault") in ("unlocked", "dev"):
            self._queue.unlocked()
        if changes.get("hold_start") is False:
            self._queue.released()
        self._queue.streams.wake()

    async def do_reset(self) -> None:
        """All switches as at first."""
        fresh = Switches()
        await self.do_switch(**{name: getattr(fresh, name) for name in Switches.__slots__})

    async def do_resolve(
        self, id_: str, approved: bool = True, reason: str = "", payload: Object | None = None, silently: bool = False
    ) -> None:
        """A decision from elsewhere; silently without an event."""
        self._queue.decide(id_, approved=approved, reason=reason, payload=payload, silently=silently)

    async def do_forget(self, ids: list[str]) -> None:
        self._queue.forget(*ids)

    async def do_finish(self, id_: str, outcome: str = "completed", **said: Any) -> None:
        self._queue.finish(id_, outcome, **said)

    async def do_event(self, name: str, data: Object) -> None:
        """Any event to all streams."""
        self._queue.streams.send(self._queue.streams.frame(name, data))
        await self._queue.streams.settle()

    async def do_frame(self, text: str) -> None:
        """Any text to all streams."""
        self._queue.streams.send(text.encode())
        await self._queue.streams.settle()

    async def do_disconnect(self, clean: bool = False) -> int:
        return self._queue.streams.disconnect(clean=clean)

    async def do_session(self, **session: Any) -> None:
        self._queue.sessions.append(session)
        self._queue.remember()

    async def do_action(self, **action: Any) -> None:
        self._queue.actions.append(action)
        self._queue.remember()

    async def do_caveat(self, session: str, capabilities: list[str]) -> str:
        return self._api.caveat(session, capabilities)

    async def do_pending(self) -> list[str]:
        return [entry.id for entry in self._queue.pending()]

    async def do_entry(self, id_: str) -> Object:
        return self._queue.entry(id_).saved()

    async def do_asked(self) -> list[Object]:
        """Every request of the API so far."""
        return self._api.asked

    async def do_forget_asked(self) -> None:
        self._api.asked.clear()

    async def do_counters(self) -> Object:
        streams = self._queue.streams
        return {
            "watchers": len(streams),
            "streams": streams.opened,
            "dropped": streams.dropped,
            "unlocks": self._queue.unlocks,
        }
