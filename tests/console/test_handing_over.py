"""A gate that decides whom to alert: what the console tells it, and what the console says about other surfaces."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from aileron_tui.console.app import Console
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import NotFound, NotWaiting
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.surface.operator_presence import HERE_SECONDS, OperatorPresence
from tests.console.screen_app import async_test, unsafe, wait_until
from tests.console.scripted_gate import (
    ARMED,
    NORMAL,
    QUICK,
    Clock,
    ScriptedGate,
    console,
    notifications,
    request,
    sent,
    shown,
)
from tests.console.test_lock import Lockable
from tests.hostile import WORST

LOUD = replace(QUICK, bell=True, notify=True)
SIZES = [(120, 36), (80, 24), (40, 15)]
ANA: JsonObject = {"surface": "page", "name": "ana"}


class RoutingGate(ScriptedGate):
    """Decides whom to alert, and keeps what the console tells about who is there."""

    def __init__(self, *items: Request, name: str = "") -> None:
        super().__init__(*items, name=name)
        self.readers: JsonObject = {}
        self.reports: list[tuple[bool, str]] = []
        self.presence_trouble: AileronError | None = None
        self.let = threading.Event()
        self.let.set()

    def watch(self, after: int = 0) -> Iterator[SourceEvent | None]:
        for event in super().watch(after):
            is_snapshot = event is not None and event.name == "snapshot"
            yield replace(event, data=event.data | {"readers": self.readers}) if event and is_snapshot else event

    def report_presence(self, *, awake: bool, reading: str) -> None:
        assert self.let.wait(20)
        self.reports.append((awake, reading))
        if self.presence_trouble:
            raise self.presence_trouble

    def read_by(self, id_: str, *readers: JsonObject) -> None:
        """Says who reads a request."""
        self.publish("reading", {"id": id_, "readers": [*readers]})

    def alert(self, id_: str, surface: str) -> None:
        """Says who is alerted to a request."""
        self.publish("alert", {"id": id_, "surface": surface, "reason": ""})

    def answered(self, item: Request, state: RequestState, *, approved: bool, by: str = "ana", **changes: Any) -> None:
        """Takes an answer that was given on the page."""
        self.publish("resolved", {"id": item.id, "approved": approved, "surface": "page", "by": by})
        self.tell("updated", replace(item, state=state, revision=item.revision + 1, **changes))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the console writes to the terminal besides the screen, and `bell` for each bell."""
    found: list[str] = []
    monkeypatch.setattr(Console, "write_sequence", lambda _, sequence: found.append(sequence))
    monkeypatch.setattr(Console, "bell", lambda _: found.append("bell"))
    return found


# who reads it elsewhere


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_a_row_and_its_prompt_say_who_reads_it_elsewhere(size: tuple[int, int]) -> None:
    gate = RoutingGate(request(1), request(2))
    async with console(gate, QUICK, size) as (app, pilot):
        gate.read_by("act-1", ANA)
        words = "being read on the page by ana" if size[0] > 40 else "read on the page"
        await wait_until(pilot, lambda: words in shown(app))
        row = next(line for line in shown(app).splitlines() if "act-on-1" in line and "▸" in line)
        assert "page · " in row
        gate.read_by("act-1")
        await wait_until(pilot, lambda: "the page" not in shown(app))


@async_test
async def test_the_snapshot_has_the_readers_too() -> None:
    gate = RoutingGate(request(1))
    gate.readers = {"act-1": [ANA, {"surface": "prompt", "name": "bo"}]}
    async with console(gate) as (app, pilot):
        await wait_until(pilot, lambda: "being read on the page by ana and 1 more" in shown(app))
        gate.hang_up()
        await wait_until(pilot, lambda: "being read" not in shown(app))


@pytest.mark.parametrize("size", [(120, 36), (40, 15)])
@async_test
async def test_a_reader_elsewhere_neither_disarms_nor_moves_anything(size: tuple[int, int]) -> None:
    gate, clock = RoutingGate(request(1), request(2)), Clock()
    async with console(gate, ARMED, size, clock=clock) as (app, pilot):
        await wait_until(pilot, lambda: "● ready" in shown(app))
        before, changes = shown(app).splitlines(), app.arming.changes
        gate.read_by("act-1", ANA)
        await wait_until(pilot, lambda: "being read" in shown(app))
        gate.answered(request(2), RequestState.RUNNING, approved=True)
        await wait_until(pilot, lambda: app.board.waiting_count == 1)
        after = shown(app).splitlines()
        assert app.arming.changes == changes
        assert "● ready" in shown(app)
        assert [line for line in before if "Draft id" in line] == [line for line in after if "Draft id" in line]
        assert [place for place, line in enumerate(before) if "Draft id" in line] == [
            place for place, line in enumerate(after) if "Draft id" in line
        ]
        await pilot.press("a")
        await sent(app)
        assert [id_ for id_, *_ in gate.decided] == ["act-1"]


