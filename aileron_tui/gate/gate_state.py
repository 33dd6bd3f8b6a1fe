"""The state shared by the parts of a gate: its files, clock, open requests and background tasks."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.resolved_call import ResolvedCall
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.files.boot_clock import BootClock
from aileron_tui.files.boot_clock import boot_clock as machine_boot_clock
from aileron_tui.files.config import Config
from aileron_tui.gate.agent_shares import AgentShares, Share
from aileron_tui.gate.asking_limit import AskingLimit
from aileron_tui.gate.call_inputs import effect_of
from aileron_tui.gate.connector_activity import ConnectorActivity, OpTurn
from aileron_tui.gate.connector_loading import ConnectorLoading
from aileron_tui.gate.event_feed import EventFeed
from aileron_tui.gate.gate_health import GateHealth
from aileron_tui.gate.gate_metrics import GateMetrics
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.gate.http_limits import AgentBuckets
from aileron_tui.gate.installed_bundle import InstalledBundle
from aileron_tui.gate.ledger_recorder import LedgerRecorder
from aileron_tui.gate.presence import Presence
from aileron_tui.gate.sandbox_threads import PoolSize, SandboxThreads, ThreadUse
from aileron_tui.ledger.errors import ResultsUnusable
from aileron_tui.ledger.request_deadline import RequestDeadline
from aileron_tui.ledger.store import LedgerReader, ResultStore, StoredResult
from aileron_tui.sandbox.connector_package import PublisherKeyring
from aileron_tui.sandbox.execution import Execution
from aileron_tui.sandbox.sandbox import Sandbox

T = TypeVar("T")

ENTRY_BYTES: Final = 1024
"""What the entries of a call take in the ledger, apart from its inputs."""

OUTBOX: Final = "outbox"
"""The part of the gate's health that is about storing results."""

_NOT_ENDED: Final = frozenset({RequestState.PENDING, RequestState.APPROVED, RequestState.RUNNING})
_MAX_RECENTLY_ENDED: Final = 1000
_MAX_ENDED_BYTES: Final = 4 * 1024 * 1024
_MAX_UNKNOWN_CALLS: Final = 1000
_PAUSE_AFTER_FAILURE: Final = 1.0

log: Final = logging.getLogger("aileron_tui.gate")


