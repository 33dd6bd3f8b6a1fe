"""Several sources at once: one list, and one source's trouble never in the way of another's."""

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from aileron_tui.console.app import Console
from aileron_tui.console.screens.batch import BatchScreen
from aileron_tui.console.screens.history import HistoryScreen
from aileron_tui.console.screens.raw import RawScreen
from aileron_tui.console.widgets.history_table import HistoryTable
from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.runtime.errors import NoReply
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.surface import source_listener
from aileron_tui.surface.operator_key import TemporaryOperatorKey
from aileron_tui.surface.source import SourceSpec
from aileron_tui.surface.source_listener import ConnectionState
from tests.console.history_gate import HistoryGate, records
from tests.console.screen_app import SIZES, UNSAFE, async_test, lines, unsafe, wait_until
from tests.console.scripted_gate import (
    ARMED,
    QUICK,
    Clock,
    ScriptedGate,
    SlowGate,
    console,
    notifications,
    request,
    sent,
    shown,
)
from tests.hostile import HOSTILE

APPROVE, DENY = Verdict.APPROVE, Verdict.DENY


def gate(name: str, *numbers: int) -> ScriptedGate:
    return ScriptedGate(*(request(number) for number in numbers), name=name)


def decided(source: ScriptedGate) -> list[tuple[str, Verdict]]:
    return [(id_, verdict) for id_, verdict, *_ in source.decided]


def reach(app: Console, name: str) -> ConnectionState:
    return app.sources.listeners[name].status.state


@async_test
async def test_one_list_and_each_answer_goes_home() -> None:
    work, home = gate("work", 1, 3), gate("home", 2)
    async with console([work, home]) as (app, pilot):
        assert app.board.listed == ["home act-2", "work act-1", "work act-3"]
        screen = shown(app)
        assert "● 2 sources" in screen
        assert "3 waiting" in screen
        app.board.selected = "home act-2"
        app.redraw()
        await wait_until(pilot, lambda: "from home, a gate" in shown(app))
        await pilot.press("a")
        await wait_until(pilot, lambda: app.board.pill("home act-2").words == "done ✓")
        await pilot.press("j")
        await wait_until(pilot, lambda: "from work, a gate" in shown(app))
        await pilot.press("d")
        await wait_until(pilot, lambda: len(work.decided) == 1)
    assert (decided(home), decided(work)) == ([("act-2", APPROVE)], [("act-1", DENY)])


@async_test
async def test_the_same_id_on_two_sources_is_answered_once_each() -> None:
    work, home = gate("work", 1), gate("home", 1)
    async with console([work, home]) as (app, pilot):
        assert app.board.listed == ["home act-1", "work act-1"]
        app.board.selected = "work act-1"
        app.redraw()
        await pilot.pause(0.15)
        await pilot.press("a")
        await wait_until(pilot, lambda: app.board.pill("work act-1").words == "done ✓")
        assert app.board.is_waiting("home act-1")
        assert decided(home) == []
        await pilot.press("k")
        await pilot.pause(0.15)
        await pilot.press("d")
        await wait_until(pilot, lambda: app.board.pill("home act-1").words == "denied")
    assert (decided(work), decided(home)) == ([("act-1", APPROVE)], [("act-1", DENY)])


@async_test
async def test_going_from_one_to_its_twin_is_no_armed_answer() -> None:
    """Two requests that look the same are two requests: what was shown of one counts nothing for the other."""
    work, home = gate("work", 1), gate("home", 1)
    async with console([work, home], ARMED, clock=Clock()) as (app, pilot):
        app.board.move(1 if app.board.selected == "home act-1" else -1)
        app.redraw()
        await pilot.press("a")
        await sent(app)
    assert decided(work) == decided(home) == []