@async_test
async def test_what_is_read_here_is_not_read_elsewhere() -> None:
    gate = RoutingGate(request(1))
    async with console(gate) as (app, pilot):
        await pilot.press("down")
        await wait_until(pilot, lambda: (True, "act-1") in gate.reports)
        gate.read_by("act-1", {"surface": "console", "name": "the name of this key there"})
        gate.read_by("act-2", ANA)
        await wait_until(pilot, lambda: app.board.others.own == {"act-1"})
        assert "being read" not in shown(app)
        gate.read_by("act-1", {"surface": "console", "name": "bo"}, {"surface": "console", "name": app.keys.name})
        await wait_until(pilot, lambda: "being read in another console by bo" in shown(app))


@pytest.mark.parametrize("text", WORST.values(), ids=WORST)
@async_test
async def test_hostile_names_of_readers_are_only_shown(text: str) -> None:
    gate = RoutingGate(request(1), request(2))
    async with console(gate, QUICK, (60, 20)) as (app, pilot):
        gate.read_by("act-1", {"surface": text, "name": text})
        gate.publish("resolved", {"id": "act-2", "approved": True, "surface": text, "by": text})
        gate.tell("updated", replace(request(2), state=RequestState.EXECUTED, revision=5))
        await wait_until(pilot, lambda: app.board.waiting_count == 1 and bool(app.board.reading_elsewhere("act-1")))
        assert not unsafe(app)


# who was first


@pytest.mark.parametrize(
    ("state", "approved", "by", "words"),
    [
        (RequestState.EXECUTED, True, "ana", "approved on the page by ana: done ✓"),
        (RequestState.RUNNING, True, "ana", "approved on the page by ana: running…"),
        (RequestState.FAILED, True, "ana", "approved on the page by ana: failed ✗"),
        (RequestState.DENIED, False, "ana", "denied on the page by ana"),
        (RequestState.DENIED, False, "", "denied on the page, without a signature"),
    ],
)
@async_test
async def test_it_says_who_was_first(state: RequestState, approved: bool, by: str, words: str) -> None:
    gate = RoutingGate(request(1))
    async with console(gate) as (app, pilot):
        gate.answered(request(1), state, approved=approved, by=by)
        await wait_until(pilot, lambda: words in shown(app))
        assert "elsewhere" not in shown(app)


@async_test
async def test_a_tool_call_that_was_approved_elsewhere_waits_for_its_program() -> None:
    tool = request(1, NORMAL, kind="tool")
    gate = RoutingGate(tool)
    async with console(gate) as (app, pilot):
        gate.answered(tool, RequestState.APPROVED, approved=True)
        await wait_until(pilot, lambda: "approved on the page by ana, waiting for its program" in shown(app))


@async_test
async def test_what_was_answered_here_is_not_said_to_be_answered_elsewhere() -> None:
    gate = RoutingGate(request(1))
    async with console(gate) as (app, pilot):
        gate.publish("resolved", {"id": "act-1", "approved": True, "surface": "console", "by": app.keys.name})
        await pilot.press("a")
        await wait_until(pilot, lambda: "done ✓" in shown(app))
        assert "another console" not in shown(app)


@async_test
async def test_an_answer_that_comes_second_says_who_was_first() -> None:
    gate = RoutingGate(request(1))
    async with console(gate) as (app, pilot):
        gate.publish("resolved", {"id": "act-1", "approved": False, "surface": "page", "by": "ana"})
        await wait_until(pilot, lambda: app.board.others.first("act-1") is not None)
        gate.trouble = NotWaiting(409, {"error": {"code": "INVALID_STATE", "message": "x"}, "state": "denied"})
        await pilot.press("a")
        await wait_until(pilot, lambda: bool(notifications(app)))
        assert notifications(app) == "denied on the page by ana, before your answer arrived"


# who is alerted


@async_test
async def test_it_rings_only_if_it_is_alerted(written: list[str]) -> None:
    gate = RoutingGate()
    async with console(gate, LOUD) as (app, pilot):
        written.clear()
        gate.tell("pending", request(1))
        gate.alert("act-1", "page")
        await wait_until(pilot, lambda: app.board.waiting_count == 1 and not app.announcer.alerts.has_unclaimed)
        gate.publish("updated", {"id": "act-1", "reminder": True})
        gate.read_by("act-1", ANA)
        await wait_until(pilot, lambda: "being read" in shown(app))
        assert "bell" not in written
        assert not any("]9;" in text or "(1)" in text for text in written)
        gate.alert("act-1", "console")
        await wait_until(pilot, lambda: "bell" in written)
        assert any("]9;aileron: 1 request is waiting" in text for text in written)
        await wait_until(pilot, lambda: any("(1) aileron" in text for text in written))
        written.clear()
        gate.publish("updated", {"id": "act-1", "reminder": True})
        await wait_until(pilot, lambda: "bell" in written)


