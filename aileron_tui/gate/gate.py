"""The gate: accepts calls, asks for approval and runs ops. Everything is recorded before it takes effect."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from aileron_tui import __version__
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.core.alert_routing import PROMPT
from aileron_tui.core.alerts import AlertChannel
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.prompt import Asker
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.core.unsigned_denial import UnsignedDenial
from aileron_tui.core.visible_text import inline
from aileron_tui.files.boot_clock import OF_PROCESS, BootClock
from aileron_tui.files.freed_memory import return_freed_memory
from aileron_tui.gate import recovery, replies
from aileron_tui.gate.account_registry import AccountRegistry
from aileron_tui.gate.agent_registry import REVOKED, AgentRegistry
from aileron_tui.gate.alert_router import AlertRouter
from aileron_tui.gate.bundle_in_use import BundleInUse
from aileron_tui.gate.call_inputs import input_errors
from aileron_tui.gate.deadline_handler import DeadlineHandler
from aileron_tui.gate.decision_handler import DecisionHandler
from aileron_tui.gate.door_sessions import DoorSessions
from aileron_tui.gate.event_feed import EventFeed
from aileron_tui.gate.gate_metrics import GateMetrics
from aileron_tui.gate.gate_state import OUTBOX, GateSetup, GateState, log
from aileron_tui.gate.installed_bundle import action_json, sandbox_settings
from aileron_tui.gate.ledger_recorder import LedgerRecorder
from aileron_tui.gate.ledger_reduction import LedgerReduction
from aileron_tui.gate.metrics_setup import start_metrics
from aileron_tui.gate.op_runner import OpRunner
from aileron_tui.gate.permission_handler import PermissionHandler, ToolQuestion, known_call
from aileron_tui.gate.presence import Presence
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.request_ends import RequestEnds
from aileron_tui.gate.request_handler import RequestHandler
from aileron_tui.gate.request_polls import RequestPolls
from aileron_tui.gate.rule_changes import RuleChanges
from aileron_tui.gate.rule_handler import RuleHandler
from aileron_tui.gate.rule_registry import RuleRegistry
from aileron_tui.gate.sandbox_threads import SandboxThreads
from aileron_tui.gate.tool_resolver import ToolResolver
from aileron_tui.gate.unsigned_denials import UnsignedDenials
from aileron_tui.ledger.open_store import open_ledger, open_results, open_watching_reader
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.sandbox.wasi_runtime import start_wasi_runtime
from aileron_tui.signing.agents import Agents
from aileron_tui.signing.approvers import Approvers

LEDGER_FILE: Final = "ledger.db"
OUTBOX_FILE: Final = "answers.db"

_STOP_SECONDS: Final = 35.0
_CLOSE_SECONDS: Final = 5.0
_MANIFEST_CHECK_SECONDS: Final = 2.0
_UPKEEP_SECONDS: Final = 2.0
_HEALTH_SECONDS: Final = 0.5
_TRIM_SECONDS: Final = 600.0
_MEMORY_SECONDS: Final = 5.0
_AGENT_CHECK_SECONDS: Final = 0.5
_DOOR_CHECK_SECONDS: Final = 20.0
_REDUCTION_CHECK_SECONDS: Final = 10.0


class Gate:
    """One gate with its data folder. It runs on one event loop; sandbox calls and file access run on threads."""

    def __init__(
        self, setup: GateSetup, clock: Callable[[], datetime] = utc_now, boot_clock: BootClock | None = None
    ) -> None:
        self._gate_state = GateState(setup, clock, boot_clock)
        self._gate_state.alerts = self._alerts = AlertRouter(self._gate_state)
        self._agents = AgentRegistry(self._gate_state)
        self._ends = RequestEnds(self._gate_state)
        self._requests = RequestHandler(self._gate_state, self._ends)
        self._op_runner = OpRunner(self._gate_state, self._requests)
        self._rules = RuleRegistry(self._gate_state)
        self._ruling = RuleHandler(self._gate_state, self._requests, self._op_runner, self._agents, self._rules)
        self._requests.answering = self._ruling.answering
        self._tools = ToolResolver(setup)
        self._doors = DoorSessions(clock)
        self._permissions = PermissionHandler(self._gate_state, self._requests, self._tools, self._doors)
        self._polls = RequestPolls(self._gate_state, self._requests, self._permissions)
        self._ruling.hand_over = self._permissions.allowed_by_rule
        self._decisions = DecisionHandler(
            self._gate_state, self._requests, self._op_runner, self._permissions, self._agents
        )
        self._denials = UnsignedDenials(self._gate_state, self._requests, self._decisions)
        self._deadlines = DeadlineHandler(self._gate_state, self._requests, self._decisions, self._agents)
        self.ledger_path = setup.data / LEDGER_FILE
        self._rule_changes = RuleChanges(self._gate_state, self._rules, self._ruling, self._decisions, self.ledger_path)
        self._accounts = AccountRegistry(setup, self._gate_state.accounts)
        self._reduction = LedgerReduction(self._gate_state)
        self._reported = ""
        self._reloading = asyncio.Lock()
        self.metrics_token = ""  # the hash of the token for metrics, if they are served
        self.ledger_id = ""  # the hash of the ledger's first entry; set by start()

    @property
    def instance(self) -> str:
        """The id of this run of the gate; decisions are only valid for this run."""
        return self._gate_state.instance

    @property
    def feed(self) -> EventFeed:
        """The events that approvers watch."""
        return self._gate_state.feed

    @property
    def presence(self) -> Presence:
        """Who is at which surface."""
        return self._gate_state.presence

    def use_channels(self, channels: Iterable[AlertChannel]) -> None:
        """Sends alerts to these channels too, unless the configuration leaves them out."""
        self._alerts.use_channels(channels)

    @property
    def accounts(self) -> SecretStores:
        """Where the secrets of accounts are."""
        return self._gate_state.accounts

    @property
    def accounts_state(self) -> str:
        """Whether somebody has to unlock the secrets of accounts: "none" if there is nothing to unlock."""
        vault = self.accounts.vault
        return "locked" if vault.locked else "unlocked" if vault.exists else "none"

    def accounts_unlocked(self, approver: str) -> None:
        """Notes who has unlocked the secrets of accounts, and fetches the previews that lacked them."""
        log.info("the accounts were unlocked with the key %s", inline(approver))
        self._requests.fetch_failed_previews()

    @property
    def page_url(self) -> str:
        """Where requests can be answered in a browser, "" if there is no page."""
        return self._gate_state.page_url

    async def start(self) -> None:
        """Opens the ledger, loads the bundle, recovers from a crash, and starts accepting calls."""
        state, setup = self._gate_state, self._gate_state.setup
        state.threads = SandboxThreads(setup.limits.pools)
        settings = sandbox_settings(
            setup.config, setup.cache, setup.keyring, setup.limits.op_seconds, self._accounts.secrets
        )
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(state.threads.shutdown, wait=False)
            ledger = await asyncio.to_thread(open_ledger, self.ledger_path, boot_clock=state.boot_clock)
            state.observe_time(ledger.latest)
            state.recorder = LedgerRecorder(ledger)
            cleanup.callback(state.recorder.close, _CLOSE_SECONDS)
            state.outbox = open_results(setup.data / OUTBOX_FILE)
            cleanup.callback(state.outbox.close)
            state.reader = open_watching_reader(self.ledger_path)
            cleanup.callback(state.reader.close)
            await asyncio.to_thread(start_wasi_runtime)
            self._bundle = BundleInUse(setup, settings)
            self._bundle.note(state.reader)
            self._accounts.note(state.reader)
            state.installed = await asyncio.to_thread(self._bundle.load)
            state.bundle_is_current = self._bundle_is_current
            started: JsonObject = {"instance": self.instance, "version": __version__, "boot": state.boot_clock.boot}
            await state.recorder.record(EntryDraft(EntryKind.STARTED, started))
            self.ledger_id = f"sha256:{next(state.reader.rows())[2].hex()}"
            await self._agents.add_default()
            self._rules.current()
            self._alerts.started()
            await recovery.recover(state, self._requests, self._op_runner)
            cleanup.pop_all()
        self._log_bundle()
        self.metrics_token = start_metrics(state, lambda: self.problem, self.ledger_path)
        if state.boot_clock.boot.startswith(OF_PROCESS):
            log.warning("this system does not report when it started, so what waits expires if the gate is restarted")
        state.health.watch(lambda: state.recorder.problem)
        state.health.watch(lambda: state.outbox.problem)
        state.health.watch(lambda: self._ends.retried.problem)
        state.spawn_periodic("reloading the manifests", _MANIFEST_CHECK_SECONDS, self._reload)
        state.spawn_periodic("checking deadlines and files", _UPKEEP_SECONDS, self._keep_up)
        state.spawn_periodic("reporting the gate's health", _HEALTH_SECONDS, self._report_health)
        state.spawn_periodic("recording outcomes again", 0, self._ends.retried.retry_until_done)
        state.spawn_periodic("alerting people", 0, self._alerts.work)
        returned = partial(asyncio.to_thread, return_freed_memory)
        state.spawn_periodic("returning freed memory", _MEMORY_SECONDS, returned)
        state.spawn_periodic("deleting old results", _TRIM_SECONDS, self._forget_old_results)
        if self._reduction.is_wanted:
            name = "removing what is older than [ledger] keep"
            state.spawn_periodic(name, _REDUCTION_CHECK_SECONDS, self._reduction.reduce_if_due)
        state.spawn_periodic("checking for silent doors", _DOOR_CHECK_SECONDS, self._permissions.check_doors)
        state.spawn_periodic("checking for revoked agents", _AGENT_CHECK_SECONDS, self.withdraw_revoked)

    async def stop(self) -> None:
        """Lets running ops finish, marks the others as interrupted, and closes the ledger.

        It ends in bounded time, whatever the disk does: what cannot be recorded is found after the next start.
        """
        state = self._gate_state
        state.feed.close()
        state.metrics.close()
        await state.stop_background_work(self._op_runner.tasks, _STOP_SECONDS)
        await self._alerts.close()
        await self._ends.try_once_more(_CLOSE_SECONDS)
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                for request in [item for item in state.open_requests.values() if item.state is RequestState.RUNNING]:
                    if not request.unrecorded:
                        await self._op_runner.interrupt(request)
                await state.recorder.record(EntryDraft(EntryKind.STOPPED, {"instance": self.instance}))
        except (AileronError, TimeoutError) as error:
            log.error("the stop could not be recorded: %s", inline(str(error)) or "the ledger did not answer in time")
        state.reader.close()
        if not state.recorder.close(_CLOSE_SECONDS):
            log.error("the ledger could not be closed, because a write to it has not returned")
        state.outbox_thread.shutdown(wait=False, cancel_futures=True)
        state.outbox.close()
        state.threads.shutdown(wait=False)
        state.loading.close()
        await self._tools.files.close()
        # Running previews end on their own; the sandbox can only be closed after that.
        with contextlib.suppress(RuntimeError):  # no thread is left; the end of the process closes it
            threading.Thread(target=self._close_sandbox, name="sandbox-closing").start()

    def _close_sandbox(self) -> None:
        self._gate_state.threads.shutdown(wait=True)
        self._gate_state.installed.sandbox.close()

    async def _keep_up(self) -> None:
        """Ends requests that are late, and checks whether files that could not be written can be written again."""
        state = self._gate_state
        self._requests.expire_late_requests()
        if state.recorder.problem:
            with contextlib.suppress(AileronError):  # it is still reported
                await state.recorder.check()
        if state.health.problem(OUTBOX):
            with contextlib.suppress(AileronError):
                await state.in_outbox(state.outbox.check)

    async def _report_health(self) -> None:
        """Logs and publishes a change of what is wrong with the gate."""
        if (reason := self.problem) != self._reported:
            self._reported = reason
            log.error("the gate is failing: %s", inline(reason)) if reason else log.info("the gate works again")
            self.feed.publish_health(reason)

    async def _forget_old_results(self) -> None:
        await recovery.forget_old_results(self._gate_state)

    async def _reload(self) -> None:
        """Reloads the bundle when it changes, and resolves the waiting calls again until all are."""
        state = self._gate_state
        async with self._reloading:
            self._bundle.note(state.reader)
            self._accounts.note(state.reader)
            if await asyncio.to_thread(self._bundle.state) != state.installed.folder_state:
                try:
                    installed = await asyncio.to_thread(self._bundle.load)
                    change = EntryDraft(EntryKind.CONFIG_CHANGED, {"change": "the manifests were reloaded"})
                    await state.recorder.record(change)
                except AileronError as error:
                    log.error("the manifests changed but cannot be loaded: %s", inline(str(error)))
                else:
                    state.installed = installed
                    self._log_bundle()
            await self._requests.resolve_again()

    def _bundle_is_current(self) -> bool:
        """Whether the bundle is what is installed now; while the ledger cannot be read, nobody knows."""
        try:
            self._accounts.note(self._gate_state.reader)
            return self._bundle.is_current(self._gate_state.reader, self._gate_state.installed)
        except AileronError:
            return False

    @property
    def metrics(self) -> GateMetrics:
        """What the gate counts about its work."""
        return self._gate_state.metrics

    def _log_bundle(self) -> None:
        installed = self._gate_state.installed
        log.info("loaded %d actions from %s", len(installed.actions), inline(self._bundle.words))
        for finding in installed.findings:
            log.warning("%s: %s [%s]", inline(f"{finding.file}:{finding.line}"), inline(finding.message), finding.rule)
        for name, failure in installed.failures.items():
            log.error("connector %s cannot be used: %s", inline(name), inline(failure.message))

    # for agents

    def agents(self) -> Agents:
        """Returns the agents; another process may have just added, rotated or revoked one."""
        return self._agents.current()

    def default_token_file(self) -> Path | None:
        """Returns the token file of the default agent, or None if there is no such agent."""
        return self._agents.default_token_file()

    async def withdraw_revoked(self) -> None:
        """Withdraws the waiting requests of revoked agents."""
        for name in self._agents.revoked_with_open_requests():
            await self._requests.withdraw_all(name, REVOKED)

    async def wait_until_invalid(self, token: str) -> None:
        """Returns once an agent's token, given by its hash, is no longer valid."""
        await self._agents.wait_until_invalid(token)

    def actions(self) -> JsonObject:
        """Lists all actions."""
        return self._gate_state.installed.listing(self._gate_state.setup.config.risk)

    def action(self, name: str) -> JsonObject | None:
        """Returns one action."""
        action = self._gate_state.installed.actions.get(name)
        return action_json(action, self._gate_state.setup.config.risk) if action else None

    def is_gated(self, name: str) -> bool:
        """Whether there is an action with this name that needs approval."""
        action = self._gate_state.installed.actions.get(name)
        return bool(action and action.gated)

    async def call(self, name: str, args: JsonObject, asker: Asker, *, agent: str, wait: float | None = None) -> Reply:
        """Runs an action. A gated action needs approval first; the reply is held for up to `wait` seconds if given.

        `agent` is the name of the agent's token, the only thing in which an agent is trusted.
        """
        if not self._bundle_is_current():
            await self._reload()
            if not self._bundle_is_current():
                message = "what is installed has changed and cannot be loaded yet; try again later"
                return replies.error(503, "unavailable", message)
        action = self._gate_state.installed.actions.get(name)
        if action is None:
            return replies.error(404, "not_found", f"no action named {name}")
        if errors := input_errors(action.inputs, args):
            return replies.invalid_inputs(errors)
        args = {key: value for key, value in args.items() if value is not None}  # null means not supplied
        if not action.gated:
            return await self._op_runner.run_ungated(action, args, asker, agent)
        return await self._requests.call(action, args, asker, agent, wait)

    async def ask_permission(self, asked: ToolQuestion, *, agent: str, wait: float | None = None) -> Reply:
        """Asks whether the agent's own program may execute a tool call; the reply is held for up to `wait` seconds."""
        return await self._permissions.ask(asked, agent, wait)

    async def permission(self, id_: str, *, agent: str, wait: float | None = None) -> Reply:
        """Returns the answer to a tool call of this agent, or its state while it waits."""
        return await self._permissions.poll(id_, agent, wait)

    async def report_outcome(self, id_: str, body: JsonObject, *, agent: str) -> Reply:
        """Accepts the report about a tool call that was handed over."""
        return await self._permissions.outcome(id_, agent, body)

    async def report_call_outcome(self, session: str, call_id: str, body: JsonObject, *, agent: str) -> Reply:
        """Accepts the report about a tool call that was handed over, as the agent's program identifies it."""
        return await self._permissions.outcome_of_call(agent, session, call_id, body)

    def door_heard(self, agent: str, door: str, session: str, *, event: str, transcript: str = "") -> None:
        """A door of an agent gave a sign of life."""
        if event == "ended":
            self._doors.ended(agent, session)
        else:
            self._doors.heard(agent, door, session, transcript)

    def own_requests(self, agent: str) -> JsonObject:
        """What an agent may know about itself: its name, its own waiting requests, and what it may fetch."""
        waiting: list[Json] = [
            {
                "id": request.id,
                "action": request.name,
                "asked_at": timestamp(request.asked_at),
                "expires_at": timestamp(request.expires_at),
                **(known_call(request) if request.tool else {}),
            }
            for request in self._gate_state.pending()
            if request.agent == agent
        ]
        about: JsonObject = {"agent": agent, "version": __version__, "instance": self.instance, "waiting": waiting}
        return about | self._permissions.own_calls(agent)

    async def result(self, id_: str, *, agent: str, wait: float | None = None) -> Reply:
        """Returns the state or the result of a request of this agent; the reply is held for up to `wait` seconds."""
        return await self._polls.result(id_, agent, wait)

    async def withdraw(self, id_: str, *, agent: str, is_tool: bool = False) -> Reply | None:
        """Withdraws a waiting call of an action or a tool by this agent; returns why it cannot."""
        return await self._polls.withdraw(id_, agent, is_tool=is_tool)

    # for approvers

    def waiting(self) -> list[JsonObject]:
        """Returns all waiting requests, oldest first."""
        return list(map(self._gate_state.request_json, self._gate_state.pending()))

    def waiting_of(self, agent: str) -> int:
        """Returns how many requests of one agent wait."""
        return self._gate_state.waiting_shares.used(agent)

    def encoded_list(self) -> bytes:
        """Returns all waiting requests, oldest first, as the body of a response."""
        return self._gate_state.encoded_list()

    def find_request(self, id_: str) -> JsonObject | None:
        """Returns one request that is open or ended recently."""
        request = self._gate_state.find(id_)
        return self._gate_state.request_json(request) if request else None

    def record_watch(self, surface: str) -> int:
        """Records that a new watcher was shown all waiting requests; returns their number."""
        waiting = list(self._gate_state.pending())
        self._gate_state.spawn(self._requests.record_shown(waiting, surface))
        return len(waiting)

    def report_presence(self, who: object, name: str, surface: str, *, awake: bool, reading: str = "") -> None:
        """Notes whether somebody is at a surface, and which request they read, if it waits."""
        request = self._gate_state.find(reading)
        is_waiting = request is not None and request.is_waiting
        self.presence.report(who, name, surface, awake=awake, reading=reading if is_waiting else "")

    def approvers(self) -> Approvers:
        """Returns the current approvers."""
        return self._decisions.approvers()

    async def decide(self, id_: str, body: JsonObject) -> Reply:
        """Accepts a signed decision."""
        return await self._decisions.decide(id_, body)

    async def deny_unsigned(  # noqa: PLR0913  # the fields of the entry that records it
        self, id_: str, *, digest: str, reason: str, surface: str, session: str, opened_by: str
    ) -> Reply:
        """Denies a request without a signature. `session` is the public id of a session, never its secret."""
        return await self._denials.deny(id_, UnsignedDenial(digest, reason, surface, session, opened_by))

    async def deny_from(self, id_: str, surface: str) -> None:
        """Denies a request as it is now, without a signature; what does not wait is left.

        Where nobody has opened a session, the entry names this run of the gate instead.
        """
        if request := self._gate_state.find(id_):
            reply = await self.deny_unsigned(
                id_, digest=request.digest, reason="", surface=surface, session=self.instance, opened_by=""
            )
            if reply.status != 200:
                log.warning("a denial by %s did not count (%d)", surface, reply.status)

    def prompt_turn(self) -> frozenset[str]:
        """The requests for which it is the turn of the prompt, because nobody reacted before or nobody was there."""
        return self._alerts.alerted_at(PROMPT)

    def issue_challenge(self, signed: bytes) -> bytes:
        """Returns a challenge for an assertion on the page over these signed bytes (`core/decision.py`)."""
        return self._decisions.check.issue(signed)

    def serve_page(self, origin: str) -> None:
        """Says from which page assertions are accepted: `http://localhost:PORT`, or "" for none."""
        self._decisions.check.page_origin = origin
        self._gate_state.page_url = f"{origin}/page" if origin else ""

    async def decide_batch(self, body: JsonObject) -> Reply:
        """Accepts several signed decisions."""
        return await self._decisions.decide_batch(body)

    async def extend(self, id_: str, body: JsonObject) -> Reply:
        """Accepts a signed extension of a deadline."""
        return await self._deadlines.extend(id_, body)

    async def refresh(self, id_: str, body: JsonObject) -> Reply:
        """Fetches a preview again, or builds the prompt for an edited call."""
        return await self._decisions.refresh(id_, body)

    async def fetched(self, id_: str) -> Reply:
        """Fetches everything that the preview op returns, including what no row shows."""
        return await self._decisions.fetched(id_)

    async def rules(self) -> JsonObject:
        """Returns all rules, newest first, and the head over which a change must be signed."""
        return await self._rule_changes.listing()

    async def change_rule(self, body: JsonObject) -> Reply:
        """Accepts a signed change to a rule."""
        return await self._rule_changes.change(body)

    async def rule_offers(self, id_: str) -> Reply:
        """Returns the rules that can be made from a request."""
        return await self._rule_changes.offers(id_)

    @property
    def doing(self) -> str:
        """What takes a while and keeps calls waiting, or ""."""
        return self._gate_state.loading.words

    @property
    def problem(self) -> str:
        """Why the gate cannot do its work, or "" if it can."""
        try:
            self.agents()  # every call of an agent starts with reading this
        except AileronError as error:
            return self._gate_state.health.reason or str(error)
        return self._gate_state.health.reason

    def status(self) -> JsonObject:
        """Returns the status of the gate."""
        state = self._gate_state
        waiting = sum(1 for _ in state.pending())
        return {
            "version": __version__,
            "instance": self.instance,
            "action_count": len(state.installed.actions),
            "connector_count": state.installed.connector_count(),
            "waiting": waiting,
            "running": len(self._op_runner.tasks),
            "ledger_head": str(state.recorder.head),
            "accounts": self.accounts_state,
            "approvers": [approver.name for approver in self.approvers().active],
        }