@pytest.mark.parametrize("size", SIZES)
def test_one_goes_away_and_the_others_are_answered(size: tuple[int, int]) -> None:
    @async_test
    async def run() -> None:
        work, home = gate("work", 1), gate("home", 2)
        async with console([work, home], size=size) as (app, pilot):
            home.hang_up()
            await wait_until(pilot, lambda: reach(app, "home") is ConnectionState.STALE)
            await wait_until(pilot, lambda: "▲ home stale since" in shown(app))
            screen = shown(app)
            assert "◐ 1 of 2 sources" in screen
            assert "2 waiting" in screen
            assert all(len(line) <= size[0] for line in lines(app))
            app.board.selected = "home act-2"
            app.redraw()
            await wait_until(pilot, lambda: "○ home" in shown(app))
            await wait_until(pilot, lambda: app.sources.listeners["home"].status.why == "nobody answers")
            for key in ("a", "d", "D", "e", "r"):
                app.clear_notifications()
                await pilot.press(key)
                await wait_until(pilot, lambda: "home is not connected: nobody answers" in notifications(app))
                assert len(app.screen_stack) == 1, key
            app.board.selected = "work act-1"
            app.redraw()
            await pilot.pause(0.15)
            await pilot.press("a")
            await wait_until(pilot, lambda: app.board.pill("work act-1").words == "done ✓")
            assert app.board.is_waiting("home act-2")
            home.down = False
            await wait_until(pilot, lambda: reach(app, "home") is ConnectionState.LIVE)
            await wait_until(pilot, lambda: "● 2 sources" in shown(app))
            assert "since" not in shown(app)
        assert (decided(work), decided(home)) == ([("act-1", APPROVE)], [])

    run()


@async_test
async def test_the_cursor_stays_while_sources_come_and_go() -> None:
    work, home = gate("work", 5, 6), gate("home", 7)
    async with console([work, home]) as (app, pilot):
        app.board.selected = "work act-6"
        app.redraw()
        home.hang_up()
        await wait_until(pilot, lambda: reach(app, "home") is ConnectionState.STALE)
        home.items = {item.id: item for item in map(request, range(1, 5))}
        home.down = False
        await wait_until(pilot, lambda: app.board.waiting_count == 6)
        assert app.board.selected == "work act-6"
        assert "Approve act-on-6?" in shown(app)
        assert app.board.pill("home act-7").words == "no longer waiting"


@pytest.mark.parametrize("size", SIZES)
def test_many_in_trouble_are_named_in_a_few_lines(size: tuple[int, int]) -> None:
    @async_test
    async def run() -> None:
        sources = [gate("work", 1), gate("home"), gate("tunnel"), gate("laptop")]
        for silent in sources[1:]:
            silent.down = True
        async with console(sources, size=size) as (app, pilot):
            await wait_until(pilot, lambda: all(reach(app, one.name) is ConnectionState.OFFLINE for one in sources[1:]))
            await pilot.pause(0.2)
            rows = lines(app)
            assert "◐ 1 of 4 sources" in rows[0]
            assert rows[1].startswith(" ▲ home offline since")
            assert "+2 more" in rows[1]  # one line, so that the request that can be answered stays in place
            await pilot.press("a")
            await wait_until(pilot, lambda: len(sources[0].decided) == 1)

    run()


@async_test
async def test_a_source_that_never_answers_is_offline_and_hides_nothing() -> None:
    stuck, work = gate("stuck"), gate("work", 1)
    opened = threading.Event()

    def connect(source: ScriptedGate, _: UnlockedKey) -> ScriptedGate:
        if source is stuck:
            opened.wait(20)
            raise NoReply("it took too long")
        return source

    upstreams = [SourceSpec(one.name, lambda key, one=one: connect(one, key)) for one in (stuck, work)]  # type: ignore[misc]
    app = Console(upstreams, TemporaryOperatorKey(for_this_run()), QUICK)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: reach(app, "work") is ConnectionState.LIVE)
        await wait_until(pilot, lambda: "◐ 1 of 2 sources" in shown(app))
        await pilot.press("a")
        await wait_until(pilot, lambda: len(work.decided) == 1)
        opened.set()
        await wait_until(pilot, lambda: reach(app, "stuck") is ConnectionState.OFFLINE)
        await wait_until(pilot, lambda: "▲ stuck offline since" in shown(app))


@async_test
async def test_a_batch_over_two_sources_leaves_out_the_silent_one() -> None:
    work, home, away = gate("work", 1), gate("home", 2), gate("away", 3)
    async with console([work, home, away], size=(120, 40)) as (app, pilot):
        app.board.marked |= {"work act-1", "home act-2", "away act-3"}
        away.hang_up()
        await wait_until(pilot, lambda: reach(app, "away") is ConnectionState.STALE)
        await pilot.press("A")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen))
        await wait_until(pilot, lambda: "away is not connected" in shown(app))
        for _ in range(3):
            await pilot.press("space")
            await pilot.press("j")
        await pilot.press("escape", "A")
        await pilot.pause(0.1)
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: "2 approved" in notifications(app))
        assert app.board.marked == {"away act-3"}
    assert (decided(work), decided(home), decided(away)) == ([("act-1", APPROVE)], [("act-2", APPROVE)], [])


