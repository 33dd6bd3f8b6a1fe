"""The gate: takes calls, asks, decides, runs, and has every step in the ledger before it takes effect."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Final

from aileron_tui import __version__
from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.gate import recovery, replies
from aileron_tui.gate.call_inputs import faults
from aileron_tui.gate.decision_handler import DecisionHandler
from aileron_tui.gate.event_feed import EventFeed
from aileron_tui.gate.gate_state import GateSetup, GateState, log
from aileron_tui.gate.installed_bundle import described, install, look_at, settings_of
from aileron_tui.gate.ledger_recorder import LedgerRecorder
from aileron_tui.gate.op_runner import OpRunner
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.request_handler import RequestHandler
from aileron_tui.ledger.store import EntryDraft, open_ledger, open_reader, open_results
from aileron_tui.sandbox.loaded_connectors import SandboxSettings
from aileron_tui.signing.approvers import Approvers

LEDGER_FILE: Final = "ledger.db"
OUTBOX_FILE: Final = "answers.db"

_RUN_SECONDS: Final = 35.0
_LOOK_SECONDS: Final = 2.0


class Gate:
    """One gate on one data folder. Everything runs on one event loop; sandboxes and files have threads."""

    def __init__(self, setup: GateSetup, clock: Callable[[], datetime] = utc_now) -> None:
        self._context = GateState(setup, clock)
        self._asking = RequestHandler(self._context)
        self._running = OpRunner(self._context, self._asking)
        self._deciding = DecisionHandler(self._context, self._asking, self._running)
        self.ledger_path = setup.data / LEDGER_FILE
        self.ledger_id = ""  # of its first entry; known once it is started

    @property
    def instance(self) -> str:
        """The name of this run of the gate; decisions are good for no other."""
        return self._context.instance

    @property
    def feed(self) -> EventFeed:
        """What approvers watch."""
        return self._context.feed

    async def start(self) -> None:
        """Opens the ledger, loads the bundle, settles what a crash left open, and begins to take calls."""
        context, setup = self._context, self._context.setup
        context.pool = ThreadPoolExecutor(setup.limits.threads, thread_name_prefix="sandbox")
        settings = settings_of(setup.config, setup.cache, setup.keyring)
        with contextlib.ExitStack() as undo:
            undo.callback(context.pool.shutdown, wait=False)
            context.recorder = LedgerRecorder(await asyncio.to_thread(open_ledger, self.ledger_path))
            undo.callback(context.recorder.close)
            context.outbox = open_results(setup.data / OUTBOX_FILE)
            undo.callback(context.outbox.close)
            context.reader = open_reader(self.ledger_path)
            undo.callback(context.reader.close)
            context.installed = await asyncio.to_thread(install, setup.manifests, settings)
            await context.recorder.record(
                EntryDraft(EntryKind.STARTED, {"instance": self.instance, "version": __version__})
            )
            self.ledger_id = f"sha256:{next(context.reader.rows())[2].hex()}"
            await recovery.recover(context, self._asking, self._running)
            undo.pop_all()
        self._report()
        context.spawn(self._keep_looking(settings))

    async def stop(self) -> None:
        """Takes no more calls, lets what runs finish, marks what does not, and closes the ledger."""
        context = self._context
        context.feed.close()
        await context.rest(self._running.tasks, _RUN_SECONDS)
        for live in [live for live in context.live.values() if live.state is RequestState.RUNNING]:
            await self._running.interrupt(live)
        await context.recorder.record(EntryDraft(EntryKind.STOPPED, {"instance": self.instance}))
        await asyncio.to_thread(context.recorder.close)
        context.pool.shutdown(wait=False, cancel_futures=True)
        # A preview that is under way ends by itself, and only then are the connections to be closed all there.
        threading.Thread(target=self._close_sandbox, name="sandbox-closing").start()
        context.outbox.close()
        context.reader.close()

    def _close_sandbox(self) -> None:
        self._context.pool.shutdown(wait=True)
        self._context.installed.sandbox.close()

    async def _keep_looking(self, settings: SandboxSettings) -> None:
        """Loads the bundle anew when its folder changed. Requests that wait keep what they were asked with."""
        context, folder = self._context, self._context.setup.manifests
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if await asyncio.to_thread(look_at, folder) == context.installed.look:
                continue
            try:
                context.installed = await asyncio.to_thread(install, folder, settings)
                await context.recorder.record(
                    EntryDraft(EntryKind.CONFIG_CHANGED, {"change": "the manifests were loaded anew"})
                )
            except AileronError as error:
                log.error("the manifests changed and cannot be loaded: %s", inline(str(error)))
            else:
                self._report()

    def _report(self) -> None:
        installed = self._context.installed
        log.info("%d actions from %s", len(installed.actions), inline(str(self._context.setup.manifests)))
        for finding in installed.findings:
            log.warning("%s: %s [%s]", inline(f"{finding.file}:{finding.line}"), inline(finding.message), finding.rule)
        for name, failure in installed.failures.items():
            log.error("connector %s cannot be used: %s", inline(name), inline(failure.message))

    # the agent's door

    def actions(self) -> JsonObject:
        """Every action that can be called."""
        return self._context.installed.described()

    def action(self, name: str) -> JsonObject | None:
        """One action."""
        action = self._context.installed.actions.get(name)
        return described(action) if action else None

    async def call(self, name: str, args: JsonObject, asker: Asker, *, agent: str, wait: float | None = None) -> Reply:
        """Runs an action that needs no approval; else asks, and answers at once or after up to `wait` seconds."""
        action = self._context.installed.actions.get(name)
        if action is None:
            return replies.error(404, "not_found", f"there is no action {name}")
        if wrong := faults(action.inputs, args):
            return replies.wrong_inputs(wrong)
        args = {key: value for key, value in args.items() if value is not None}  # null is not supplied
        if not action.gated:
            return await self._running.ungated(action, args, asker)
        return await self._asking.call(action, args, asker, agent, wait)

    async def result(self, id_: str) -> Reply:
        """How a request stands, for the agent that polls."""
        if live := self._context.live.get(id_):
            return Reply(200, {"status": "pending_approval" if live.state is RequestState.PENDING else "running"})
        try:
            answer = self._context.outbox.find(id_)
            if answer is None and (record := self._context.reader.find(id_)):
                answer = recovery.told(self._context.reader, record)
            return await self._asking.delivered(answer) if answer else replies.unknown(id_)
        except AileronError as error:
            return replies.unrecorded(error)

    # the approver's door

    def waiting(self) -> list[JsonObject]:
        """Every request that waits for an answer, oldest first."""
        return [self._context.item(live) for live in self._context.pending()]

    def item(self, id_: str) -> JsonObject | None:
        """One request, also if it ended a short while ago."""
        live = self._context.find(id_)
        return self._context.item(live) if live else None

    def shown(self, surface: str) -> int:
        """A surface began to watch, so everything that waits is shown there; how much that is."""
        waiting = list(self._context.pending())
        self._context.spawn(self._asking.note_shown(waiting, surface))
        return len(waiting)

    def approvers(self) -> Approvers:
        """Who may approve now."""
        return self._deciding.approvers()

    async def decide(self, id_: str, body: JsonObject) -> Reply:
        """Takes a signed answer."""
        return await self._deciding.decide(id_, body)

    async def decide_batch(self, body: JsonObject) -> Reply:
        """Takes several signed answers."""
        return await self._deciding.batch(body)

    async def refresh(self, id_: str, body: JsonObject) -> Reply:
        """Fetches a preview again, or makes the prompt for an edited call."""
        return await self._deciding.refresh(id_, body)

    def status(self) -> JsonObject:
        """How the gate is."""
        context = self._context
        waiting = sum(1 for _ in context.pending())
        return {
            "version": __version__,
            "instance": self.instance,
            "action_count": len(context.installed.actions),
            "connector_count": len(context.installed.connectors),
            "waiting": waiting,
            "running": len(self._running.tasks),
            "ledger_head": str(context.recorder.head),
            "approvers": [approver.name for approver in self.approvers().active],
        }
