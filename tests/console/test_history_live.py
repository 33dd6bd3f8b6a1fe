"""The open history shows what happens, without moving what is being read."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest
from textual.dom import DOMNode
from textual.pilot import Pilot

from aileron_tui.console import history_loader
from aileron_tui.console.screens.history import HistoryScreen
from aileron_tui.console.widgets.history_table import HistoryTable
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.times import timestamp
from aileron_tui.runtime.errors import NoGate
from aileron_tui.runtime.source_events import SourceEvent
from tests.console.history_gate import NOW, HistoryGate, alone, item, record, records
from tests.console.screen_app import SIZES, ScreenApp, async_test, lines, text, wait_until
from tests.console.scripted_gate import ScriptedGate, console, request

ME = "SHA256:q1w2e3r4t5y6u7i8o9p0"


class Events:
    """Stands in for the signal of the console."""

    def __init__(self) -> None:
        self._call: Callable[[Sequence[SourceEvent]], object] | None = None

    def subscribe(self, node: DOMNode, callback: Callable[[Sequence[SourceEvent]], None]) -> None:
        self._call = partial(node.call_next, callback)

    def unsubscribe(self, node: DOMNode) -> None:
        del node
        self._call = None

    def publish(self, *ids: str, name: str = "updated") -> None:
        assert self._call
        self._call([SourceEvent(1, name, {}, tuple(map(item, ids)))])


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_loader, "UPDATE_SECONDS", 0.05)


def staged(gate: HistoryGate, events: Events, signer: str = "") -> ScreenApp:
    screen = HistoryScreen(alone(gate), events=events, signer=lambda: signer)  # type: ignore[arg-type]  # looks the same
    return ScreenApp(screen)


def made(gate: HistoryGate, number: int, **changes: str) -> str:
    """A new request, waiting for an answer; returns its id."""
    new: JsonObject = {"outcome": "pending", "decided": "", "took": None, "surface": "", "signer": "", **changes}
    gate.kept.insert(0, record(number, NOW, new))
    return str(gate.kept[0]["id"])


async def loaded(pilot: Pilot[None], count: int) -> HistoryTable:
    table = pilot.app.screen.query_one(HistoryTable)
    await wait_until(pilot, lambda: len(table.records) >= count)
    return table


def shown(app: ScreenApp) -> list[str]:
    """The lines of the list without the scrollbar."""
    return [line[:76] for line in lines(app)[8:-1]]


def cursor_line(app: ScreenApp) -> int:
    return next(number for number, line in enumerate(lines(app)) if "▸" in line)


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_a_new_request_appears_and_its_outcome_too(size: tuple[int, int]) -> None:
    gate, events = HistoryGate(records(3)), Events()
    app = staged(gate, events)
    async with app.run_test(size=size) as pilot:
        table = await loaded(pilot, 3)
        await pilot.press("j")
        selected = table.current
        new = made(gate, 100, action="pay-invoice")
        events.publish(new, name="pending")
        await wait_until(pilot, lambda: "pay-invoice" in text(app))
        assert table.current == selected
        assert "… waiting" in text(app)
        gate.kept[0] |= {"outcome": "executed"}
        events.publish(new)
        await wait_until(pilot, lambda: "… waiting" not in text(app))
        assert table.current == selected
        assert "4 in total" in text(app)


@async_test
async def test_a_scrolled_list_does_not_move() -> None:
    gate, events = HistoryGate(records(120)), Events()
    app = staged(gate, events)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await loaded(pilot, 50)
        await pilot.press(*["j"] * 20)
        before, selected = shown(app), table.current
        line = cursor_line(app)
        for number in range(3):
            events.publish(made(gate, 200 + number, action="pay-invoice"), name="pending")
            await wait_until(pilot, lambda number=number: f"↑ {number + 1} new" in text(app))  # type: ignore[misc]
        assert (table.current, cursor_line(app)) == (selected, line)
        assert shown(app) == before
        await pilot.press("g")
        await wait_until(pilot, lambda: "pay-invoice" in text(app) and "new" not in lines(app)[0])
        assert table.current is not None
        assert table.current.seq == 202
        await pilot.press("G")
        await wait_until(pilot, lambda: len(table.records) == 103)
        assert len({record.key for record in table.records}) == 103, "older pages still follow"


@async_test
async def test_the_cursor_stays_in_view_when_many_arrive_at_the_top() -> None:
    gate, events = HistoryGate(records(20)), Events()
    app = staged(gate, events)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await loaded(pilot, 20)
        selected = table.current
        for number in range(30):
            made(gate, 200 + number)
        events.publish("act-000200", name="pending")
        await wait_until(pilot, lambda: len(table.records) == 50)
        assert table.current == selected
        assert cursor_line(app)


@async_test
async def test_a_request_that_is_not_among_the_newest_is_updated() -> None:
    gate, events = HistoryGate(records(150)), Events()
    old = gate.kept[70]
    old |= {"outcome": "pending"}
    gate.entries[str(old["id"])] = []
    app = staged(gate, events)
    async with app.run_test(size=(120, 36)) as pilot:
        table = await loaded(pilot, 50)
        await pilot.press("G")
        await wait_until(pilot, lambda: len(table.records) >= 100)
        assert table.records[70].outcome == "pending"
        old |= {"outcome": "denied"}
        events.publish(str(old["id"]))
        await wait_until(pilot, lambda: table.records[70].outcome == "denied")


@async_test
async def test_more_than_a_page_at_once_leaves_no_gap() -> None:
    gate, events = HistoryGate(records(10)), Events()
    app = staged(gate, events)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await loaded(pilot, 10)
        selected = table.current
        for number in range(200):
            made(gate, 1000 + number)
        events.publish("act-001000")
        await wait_until(pilot, lambda: len(table.records) == 210)
        assert table.current == selected
        for number in range(600):
            made(gate, 2000 + number)
        events.publish("act-002000")
        await wait_until(pilot, lambda: "press r to load them" in text(app))
        assert (len(table.records), table.current) == (210, selected)
        await pilot.press("r")
        await wait_until(pilot, lambda: table.records[0].seq == 2599)


@async_test
async def test_only_what_the_search_finds_is_added() -> None:
    gate, events = HistoryGate(records(10)), Events()
    app = staged(gate, events)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await loaded(pilot, 10)
        await pilot.press("slash", *"outcome:denied", "enter")
        await wait_until(pilot, lambda: {one.outcome for one in table.records} == {"denied"})
        found = len(table.records)
        made(gate, 100, action="pay-invoice")
        events.publish(made(gate, 101, action="move-file", outcome="denied"))
        await wait_until(pilot, lambda: len(table.records) == found + 1)
        assert "pay-invoice" not in text(app)


@async_test
async def test_a_request_that_no_longer_matches_the_search_says_what_became_of_it() -> None:
    gate, events = HistoryGate(), Events()
    first = made(gate, 1, action="pay-invoice")
    gate.entries[first] = []
    app = staged(gate, events)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await loaded(pilot, 1)
        await pilot.press("slash", *"outcome:waiting", "enter")
        await wait_until(pilot, lambda: "1 found" in text(app))
        gate.kept[0] |= {"outcome": "denied"}
        second = made(gate, 2, action="move-file")
        events.publish(first, second)
        await wait_until(pilot, lambda: [one.id for one in table.records] == [second, first])
        assert [one.outcome for one in table.records] == ["pending", "denied"]
        assert "press r" not in text(app)


@async_test
async def test_open_details_follow_the_outcome_without_moving() -> None:
    gate, events = HistoryGate(records(3)), Events()
    new = made(gate, 100, outcome="running", decided=timestamp(NOW), surface="tui")
    gate.items[new] = item(new)
    app = staged(gate, events)
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(pilot, 4)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "Weekly recap" in text(app))
        gate.kept[0] |= {"outcome": "failed", "error": "upstream: 503"}
        events.publish(new)
        await wait_until(pilot, lambda: "upstream: 503" in text(app) and "Weekly recap" in text(app))


@async_test
async def test_a_source_that_cannot_be_read_changes_nothing() -> None:
    gate, events = HistoryGate(records(3)), Events()
    app = staged(gate, events)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await loaded(pilot, 3)
        gate.error, asked = NoGate("gone"), len(gate.asked)
        events.publish("act-000001")
        await wait_until(pilot, lambda: len(gate.asked) > asked)
        await pilot.pause(0.1)
        gate.error = None
        events.publish(made(gate, 100))
        await wait_until(pilot, lambda: len(table.records) == 4)


@async_test
async def test_the_console_tells_the_open_history_what_happens() -> None:
    class RecordingGate(ScriptedGate):
        """Has a history."""

        past_requests = HistoryGate()

        def history(self, **filters: str | int | list[str]) -> JsonObject:
            return self.past_requests.history(**filters)

    gate = RecordingGate()
    async with console(gate) as (app, pilot):
        await pilot.press("h")
        await wait_until(pilot, lambda: "No requests yet" in text(app))
        made(gate.past_requests, 1, action="act-on-1", signer=app.keys.key.public.fingerprint if app.keys.key else "")
        gate.tell("pending", request(1))
        await wait_until(pilot, lambda: "act-on-1" in text(app) and "your last 1: 0 approved" in text(app))


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_the_header_says_how_fast_the_operator_approves(size: tuple[int, int]) -> None:
    gate, events = HistoryGate(), Events()
    for number in range(30):
        changes = {"outcome": "denied" if number == 12 else "executed", "decided": timestamp(NOW), "took": 1.1}
        gate.kept.insert(0, record(number, NOW, {**changes, "signer": ME if number != 20 else "SHA256:other"}))
    app = staged(gate, events, ME)
    async with app.run_test(size=size) as pilot:
        await loaded(pilot, 30)
        await wait_until(pilot, lambda: "your last 20: 19 approved, median 1.1 s" in text(app))
        gate.kept.insert(0, record(40, NOW, {"outcome": "denied", "decided": timestamp(NOW), "took": 9, "signer": ME}))
        events.publish("act-000040")
        await wait_until(pilot, lambda: "your last 20: 18 approved, median 1.1 s" in text(app))


@async_test
async def test_the_header_says_nothing_about_an_operator_who_has_not_decided() -> None:
    gate, events = HistoryGate(records(5)), Events()
    app = staged(gate, events, "SHA256:new")
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot, 5)
        await wait_until(pilot, lambda: any("signer" in asked for asked in gate.asked))
        await pilot.pause(0.1)
        assert "your last" not in text(app)
