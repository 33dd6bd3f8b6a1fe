"""A gate controlled by a test, and a console connected to it."""

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import NoReply, NotFound, NotWaiting
from aileron_tui.runtime.no_rules import NoRules
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.runtime.vault import VaultState
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.surface.operator_key import TemporaryOperatorKey
from aileron_tui.surface.source import OperatorKey, SourceSpec
from aileron_tui.surface.source_listener import ConnectionState
from tests.console import sample_requests as samples
from tests.console.screen_app import lines, wait_until

QUICK = ConsoleSettings(arm_seconds=0.0, undo_seconds=0.0, follow=False, fastest_reading=0, bell=False, notify=False)
ARMED = replace(QUICK, arm_seconds=0.7)
NORMAL = Risk(RiskLevel.NORMAL, "it moves something")


class Clock:
    """A clock for arming that a test moves forward."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def run(self, app: Console, seconds: float) -> None:
        """Moves the clock forward while the console runs."""
        for _ in range(round(seconds * 10)):
            self.now += 0.1
            app.arming.heartbeat()
        app._main.show_status()


class ScriptedGate(NoRules):
    """Holds requests, takes decisions, and can be made to fail."""

    instance = "gate-1"

    def __init__(self, *items: Request, name: str = "") -> None:
        self.name = name
        self.items = {item.id: item for item in items}
        self.decided: list[tuple[str, Verdict, str, JsonObject | None]] = []
        self.extended: list[tuple[str, str]] = []
        self.trouble: AileronError | None = None
        self.down = False
        self.problem = ""
        self.connections = 0
        self.vault_state = VaultState.NONE
        self.vault_passphrase = b"open sesame"
        self.tried: list[bytearray] = []
        self._events: queue.Queue[SourceEvent | None] = queue.Queue()
        self._number = 0

    def tell(self, name: str, *items: Request) -> None:
        """Sends an event."""
        for item in items:
            self.items[item.id] = item
        self._number += 1
        self._events.put(SourceEvent(self._number, name, {}, items, self.name))

    def publish(self, name: str, data: JsonObject) -> None:
        """Sends an event that has no request."""
        self._number += 1
        self._events.put(SourceEvent(self._number, name, data, (), self.name))

    def report_health(self, problem: str) -> None:
        """Says why it cannot do its work, or with "" that it can."""
        self.problem = problem
        self._number += 1
        self._events.put(SourceEvent(self._number, "health", {"problem": problem}, (), self.name))

    def hang_up(self) -> None:
        """Closes the connection; no new one is accepted while `down` is true."""
        self.down = True
        self._events.put(None)

    def watch(self, after: int = 0) -> Iterator[SourceEvent | None]:
        if self.down:
            raise NoReply("nobody answers")
        self.connections += 1
        waiting = tuple(item for item in self.items.values() if item.state.decidable)
        data: JsonObject = {"problem": self.problem} if self.problem else {}
        yield SourceEvent(self._number, "snapshot", data, waiting, self.name)
        while (event := self._events.get()) is not None:
            yield event

    def waiting(self) -> tuple[Request, ...]:
        return tuple(item for item in self.items.values() if item.state.decidable)

    def item(self, id_: str) -> Request:
        return self.items[id_]

    def extend(self, request: Request) -> Request:
        if self.trouble:
            raise self.trouble
        extension = request.extension(surface="console", now=datetime.now(UTC))
        self.extended.append((request.id, extension.expires))
        longer = replace(self.items[request.id], expires_at=extension.expires)
        self.tell("updated", longer)
        return longer

    def fetched(self, id_: str) -> Json:
        return {"id": id_, "snippet": "not in a row"}

    def refresh(self, id_: str, edits: JsonObject | None = None) -> Request:
        before = self.items[id_]
        if edits is None:
            fresh = replace(before, revision=before.revision + 1)
            self.tell("updated", fresh)
            return fresh
        args = before.prompt.args | edits
        rows = zip(before.prompt.inputs, args.values(), strict=True)
        prompt = replace(before.prompt, args=args, inputs=tuple(replace(row, value=str(value)) for row, value in rows))
        return replace(before, prompt=prompt, digest=prompt.digest)

    def decide(
        self, item: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> RequestState:
        if self.trouble:
            raise self.trouble
        if not self.items[item.id].state.decidable:
            raise NotWaiting(409, {"error": {"code": "INVALID_STATE", "message": "x"}, "state": "denied"})
        self.decided.append((item.id, verdict, reason, edits))
        state = RequestState.EXECUTED if verdict is Verdict.APPROVE else RequestState.DENIED
        self.tell("updated", replace(self.items[item.id], state=state, revision=item.revision + 1))
        return RequestState.APPROVED if verdict is Verdict.APPROVE else RequestState.DENIED

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        return {"items": [], "next": None}

    def past(self, id_: str) -> JsonObject:
        raise NotFound(404, {"error": {"code": "not_found", "message": "there is no such request"}})

    def vault(self) -> VaultState:
        return self.vault_state

    def unlock_vault(self, passphrase: bytearray) -> None:
        self.tried.append(passphrase)
        if passphrase != self.vault_passphrase:
            raise AileronError("that is not the passphrase of the vault")
        self.vault_state = VaultState.UNLOCKED

    def close(self) -> None:
        return None


class SlowGate(ScriptedGate):
    """Takes a decision only after `let` is set."""

    def __init__(self, *items: Request, name: str = "") -> None:
        super().__init__(*items, name=name)
        self.let = threading.Event()

    def decide(
        self, item: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> RequestState:
        assert self.let.wait(20)
        return super().decide(item, verdict, reason=reason, edits=edits)


def request(number: int, risk: Risk = NORMAL, **changes: Any) -> Request:
    """A request that differs from the others by its id."""
    shown = replace(samples.worked().prompt, risk=risk, args={"draft_id": f"r-{number}"}, action=f"act-on-{number}")
    shown = replace(shown, inputs=(Row("Draft id", f"r-{number}"),), preview=None)
    made = samples.item(replace(shown, **changes), id_=f"act-{number}")
    declared: JsonObject = {
        "name": "draft_id",
        "type": "string",
        "required": True,
        "label": "Draft id",
        "multiline": False,
    }
    return replace(made, fields=made.fields | {"inputs": [declared]})


def _connected(gate: ScriptedGate, _: UnlockedKey) -> ScriptedGate:
    return gate


def _is_read(app: Console) -> bool:
    """Whether the selected request is on screen, and what is on screen counts as read.

    It does not count as long as the preview is fetched or a dialog covers it.
    """
    current, view = app.board.current, app._main.query_one(PromptView)
    if current is None or not app.arming.is_on_screen(app.board.selected, current.digest):
        return False
    return (view._is_final and view.is_settled) or current.fetching or app.screen is not app._main


@asynccontextmanager
async def console(
    gates: ScriptedGate | Sequence[ScriptedGate],
    settings: ConsoleSettings = QUICK,
    size: tuple[int, int] = (120, 36),
    keys: OperatorKey | None = None,
    clock: Clock | None = None,
    *,
    toasts: bool = False,
    **options: Any,
) -> AsyncIterator[tuple[Console, Pilot[None]]]:
    """A console that has the snapshot of every gate that is up, and is ready for an answer."""
    gates = [gates] if isinstance(gates, ScriptedGate) else gates
    upstreams = [SourceSpec(gate.name, partial(_connected, gate), "gate") for gate in gates]
    app = Console(upstreams, keys or TemporaryOperatorKey(for_this_run()), settings, **options)
    app.arming.clock = clock or app.arming.clock

    def connected() -> bool:
        reached = [app.sources.listeners[gate.name].status.state for gate in gates if not gate.down]
        return app.keys.key is None or all(reach is ConnectionState.LIVE for reach in reached)

    async with app.run_test(size=size, notifications=toasts) as pilot:
        await wait_until(pilot, connected)
        await wait_until(pilot, lambda: not app.board.current or _is_read(app))
        if clock:
            clock.run(app, 2 * settings.arm_seconds)
        yield app, pilot


def shown(app: Console) -> str:
    """Everything on the screen."""
    return "\n".join(lines(app))


def notifications(app: Console) -> str:
    """The texts of all notifications."""
    return "\n".join(notification.message for notification in app._notifications)


async def sent(app: Console) -> None:
    """Waits until every answer that was given so far has reached its gate."""
    for name in app.sources.listeners:
        await asyncio.wrap_future(app.threads.pool("answers", name).submit(lambda: None))
