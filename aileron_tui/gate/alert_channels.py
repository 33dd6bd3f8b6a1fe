"""The channels that a gate sends alerts to, such as notifications: which can be used, and what they were sent."""

import asyncio
import time
from collections.abc import Collection, Coroutine, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, Final

from aileron_tui.core.alert_routing import NEVER
from aileron_tui.core.alerts import Alert, AlertChannel
from aileron_tui.core.summary import summary, summary_line
from aileron_tui.core.times import timestamp
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import clip, inline
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.gate.gate_state import GateState, log

MOST_SENT: Final = 1000
"""Waiting requests that one channel is told about; it hears of more only as a number."""

RECHECK_SECONDS: Final = 30.0
"""How long a channel that cannot be used is left alone."""

_SHORTEST: Final = 0.01
_TRUST_SECONDS: Final = 5.0
_CALL_SECONDS: Final = 5.0
_SUMMARY_WIDTH: Final = 160
_NAME_WIDTH: Final = 60
_TURN: Final = 20


@dataclass(slots=True, eq=False)
class _Known:
    """A channel, why it could not be used when it was asked last, and the requests that it was sent."""

    channel: AlertChannel
    why: str = ""
    asked_at: float = -NEVER
    sent: set[str] = field(default_factory=set)
    settled: set[str] = field(default_factory=set)


class AlertChannels:
    """Calls channels so that nothing they do can harm the gate: no error leaves this class, and no call lasts long."""

    def __init__(self, channels: Iterable[AlertChannel], gate_state: GateState) -> None:
        self._gate_state = gate_state
        self._known = {channel.name: _Known(channel) for channel in channels}

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def absence(self, name: str) -> str:
        """Why a channel cannot be used, as far as is known; "" also if it should be asked again."""
        known = self._known[name]
        return known.why if time.monotonic() - known.asked_at < RECHECK_SECONDS else ""

    def recheck_seconds(self, alerted: Collection[str]) -> float:
        """In how many seconds a channel that cannot be used now, and was not alerted, should be asked again."""
        asked = [known.asked_at for name, known in self._known.items() if name not in alerted and self.absence(name)]
        return max(_SHORTEST, min(asked) + RECHECK_SECONDS - time.monotonic()) if asked else NEVER

    async def unavailable(self, name: str) -> str:
        """Asks a channel why it cannot be used, unless it has said a moment ago that it can."""
        known = self._known[name]
        if not known.why and time.monotonic() - known.asked_at < _TRUST_SECONDS:
            return ""
        before = known.why
        try:
            async with asyncio.timeout(_CALL_SECONDS):
                known.why = await known.channel.unavailable()
        except Exception as error:  # noqa: BLE001  # a channel must not stop the others
            known.why = f"it failed: {type(error).__name__}"
        known.asked_at = time.monotonic()
        if known.why and known.why != before:
            log.warning("no %s can be sent: %s", name, inline(known.why))
        return known.why

    async def alert(self, name: str, requests: Sequence[GateRequest]) -> None:
        """Sends alerts about requests."""
        known, waiting = self._known[name], sum(1 for _ in self._gate_state.pending())
        for number, request in enumerate(requests, 1):
            if request.is_waiting and len(known.sent) < MOST_SENT:
                known.sent.add(request.id)
                await self._call(known, known.channel.alert(self._alert(request, waiting)))
            if not number % _TURN:
                await asyncio.sleep(0)

    def settled(self, id_: str) -> bool:
        """Notes that a request does not wait any more; returns whether a channel has to be told."""
        told = [known for known in self._known.values() if id_ in known.sent]
        for known in told:
            known.settled.add(id_)
        return bool(told)

    async def clear_settled(self) -> None:
        """Takes back the alerts of requests that do not wait any more."""
        for known in self._known.values():
            while known.settled:
                id_ = known.settled.pop()
                known.sent.discard(id_)
                await self._call(known, known.channel.clear(id_))

    async def close(self) -> None:
        """Ends all channels, which take back what they have sent."""
        await asyncio.gather(*(self._call(known, known.channel.close()) for known in self._known.values()))

    async def _call(self, known: _Known, work: Coroutine[Any, Any, None]) -> None:
        try:
            async with asyncio.timeout(_CALL_SECONDS):
                await work
        except Exception as error:  # noqa: BLE001  # whatever it is, it ends here
            log.error("the %s failed", known.channel.name, exc_info=error)

    def _alert(self, request: GateRequest, waiting: int) -> Alert:
        return Alert(
            request.id,
            summary_line(summary(request.prompt), _SUMMARY_WIDTH),
            clip(inline(request.agent), _NAME_WIDTH),
            request.risk.level,
            timestamp(request.expires_at),
            waiting,
            self._gate_state.page_url,
            clip(inline(request.name), _NAME_WIDTH),
        )