@async_test
async def test_a_slow_source_keeps_only_its_own_waiting_in_a_batch() -> None:
    slow, work = SlowGate(request(1), request(2), name="slow"), gate("work", 3)
    async with console([slow, work]) as (app, pilot):
        app.board.marked |= {"slow act-1", "slow act-2", "work act-3"}
        await pilot.press("A")
        await pilot.pause(0.1)
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: app.board.pill("work act-3").words == "done ✓")
        assert decided(slow) == []
        slow.let.set()
        await wait_until(pilot, lambda: "3 approved" in notifications(app))


@async_test
async def test_an_edit_and_a_fresh_preview_come_from_the_request_s_own_source() -> None:
    work, home = gate("work", 1), gate("home", 1)
    async with console([work, home]) as (app, pilot):
        app.board.selected = "work act-1"
        app.redraw()
        await pilot.pause(0.15)
        before = work.items["act-1"].revision
        await pilot.press("r")
        await wait_until(pilot, lambda: work.items["act-1"].revision > before)
        assert home.items["act-1"].revision == before
        await pilot.press("e")
        await pilot.pause(0.1)
        await pilot.press("end", *"-new", "ctrl+s")
        await wait_until(pilot, lambda: app.answers.edited is not None)
        await wait_until(pilot, lambda: "r-1-new" in shown(app))
        await pilot.press("a")
        await wait_until(pilot, lambda: len(work.decided) == 1)
    assert (work.decided[0][3], home.decided) == ({"draft_id": "r-1-new"}, [])


@async_test
async def test_a_held_approval_of_a_source_that_went_away_is_not_sent_elsewhere() -> None:
    work, home = gate("work", 1), gate("home", 1)
    async with console([work, home], replace(QUICK, undo_seconds=0.6)) as (app, pilot):
        app.board.selected = "work act-1"
        app.redraw()
        await pilot.pause(0.15)
        await pilot.press("a")
        work.hang_up()
        await wait_until(pilot, lambda: "work is not connected: nothing was sent" in notifications(app))
        assert app.board.is_waiting("work act-1")
    assert decided(work) == decided(home) == []


@async_test
async def test_the_filter_finds_a_source_and_quitting_counts_all() -> None:
    work, home = gate("work", 1), gate("home", 2)
    async with console([work, home]) as (app, pilot):
        await pilot.press("slash", *"home")
        await pilot.pause(0.1)
        assert app.board.listed == ["home act-2"]
        await pilot.press("escape", "q")
        await wait_until(pilot, lambda: "2 requests are waiting. Quit anyway?" in shown(app))


@async_test
async def test_the_raw_view_names_the_source() -> None:
    async with console([gate("work", 1), gate("home")]) as (app, pilot):
        await pilot.press("v")
        await wait_until(pilot, lambda: isinstance(app.screen, RawScreen) and '"source": "work"' in shown(app))


@async_test
async def test_one_source_alone_is_not_named() -> None:
    async with console(ScriptedGate(request(1))) as (app, _):
        screen = shown(app)
        assert "● connected" in screen
        assert "source" not in screen
        assert "from" not in screen


@async_test
async def test_a_reason_from_outside_is_shown_and_not_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_listener, "FOREVER", source_listener.Reconnecting(0.03, 0.03))
    work, why = gate("work", 1), [""]

    def refuse(_: UnlockedKey) -> ScriptedGate:
        raise AileronError(why[0])

    def connect(_: UnlockedKey) -> ScriptedGate:
        return work

    app = Console(
        [SourceSpec("work", connect), SourceSpec("home", refuse)], TemporaryOperatorKey(for_this_run()), QUICK
    )
    async with app.run_test(size=(80, 24)) as pilot:
        for name, text in list(HOSTILE.items())[::6]:
            why[0] = text[:1000]
            await wait_until(pilot, lambda text=text: app.sources.listeners["home"].status.why == text[:1000])  # type: ignore[misc]
            assert "▲ home offline since" in shown(app)
            assert unsafe(app) == [], name
            away = replace(request(1), source="home")
            assert UNSAFE.findall(app.answer_problem(away)) == [], name


