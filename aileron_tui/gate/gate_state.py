"""What the parts of the gate share: its files, its clock, the requests it knows, and its background work."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

from aileron_tui.core.action import Action
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import Config
from aileron_tui.gate.event_feed import EventFeed
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.gate.installed_bundle import InstalledBundle
from aileron_tui.gate.ledger_recorder import LedgerRecorder
from aileron_tui.ledger.store import EntryDraft, LedgerReader, ResultStore, StoredResult
from aileron_tui.sandbox.connector_package import PublisherKeyring

T = TypeVar("T")

_KEPT_ENDED: Final = 1000

log: Final = logging.getLogger("aileron_tui.gate")


@dataclass(frozen=True, slots=True)
class GateLimits:
    """How much may wait, and how many calls are in sandboxes at once."""

    waiting: int = 10_000
    waiting_per_agent: int = 2_000
    waiting_bytes: int = 256 * 1024 * 1024
    threads: int = 100


@dataclass(frozen=True)
class GateSetup:
    """What a gate is made of."""

    data: Path
    manifests: Path
    config: Config = field(default_factory=Config)
    cache: Path | None = None
    limits: GateLimits = field(default_factory=GateLimits)
    keyring: PublisherKeyring = field(default_factory=PublisherKeyring)


class GateState:
    """One gate's state. Everything here belongs to one event loop."""

    installed: InstalledBundle
    recorder: LedgerRecorder
    outbox: ResultStore
    reader: LedgerReader
    pool: ThreadPoolExecutor

    def __init__(self, setup: GateSetup, clock: Callable[[], datetime]) -> None:
        self.instance = f"gate-{secrets.token_hex(8)}"
        self.setup = setup
        self.clock = clock
        self.feed = EventFeed(lambda: [self.item(live) for live in self.pending()])
        self.calls: dict[str, GateRequest] = {}
        self.live: dict[str, GateRequest] = {}
        self._ended: dict[str, GateRequest] = {}
        self._counts: dict[str, int] = {}
        self.bytes_waiting = 0
        self._timers: dict[str, list[asyncio.TimerHandle]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    # requests

    def find(self, id_: str) -> GateRequest | None:
        """A request that lives, or ended a short while ago."""
        return self.live.get(id_) or self._ended.get(id_)

    def pending(self) -> Iterator[GateRequest]:
        """What waits for an answer, oldest first."""
        return (live for live in tuple(self.live.values()) if live.state is RequestState.PENDING)

    def count(self, agent: str) -> int:
        """How many requests of an agent live."""
        return self._counts.get(agent, 0)

    def item(self, live: GateRequest) -> JsonObject:
        """A request as approvers get it."""
        return live.item(self.instance, self.recorder.head.hash)

    def enter(self, live: GateRequest) -> None:
        """Takes a request in."""
        self.live[live.id] = live
        self.calls[live.call] = live
        self._counts[live.agent] = self.count(live.agent) + 1
        self.bytes_waiting += live.size

    def at(self, live: GateRequest, moment: datetime, act: Callable[[], object]) -> None:
        """Does something at a time, unless the request has left or was answered before."""
        seconds = (moment - self.clock()).total_seconds()
        timer = asyncio.get_running_loop().call_later(max(0.0, seconds), act)
        self._timers.setdefault(live.id, []).append(timer)

    def still(self, live: GateRequest) -> None:
        """Stops the timers of a request."""
        for timer in self._timers.pop(live.id, ()):
            timer.cancel()

    def leave(self, live: GateRequest) -> None:
        """Lets a request go."""
        self.still(live)
        if self.live.pop(live.id, None) is None:
            return
        if self.calls.get(live.call) is live:
            del self.calls[live.call]
        self.bytes_waiting -= live.size
        self._counts[live.agent] = self.count(live.agent) - 1
        if not self._counts[live.agent]:
            del self._counts[live.agent]

    def end(self, live: GateRequest, state: RequestState, answer: StoredResult | None) -> None:
        """A request has ended, and that is on record."""
        live.state, live.answer = state, answer
        self.leave(live)
        self._ended[live.id] = live
        while len(self._ended) > _KEPT_ENDED:
            del self._ended[next(iter(self._ended))]
        live.ended.set()
        log.info("%s %s is %s", live.id, inline(live.action.name), state)
        self.feed.publish("updated", self.item(live))

    # records

    async def file(self, answer: StoredResult, call: str) -> None:
        """Keeps an answer for the agent."""
        await asyncio.to_thread(self.outbox.put, answer, call, timestamp(self.clock()))

    async def deliver(self, answer: StoredResult, record: EntryDraft) -> bool:
        """Notes, once, that an agent was given its answer; False if it was before."""
        if not await asyncio.to_thread(self.outbox.deliver, answer.request):
            return False
        try:
            await self.recorder.record(record)
        except AileronError as error:
            # The answer is true whether or not it is on record that it was given; to withhold it would be worse.
            log.error("the answer to %s is given, which cannot be recorded: %s", answer.request, inline(str(error)))
        return True

    def default_expiry(self, action: Action, now: datetime) -> datetime:
        """Until when a request waits: as its manifest says, else as the configuration does."""
        return now + timedelta(seconds=action.approval.timeout or self.setup.config.policy.timeout)

    # work

    def in_sandbox(
        self, work: Callable[[Action, JsonObject], T], action: Action, args: JsonObject
    ) -> "asyncio.Future[T]":
        """Begins blocking sandbox work on a thread."""
        return asyncio.get_running_loop().run_in_executor(self.pool, work, action, args)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Does something in the background; a failure there is logged, never lost."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    async def rest(self, but: set[asyncio.Task[None]], seconds: float) -> None:
        """Cancels all background work except some, which is given time to finish."""
        for task in self._tasks - but:
            task.cancel()
        if but:
            await asyncio.wait(but, timeout=seconds)
        for live in tuple(self.live.values()):
            self.still(live)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("the gate failed in the background: %s", inline(str(error)), exc_info=error)