@dataclass(frozen=True, slots=True)
class GateLimits:
    """Limits on waiting requests, on what agents write to the ledger, and on concurrent sandbox calls.

    One agent can use a quarter of the bytes and of the threads. A waiting request takes several times its size in
    memory, and is in each event that watchers must read in time. Nobody answers 2,000 requests of one agent, but an
    agent may well make them before somebody looks.
    """

    waiting: int = 10_000
    waiting_per_agent: int = 2_000
    waiting_bytes: int = 16 * 1024 * 1024
    ledger_bytes_per_second: float = 128.0 * 1024  # per agent
    ledger_bytes_burst: int = 4 * 1024 * 1024
    op_threads: int = 64
    refresh_threads: int = 16
    preview_threads: int = 8
    ungated_threads: int = 16
    ungated_queue: int = 64  # per agent
    op_seconds: float = 30.0  # per step, unless the configuration sets another limit for its connector

    @property
    def waiting_share(self) -> Share:
        """The share of an agent in the waiting requests; each can make a few, however many wait."""
        return Share(self.waiting, self.waiting_per_agent, min(self.waiting // 100, self.waiting_per_agent // 4))

    @property
    def byte_share(self) -> Share:
        """The share of an agent in the bytes of the waiting requests."""
        return Share(self.waiting_bytes, self.waiting_bytes // 4, self.waiting_bytes // 16)

    @property
    def pools(self) -> dict[ThreadUse, PoolSize]:
        """The threads for each use. Ops and previews wait for a thread however many there are: requests are limited."""
        return {
            ThreadUse.OP: PoolSize(self.op_threads, self.op_threads // 4, self.waiting),
            ThreadUse.REFRESH: PoolSize(self.refresh_threads, self.refresh_threads // 4, self.waiting),
            ThreadUse.PREVIEW: PoolSize(self.preview_threads, self.preview_threads // 4, self.waiting_per_agent),
            ThreadUse.UNGATED: PoolSize(self.ungated_threads, self.ungated_threads // 4, self.ungated_queue),
        }


@dataclass(frozen=True)
class GateSetup:
    """The configuration of a gate. With `packages`, it uses what is installed, and `manifests` if no action is.

    `more_manifests` are loaded together with `manifests`. `keyring_file` is where `keyring` came from and may change;
    its folder may be an Aileron home.
    """

    data: Path
    manifests: Path
    config: Config = field(default_factory=Config)
    cache: Path | None = None
    limits: GateLimits = field(default_factory=GateLimits)
    keyring: PublisherKeyring = field(default_factory=PublisherKeyring)
    packages: bool = False
    more_manifests: tuple[Path, ...] = ()
    keyring_file: Path | None = None


class Alerting(Protocol):
    """What alerts people to requests; it must hear of each that waits and of each that does not any more."""

    def opened(self, request: GateRequest) -> None:
        """A request waits now."""

    def settled(self, id_: str) -> None:
        """A request does not wait any more."""

    def extended(self, id_: str) -> None:
        """Somebody has extended the deadline of a request."""

    def shown(self, request: GateRequest) -> JsonObject:
        """What the entry about showing a request says about its first alert."""

    def not_shown(self, requests: Iterable[GateRequest]) -> None:
        """There is no entry about showing these requests."""


class GateState:
    """The state of one gate. Must only be used from its event loop."""

    alerts: Alerting

    installed: InstalledBundle
    recorder: LedgerRecorder
    outbox: ResultStore
    reader: LedgerReader
    threads: SandboxThreads

    def __init__(self, setup: GateSetup, clock: Callable[[], datetime], boot_clock: BootClock | None = None) -> None:
        self.instance = f"gate-{secrets.token_hex(8)}"
        self.setup = setup
        self.clock = clock
        self.boot_clock = boot_clock or machine_boot_clock()
        self._latest_time = clock()
        self.health = GateHealth()
        self.outbox_thread = ThreadPoolExecutor(1, thread_name_prefix="outbox")
        self.feed = EventFeed(self.encoded_list, self._readers)
        self.presence = Presence(self.feed.publish)
        self.accounts = SecretStores(setup.data)
        self.page_url = ""  # where requests can be answered in a browser
        self.open_by_call: dict[str, GateRequest] = {}
        self.open_requests: dict[str, GateRequest] = {}
        self._recently_ended: dict[str, GateRequest] = {}
        self.activity = ConnectorActivity(self._start_waiting_ops)
        self.loading = ConnectorLoading()
        self.metrics = GateMetrics()
        self._ended_bytes = 0
        self.waiting_shares = AgentShares(setup.limits.waiting_share)
        self.byte_shares = AgentShares(setup.limits.byte_share)
        self.ledger_rates = AgentBuckets(setup.limits.ledger_bytes_per_second, setup.limits.ledger_bytes_burst)
        self.asking_limit = AskingLimit(setup.config.policy.asks_per_10_minutes)
        self.unknown_calls: dict[str, str] = {}
        self.bundle_is_current: Callable[[], bool] = lambda: True
        self._timers: dict[str, list[asyncio.TimerHandle]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopping = False

    # requests

    def find(self, id_: str) -> GateRequest | None:
        """Returns a request that is open or ended recently; one that is not recorded does not exist yet."""
        request = self.open_requests.get(id_) or self._recently_ended.get(id_)
        return request if request and request.is_recorded else None

    def pending(self) -> Iterator[GateRequest]:
        """Returns the requests that are waiting for an answer, oldest first."""
        return (request for request in tuple(self.open_requests.values()) if request.is_waiting)

    def request_json(self, request: GateRequest) -> JsonObject:
        """Returns a request as sent to approvers."""
        return request.to_json(self.instance, self.recorder.head.hash)

    def encoded_request(self, request: GateRequest, **more: Json) -> bytes:
        """Returns a request as sent to approvers, with some more fields, as bytes."""
        return request.encoded(self.instance, self.recorder.head.hash, **more)

    def encoded_list(self) -> bytes:
        """Returns all waiting requests as sent to approvers; one that cannot be shown does not hide the others."""
        items: list[bytes] = []
        for request in self.pending():
            try:
                items.append(self.encoded_request(request))
            except Exception as error:
                log.error("%s cannot be shown", request.id, exc_info=error)
        return b'{"items":[%b]}' % b",".join(items)

    def _readers(self) -> JsonObject:
        return self.presence.readers()

    def add(self, request: GateRequest) -> None:
        """Adds an open request."""
        self.open_requests[request.id] = request
        self.open_by_call[request.fingerprint] = request
        self.waiting_shares.add(request.agent)
        self.byte_shares.add(request.agent, request.size)

    def schedule(self, request: GateRequest, seconds: float, callback: Callable[[], object]) -> None:
        """Calls `callback` after some time, unless the request is answered or ends before then."""
        timer = asyncio.get_running_loop().call_later(max(0.0, seconds), callback)
        self._timers.setdefault(request.id, []).append(timer)

    def cancel_timers(self, request: GateRequest) -> None:
        """Cancels the timers of a request."""
        for timer in self._timers.pop(request.id, ()):
            timer.cancel()

    def settle(self, request: GateRequest) -> None:
        """Ends everything that waits for the answer to a request, because there is one, or there will be none."""
        self.cancel_timers(request)
        self.presence.settled(request.id)
        self.alerts.settled(request.id)

    def remove(self, request: GateRequest) -> None:
        """Removes a request from the open requests."""
        self.settle(request)
        if self.open_requests.pop(request.id, None) is None:
            return
        if self.open_by_call.get(request.fingerprint) is request:
            del self.open_by_call[request.fingerprint]
        self.waiting_shares.remove(request.agent)
        self.byte_shares.remove(request.agent, request.size)

    def end(self, request: GateRequest, state: RequestState, result: StoredResult | None) -> None:
        """Marks a request as ended; the end must already be recorded."""
        request.state, request.result = state, result
        self.remove(request)
        self._recently_ended[request.id] = request
        self._ended_bytes += request.size
        while len(self._recently_ended) > _MAX_RECENTLY_ENDED or self._ended_bytes > _MAX_ENDED_BYTES:
            self._ended_bytes -= self._recently_ended.pop(next(iter(self._recently_ended))).size
        self._note_unknown(request)
        self.metrics.ended(state)
        request.ended.set()
        by = f", answered by {request.rule}" if request.rule else ""
        log.info("%s %s is %s%s", request.id, inline(request.name), state, by)
        self.announce(request)
        request.forget_rendered()

    def _note_unknown(self, request: GateRequest) -> None:
        """Remembers calls that may have taken effect, so that the prompt of an identical call can say so.

        Only the success of a call that an approver allowed in spite of that ends it: an agent can withdraw its request
        or let it expire.
        """
        is_unknown = request.state in (RequestState.UNKNOWN, RequestState.INTERRUPTED)
        if not is_unknown and not (request.repeats and request.state is RequestState.EXECUTED):
            return
        calls = (request.args, *([request.edited_from.args] if request.edited_from else ()))
        effects = [effect_of(request.agent, request.name, args) for args in calls]
        if is_unknown:
            for effect in effects:
                self.note_unknown(effect, request.id)
        elif self.unknown_calls.get(effects[0]) == request.repeats:  # what ran is what may have taken effect
            for effect in effects:
                if self.unknown_calls.get(effect) == request.repeats:
                    del self.unknown_calls[effect]

    def note_unknown(self, effect: str, id_: str) -> None:
        """Remembers that a call with this effect, made by this request, may have taken effect."""
        self.unknown_calls.pop(effect, None)
        self.unknown_calls[effect] = id_
        if len(self.unknown_calls) > _MAX_UNKNOWN_CALLS:
            del self.unknown_calls[next(iter(self.unknown_calls))]

    def announce(self, request: GateRequest) -> None:
        """Reports a change of a request to the watchers. One that a rule answered was never shown to those who come."""
        if request.rule and not self.feed.watched:
            return
        try:
            self.feed.publish("updated", self.encoded_request(request))
        except Exception as error:
            log.error("%s cannot be shown", request.id, exc_info=error)

    # results

    @property
    def outbox_problem(self) -> str:
        """Why the result of an op could not be stored, or "" if it could."""
        return self.outbox.problem or self.health.problem(OUTBOX)

    def is_undelivered(self, result: StoredResult) -> bool:
        """Whether the ledger knows a request that ended and says nothing about a delivery of its result.

        Only the ledger counts: a result may be in the outbox because an older copy of that was put back.
        """
        record = self.reader.find(result.request)
        if record is None or record.outcome in _NOT_ENDED:
            return False
        entries = self.reader.of_request(result.request)
        return not any(entry.kind == EntryKind.DELIVERED or entry.body.get("delivered") for entry in entries)

    async def store_result(self, result: StoredResult, call: str) -> None:
        """Stores a result for the agent."""
        await self.in_outbox(self.outbox.put, result, call, timestamp(self.clock()))

    async def in_outbox(self, work: Callable[..., T], *values: object) -> T:
        """Writes to the outbox on its thread. Raises only AileronErrors, and reports whether the outbox works."""
        try:
            done = await asyncio.get_running_loop().run_in_executor(self.outbox_thread, work, *values)
        except Exception as error:
            if not isinstance(error, AileronError):
                log.error("results cannot be stored", exc_info=error)
                error = ResultsUnusable("results cannot be stored", type(error).__name__)
            self.health.report(OUTBOX, str(error))
            raise error from None
        self.health.report(OUTBOX, "")
        return done

    # deadlines

    def age(self, request: GateRequest) -> float:
        """How many seconds ago a request was made."""
        return (self.clock() - request.asked_at).total_seconds()

    def latest_time(self) -> datetime:
        """The latest time that the clock has shown. Setting the clock back extends no deadline."""
        self._latest_time = max(self._latest_time, self.clock())
        return self._latest_time

    def observe_time(self, time: datetime) -> None:
        """Records a time that the clock has shown before this gate started."""
        self._latest_time = max(self._latest_time, time)

    def deadline(self, timeout: int | None = None, most: int = 0) -> RequestDeadline:
        """Returns the end of a new request. The timeout comes from the manifest, or else from the configuration.

        `most` is how many seconds its door can wait, 0 if it can wait for as long as the configuration allows.
        """
        policy, now = self.setup.config.policy, self.latest_time()
        longest = min(policy.longest_wait, most or policy.longest_wait)
        seconds = min(timeout or policy.timeout, most or policy.longest_wait)
        uptime_ms = int((self.boot_clock.seconds() + seconds) * 1000)
        latest = now + timedelta(seconds=longest) if longest > seconds else None
        return RequestDeadline(now + timedelta(seconds=seconds), self.boot_clock.boot, uptime_ms, latest)

    def is_late(self, request: GateRequest) -> bool:
        """Whether the time in which a request can be approved is over."""
        return bool(request.deadline.passed(self.latest_time(), self.boot_clock))

    def seconds_left(self, request: GateRequest) -> float:
        """How long a request can still be approved."""
        left = (request.deadline.expires - self.latest_time()).total_seconds()
        same_boot = request.deadline.boot and request.deadline.boot == self.boot_clock.boot
        return max(0.0, min(left, request.deadline.left(self.boot_clock)) if same_boot else left)

    # background work

    def in_sandbox(self, use: ThreadUse, agent: str, work: Callable[..., T], *values: Any) -> "asyncio.Future[T]":
        """Starts a blocking sandbox call for an agent on a thread. If too many wait, the future is ThreadsBusy."""
        return self.threads.run(use, agent, work, *values)

    def start_op(self, use: ThreadUse, agent: str, sandbox: Sandbox, call: ResolvedCall) -> "asyncio.Future[Execution]":
        """Starts the op of a call on a thread; an ungated op waits until no approval waits for what it uses.

        For an approved op, must be called while `activity` is exclusive for what it uses.
        """
        turn = OpTurn(self.activity, sandbox.used_by(call), sandbox.longest_execution(call))
        if use is ThreadUse.OP:
            turn.begin()
        return self.threads.run(use, agent, sandbox.execute, call, turn=turn)

    def _start_waiting_ops(self) -> None:
        self.threads.start_waiting()

    def spawn(self, work: Coroutine[Any, Any, None], name: str = "a background task") -> asyncio.Task[None]:
        """Runs a coroutine in the background; failures are logged."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._log_failure)
        return task

    def spawn_periodic(self, name: str, seconds: float, step: Callable[[], Awaitable[None]]) -> None:
        """Repeats a step until the gate stops. If that ends before, whatever the reason, the gate is not well."""

        def ended(_task: asyncio.Task[None]) -> None:
            if not self._stopping:
                log.error("%s has ended before the gate was stopped", name)
                self.health.report(name, f"{name} has ended; restart the gate")

        self.spawn(self._repeated(name, seconds, step), name=name).add_done_callback(ended)

    async def _repeated(self, name: str, seconds: float, step: Callable[[], Awaitable[None]]) -> None:
        """Repeats a step forever. A failure is logged and reported, and the step is tried again as usual.

        A step may also be cancelled by what it waits for. That is a failure; only the cancellation of the task ends it.
        """
        this_task = asyncio.current_task()
        while True:
            await asyncio.sleep(seconds)
            try:
                await step()
            except (Exception, asyncio.CancelledError) as error:
                if this_task is None or this_task.cancelling():
                    raise
                log.error("%s failed", name, exc_info=error)
                self.health.report(name, f"{name} failed: {inline(str(error)) or type(error).__name__}")
                await asyncio.sleep(_PAUSE_AFTER_FAILURE)
            else:
                self.health.report(name, "")

    async def stop_background_work(self, keep: set[asyncio.Task[None]], seconds: float) -> None:
        """Cancels all background tasks except `keep`, which get `seconds` to finish."""
        self._stopping = True
        for task in self._tasks - keep:
            task.cancel()
        if keep:
            await asyncio.wait(keep, timeout=seconds)
        for request in tuple(self.open_requests.values()):
            self.cancel_timers(request)

    def _log_failure(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            if not self._stopping:
                log.error("%s was cancelled", task.get_name())
        elif error := task.exception():
            log.error("%s of the gate failed: %s", task.get_name(), inline(str(error)), exc_info=error)