@pytest.mark.parametrize("size", SIZES)
def test_a_failing_gate_says_why_until_it_works_again(size: tuple[int, int]) -> None:
    @async_test
    async def run() -> None:
        only = gate("", 1, 2)
        only.problem = "the disk is full"
        async with console([only], size=size) as (app, pilot):
            await wait_until(pilot, lambda: "▲ the gate is failing" in shown(app))
            assert "the disk is full" in shown(app)
            await pilot.press("a")
            await wait_until(pilot, lambda: len(only.decided) == 1)
            only.report_health("")
            await wait_until(pilot, lambda: "failing" not in shown(app))
            only.report_health("the ledger was replaced")
            await wait_until(pilot, lambda: "the ledger was replaced" in shown(app))
            assert "the disk is full" not in shown(app)

    run()


@async_test
async def test_the_failing_one_of_several_sources_is_named() -> None:
    work, home = gate("work", 1), gate("home", 2)
    async with console([work, home]) as (app, pilot):
        home.report_health("the disk is full")
        await wait_until(pilot, lambda: "▲ home is failing: the disk is full" in shown(app))
        assert "● 2 sources" in shown(app)
        home.report_health("")
        await wait_until(pilot, lambda: "failing" not in shown(app))


@async_test
async def test_what_a_failing_gate_says_is_shown_and_not_obeyed() -> None:
    only = gate("", 1)
    async with console([only]) as (app, pilot):
        for name, text in list(HOSTILE.items())[::6]:
            only.report_health(f"!{text}")
            said = f"!{text}"[:1000]
            await wait_until(pilot, lambda said=said: app.sources.listeners[""].status.problem == said)  # type: ignore[misc]
            await pilot.pause(0.05)
            assert "▲ the gate is failing" in shown(app), name
            assert unsafe(app) == [], name
            await wait_until(pilot, lambda: "Approve act-on-1?" in shown(app))


@pytest.mark.parametrize(
    "names", [["work", "work"], ["", "work"], ["my work", "home"]], ids=["twice", "nameless", "two words"]
)
def test_names_that_could_be_mistaken_are_refused(names: Sequence[str]) -> None:
    with pytest.raises(AileronError, match="unique name"):
        Console([SourceSpec(name, lambda _: gate("x")) for name in names], TemporaryOperatorKey(for_this_run()))


class Remembering(ScriptedGate):
    """Has a past."""

    def __init__(self, *items: Request, name: str = "", count: int = 0) -> None:
        super().__init__(*items, name=name)
        self.memory = HistoryGate(records(count))

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        return self.memory.history(**filters)


@pytest.mark.parametrize("size", SIZES)
def test_the_history_of_all_sources_is_one_and_one_failing_is_named(size: tuple[int, int]) -> None:
    @async_test
    async def run() -> None:
        work, home, away = Remembering(name="work", count=5), Remembering(name="home", count=4), gate("away")
        away.down = True
        async with console([work, home, away], size=size) as (app, pilot):
            await pilot.press("h")
            await wait_until(pilot, lambda: isinstance(app.screen, HistoryScreen))
            table = app.screen.query_one(HistoryTable)
            await wait_until(pilot, lambda: len(table.records) == 9)
            await wait_until(pilot, lambda: "History is incomplete" in shown(app))
            screen = shown(app)
            assert "away: not connected" in " ".join(screen.split())
            assert "work" in screen
            assert "home" in screen
            assert all(len(line) <= size[0] for line in lines(app))
            await pilot.press("enter")
            await wait_until(pilot, lambda: "source" in shown(app))
            assert table.current is not None
            assert table.current.source in shown(app)
            home.memory.error = NoReply("the connection broke")
            await pilot.press("escape", "r")
            await wait_until(pilot, lambda: len(table.records) == 5)
            assert "the connection broke" in " ".join(shown(app).split())

    run()


@async_test
async def test_the_history_of_one_source_can_be_chosen() -> None:
    work, home = Remembering(name="work", count=5), Remembering(name="home", count=4)
    async with console([work, home]) as (app, pilot):
        await pilot.press("h")
        await wait_until(pilot, lambda: isinstance(app.screen, HistoryScreen))
        table = app.screen.query_one(HistoryTable)
        await wait_until(pilot, lambda: len(table.records) == 9)
        await pilot.press("slash", *"source:home", "enter")
        await wait_until(pilot, lambda: {one.source for one in table.records} == {"home"})