@async_test
async def test_it_rings_for_a_request_that_nobody_is_alerted_to(written: list[str]) -> None:
    gate = RoutingGate()
    async with console(gate, LOUD, keys=Lockable()) as (app, pilot):
        await pilot.press("L")
        await wait_until(pilot, lambda: app.is_locked)
        written.clear()
        gate.tell("pending", request(1))
        await wait_until(pilot, lambda: "bell" in written)
        await wait_until(pilot, lambda: any("(1) aileron" in text for text in written))


@async_test
async def test_an_alert_to_a_request_that_no_longer_waits_is_silent(written: list[str]) -> None:
    gate = RoutingGate(request(1))
    async with console(gate, LOUD) as (app, pilot):
        gate.alert("act-1", "page")
        gate.tell("updated", replace(request(1), state=RequestState.WITHDRAWN, revision=5))
        await wait_until(pilot, lambda: app.board.waiting_count == 0)
        written.clear()
        gate.alert("act-1", "console")
        gate.alert("act-7", "console")
        gate.tell("pending", request(2))
        gate.alert("act-2", "page")
        await wait_until(pilot, lambda: app.board.waiting_count == 1)
        assert "bell" not in written


# what the gate is told


@async_test
async def test_the_gate_is_told_what_is_read_here_once_a_key_is_pressed() -> None:
    gate = RoutingGate(request(1), request(2))
    async with console(gate) as (app, pilot):
        await pilot.press("down")
        await wait_until(pilot, lambda: (True, "act-2") in gate.reports)
        await pilot.press("v")
        await wait_until(pilot, lambda: app.screen is not app._main)
        app._presence_reporter.update()
        assert app._presence_reporter._last == (True, "act-2")
        await pilot.press("escape", "h")
        await wait_until(pilot, lambda: gate.reports[-1] == (True, ""))
        assert app.screen is not app._main


@async_test
async def test_a_request_that_appears_while_nobody_presses_anything_is_not_read() -> None:
    gate, time = RoutingGate(), Clock()
    async with console(gate) as (app, pilot):
        app.presence.__init__(time)  # type: ignore[misc]
        time.now += 60
        gate.tell("pending", request(1))
        await wait_until(pilot, lambda: "act-on-1" in shown(app))
        await wait_until(pilot, lambda: app.arming.is_on_screen("act-1", request(1).digest))
        assert app.presence.report(locked=False) == (True, "")
        assert gate.reports == []
        await pilot.press("shift")
        await wait_until(pilot, lambda: gate.reports == [(True, "act-1")])


@async_test
async def test_a_locked_console_is_not_awake() -> None:
    gate = RoutingGate(request(1))
    async with console(gate, keys=Lockable()) as (app, pilot):
        await pilot.press("L")
        await wait_until(pilot, lambda: (False, "") in gate.reports)
        assert app.is_locked


@async_test
async def test_a_read_only_console_is_not_awake() -> None:
    gate = RoutingGate(request(1))
    async with console(gate, read_only=True) as (_, pilot):
        await wait_until(pilot, lambda: gate.reports == [(False, "")])


@async_test
async def test_a_gate_that_takes_no_reports_is_asked_once() -> None:
    gate = RoutingGate(request(1), request(2))
    gate.presence_trouble = NotFound(404, {"error": {"code": "not_found", "message": "no such route"}})
    async with console(gate) as (app, pilot):
        await pilot.press("down")
        await wait_until(pilot, lambda: len(gate.reports) == 1)
        await wait_until(pilot, lambda: not app._presence_reporter._being_sent)
        await pilot.press("up", "down", "up")
        assert app._presence_reporter._without_route == {""}
        assert notifications(app) == ""
        await pilot.press("a")
        await sent(app)
        assert [id_ for id_, *_ in gate.decided] == ["act-1"]


@async_test
async def test_a_slow_gate_gets_one_report_at_a_time_and_does_not_stop_the_console() -> None:
    gate = RoutingGate(request(1), request(2), request(3))
    gate.let.clear()
    async with console(gate) as (app, pilot):
        for _ in range(10):
            await pilot.press("down", "up")
        await pilot.press("a")
        await sent(app)
        assert [id_ for id_, *_ in gate.decided] == ["act-1"]
        assert gate.reports == []
        await pilot.press("down")
        gate.let.set()
        await wait_until(pilot, lambda: gate.reports[-1:] == [(True, "act-2")])
        assert len(gate.reports) <= 3


def test_nobody_is_here_after_a_while_and_sooner_behind_another_window() -> None:
    time = Clock()
    presence = OperatorPresence(time)
    presence.shown("act-1")
    assert presence.report(locked=False) == (True, "act-1")
    assert presence.report(locked=True) == (False, "")
    time.now += 121
    assert presence.report(locked=False) == (True, "")
    time.now += HERE_SECONDS - 122
    assert presence.report(locked=False).awake
    left = presence.seconds_until_change()
    assert left is not None
    time.now += left
    assert presence.report(locked=False) == (False, "")
    assert presence.seconds_until_change() is None
    presence.window_focused()
    assert presence.report(locked=False) == (True, "act-1")
    presence.window_blurred()
    assert presence.report(locked=False) == (True, "")
    time.now += 121
    assert not presence.report(locked=False).awake
