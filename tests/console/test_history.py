"""The history on screen."""

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input

from aileron_tui.console.keymap import checked_keymap
from aileron_tui.console.screens.export import ExportScreen
from aileron_tui.console.screens.help import HelpScreen
from aileron_tui.console.screens.history import HistoryScreen
from aileron_tui.console.screens.raw import RawScreen
from aileron_tui.console.widgets import history_search
from aileron_tui.console.widgets.chart import Chart
from aileron_tui.console.widgets.history_table import HistoryTable
from aileron_tui.console.widgets.request_detail import RequestDetail, record_lines, shown_prompt_lines
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.prompt_rows import Row
from aileron_tui.runtime.errors import InvalidReply, NoGate, Rejected
from aileron_tui.surface.history_records import ShownPrompt, read_page, shown_in_request
from tests.console.history_gate import NOW, HistoryGate, alone, item, record, records
from tests.console.screen_app import SIZES, UNSAFE, ScreenApp, async_test, lines, text, unsafe, wait_until
from tests.hostile import HOSTILE


def staged(gate: HistoryGate, **more: object) -> ScreenApp:
    return ScreenApp(HistoryScreen(alone(gate)), **more)  # type: ignore[arg-type]  # passed on as it is


async def loaded(pilot: Pilot[None], count: int = 1) -> HistoryTable:
    table = pilot.app.screen.query_one(HistoryTable)
    await wait_until(pilot, lambda: len(table.records) >= count)
    return table


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_every_request_is_there_with_how_it_ended(size: tuple[int, int]) -> None:
    app = staged(HistoryGate(records(8)))
    async with app.run_test(size=size) as pilot:
        await loaded(pilot, 8)
        seen = text(app)
        await pilot.press("G")
        await pilot.pause()
        seen += text(app)
        for word in (
            "History",
            "8 in total",
            "send-draft",
            "✓ done",
            "✗ failed",
            "○ nobody answered",
            "end of the list",
        ):
            assert word in seen, word
        assert "7.7 s" in seen
        if size[0] > 40:
            for word in ("tui", "browser", "nightly-report", "claude-code", "signed"):
                assert word in seen, word
        assert "esc" in lines(app)[-1]
        assert all(len(line) <= size[0] for line in lines(app))


@pytest.mark.parametrize(("size", "words"), [((120, 24), "by a rule"), ((45, 24), "allowed by a rule")])
@async_test
async def test_what_a_rule_allowed_says_so_in_its_row(size: tuple[int, int], words: str) -> None:
    app = staged(HistoryGate([record(1, changes={"surface": "rule", "rule": "rule-0123", "outcome": "executed"})]))
    async with app.run_test(size=size) as pilot:
        await loaded(pilot, 1)
        assert words in text(app)


@async_test
async def test_opening_costs_one_page_and_scrolling_loads_more_without_moving_anything() -> None:
    gate = HistoryGate(records(230))
    app = staged(gate)
    async with app.run_test(size=(120, 36)) as pilot:
        table = await loaded(pilot, 50)
        await wait_until(pilot, lambda: len(gate.asked) == 2)
        assert [asked.get("limit") for asked in gate.asked] == [50, 500]
        assert "50 loaded, more below" in text(app)
        for _ in range(30):
            await pilot.press("j")
        before = table.current, table.scroll_offset.y
        await wait_until(pilot, lambda: len(table.records) == 100)
        assert (table.current, table.scroll_offset.y) == before
        for count in (150, 200, 230):
            await pilot.press("G")
            await wait_until(pilot, lambda count=count: len(table.records) == count)  # type: ignore[misc]  # bound at once
        assert [request.seq for request in table.records] == list(range(230, 0, -1))
        await pilot.press("G")
        await pilot.pause()
        assert "end of the list" in text(app)
        await pilot.press("g")
        assert table.current is not None
        assert table.current.seq == 230


@async_test
async def test_search_is_live_and_asks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_search, "SEARCH_DELAY", 1.0)  # a busy machine types slowly
    gate = HistoryGate(records(60))
    app = staged(gate)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await loaded(pilot, 50)
        gate.asked.clear()
        await pilot.press("slash", *"wrong")
        await wait_until(pilot, lambda: 0 < len(table.records) < 50)
        assert [asked["text"] for asked in gate.asked] == ["wrong*"]
        assert {request.reason for request in table.records} == {"wrong folder"}
        await wait_until(pilot, lambda: f"{len(table.records)} found" in text(app))
        await pilot.press("enter")
        assert table.has_focus
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(table.records) == 50)
        assert not app.left
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.left)


@async_test
async def test_the_outcome_can_be_chosen_forward_and_backward() -> None:
    gate = HistoryGate(records(40))
    app = staged(gate)

    def outcomes() -> set[str]:
        return {request.outcome for request in table.records}

    async with app.run_test(size=(80, 24)) as pilot:
        table = await loaded(pilot, 40)
        await pilot.press("o")
        await wait_until(pilot, lambda: outcomes() == {"executed", "failed", "interrupted"})
        assert "outcome approved" in text(app)
        await pilot.press("o")
        await wait_until(pilot, lambda: outcomes() == {"executed"})
        assert "outcome ✓ done" in text(app)
        await pilot.press("o", "o")
        await wait_until(pilot, lambda: outcomes() == {"denied"})
        await pilot.press("O")
        await wait_until(pilot, lambda: outcomes() == {"failed"})
        await pilot.press("O", "O", "O")
        await wait_until(pilot, lambda: len(table.records) == 40)
        await pilot.press("O")
        await wait_until(pilot, lambda: "outcome allowed by a rule" in text(app) and not table.records)
        await pilot.press("escape")
        await wait_until(pilot, lambda: "outcome all" in text(app) and len(table.records) == 40)


@async_test
async def test_a_search_is_completed_with_the_right_arrow() -> None:
    gate = HistoryGate(records(40))
    app = staged(gate)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await loaded(pilot, 40)
        await pilot.press("slash", *"outcome:den")
        field = app.screen.query_one(Input)
        await wait_until(pilot, lambda: "outcome:denied" in text(app))
        assert field.value == "outcome:den"
        assert len(table.records) == 40, "a word that is still being typed does not filter"
        await pilot.press("right")
        await wait_until(pilot, lambda: {request.outcome for request in table.records} == {"denied"})
        assert field.value == "outcome:denied"


@async_test
async def test_the_search_and_the_outcome_can_be_clicked() -> None:
    async with staged(HistoryGate(records(40))).run_test(size=SIZES[0]) as pilot:
        await loaded(pilot, 40)
        await pilot.click("#history-slash")
        assert isinstance(pilot.app.focused, Input)
        before = text(pilot.app).splitlines()[1]
        await pilot.click("#history-outcome")
        await wait_until(pilot, lambda: text(pilot.app).splitlines()[1] != before)
        assert "outcome all" not in text(pilot.app)


@async_test
async def test_an_answer_to_an_older_search_is_dropped() -> None:
    gate = HistoryGate(records(20))
    app = staged(gate)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await loaded(pilot, 20)
        gate.held = "executed"
        gate.open.clear()
        await pilot.press("o", "o", "o")
        await wait_until(pilot, lambda: {request.outcome for request in table.records} == {"failed"})
        gate.open.set()
        await pilot.pause(0.3)
        assert {request.outcome for request in table.records} == {"failed"}


@async_test
async def test_a_search_that_cannot_be_understood_says_why() -> None:
    app = staged(HistoryGate(records(5)))
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot, 5)
        await pilot.press("slash", *"since:x")
        await wait_until(pilot, lambda: "not a date or time" in text(app))
        assert "since:7d" in text(app)
        await pilot.press("escape")
        await wait_until(pilot, lambda: "not a date" not in text(app))


@pytest.mark.parametrize(
    ("size", "shown"), [((120, 36), "team@exampl… · Recap"), ((80, 24), "team@example.com · Recap")]
)
@async_test
async def test_each_request_has_its_summary_beside_its_action(size: tuple[int, int], shown: str) -> None:
    values: list[Json] = ["team@example.com", "Recap"]
    hostile = record(1, changes={"summary": ["\x1b[2J", "done ✓ 4.2 s"]})
    app = staged(HistoryGate([record(3, changes={"summary": values}), record(2), hostile]))
    async with app.run_test(size=size) as pilot:
        await loaded(pilot, 3)
        assert f"send-draft  {shown}" in text(app)
        assert "⟨ESC⟩" in text(app)
        assert '"done ✓' in text(app)
        assert unsafe(app) == []


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_the_detail_shows_what_was_shown(size: tuple[int, int]) -> None:
    past = records(5)
    app = staged(HistoryGate(past, [item(str(past[0]["id"]))]))
    async with app.run_test(size=size) as pilot:
        await loaded(pilot, 5)
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.screen.query_one("#detail-shown").display)
        detail = app.screen.query_one(RequestDetail)
        detail.scroll_end(animate=False)
        await pilot.pause()
        assert "▎ All green." in text(app)
        await pilot.press("v")
        await wait_until(pilot, lambda: isinstance(app.screen, RawScreen))
        await pilot.press("escape")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert not detail.display
        assert not app.left


@async_test
async def test_the_detail_follows_the_cursor_and_warns_of_haste() -> None:
    app = staged(HistoryGate(records(8)))
    async with app.run_test(size=(120, 36)) as pilot:
        table = await loaded(pilot, 8)
        await pilot.press("enter")
        while table.current is None or table.current.took != 0.4:
            await pilot.press("j")
        await wait_until(pilot, lambda: "decided in 0.4 s  ⚠ quick" in text(app))
        await wait_until(pilot, lambda: "The prompt is in the ledger" in text(app))


@async_test
async def test_the_detail_of_an_old_request_comes_from_the_ledger() -> None:
    gate = HistoryGate(records(3))
    gate.entries["act-000003"] = [{"kind": "request.made", "body": {"args": {"kept": "for act-000003"}}}]
    app = staged(gate)
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(pilot, 3)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "kept  for act-000003" in text(app))


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_an_answer_given_elsewhere_is_marked(size: tuple[int, int]) -> None:
    app = staged(HistoryGate([record(1, changes={"surface": "elsewhere", "signer": ""})]))
    async with app.run_test(size=size) as pilot:
        await loaded(pilot, 1)
        if size[0] > 40:
            assert "elsewhere" in text(app)
            assert "not signed" in text(app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "answered   elsewhere" in text(app))


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_nothing_yet_is_said_kindly(size: tuple[int, int]) -> None:
    app = staged(HistoryGate())
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: "No requests yet." in text(app))
        assert not app.screen.query_one(Chart).display
        await pilot.press("j", "k", "G", "g", "enter", "y", "v", "pagedown", "tab")
        assert "No requests yet." in text(app)


@async_test
async def test_nothing_found_is_said() -> None:
    app = staged(HistoryGate(records(5)))
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot, 5)
        await pilot.press("slash", *"zzzz")
        await wait_until(pilot, lambda: "Nothing found." in text(app))


@async_test
async def test_waiting_for_a_slow_gate_is_said() -> None:
    gate = HistoryGate(records(5))
    gate.open.clear()
    app = staged(gate)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "loading…" in text(app))
        gate.open.set()
        await loaded(pilot, 5)
        assert "loading…" not in text(app)


@async_test
async def test_a_lost_gate_is_said_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aileron_tui.console.history_loader.RETRY_SECONDS", 0.3)
    gate = HistoryGate(records(80))
    app = staged(gate)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await loaded(pilot, 50)
        gate.error = NoGate("nobody answers at http://127.0.0.1:1", "refused")
        await pilot.press("r")
        await wait_until(pilot, lambda: "nobody answers" in text(app))
        assert "out of date" in text(app)
        assert len(table.records) == 50
        gate.error = None
        await wait_until(pilot, lambda: "nobody answers" not in text(app))
        assert table.records[0].seq == 80
        assert len(table.records) == 50


@pytest.mark.parametrize(
    "error",
    [
        Rejected(500, {"error": {"message": "\x1b[2Jbroken [@click=app.quit]x[/]"}}),
        InvalidReply("the gate's answer cannot be read", "\x1b]0;x\x07"),
    ],
)
@async_test
async def test_a_refusal_is_shown_harmlessly(error: Rejected | InvalidReply) -> None:
    gate = HistoryGate(records(5))
    gate.error = error
    app = staged(gate)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "⟨ESC⟩" in text(app))
        assert "The history could not be loaded." in text(app)
        assert unsafe(app) == []
        gate.error = None
        await pilot.press("r")
        await loaded(pilot, 5)


@async_test
async def test_the_chart_says_what_it_leaves_out() -> None:
    app = staged(HistoryGate(records(1200)))
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(pilot, 50)
        await wait_until(pilot, lambda: "decisions per day" in text(app))
        assert "median time to decide" in text(app)
        small = staged(HistoryGate([record(5000 - n, NOW) for n in range(600)]))
    async with small.run_test(size=(120, 36)) as pilot:
        await wait_until(pilot, lambda: "of the newest 500 requests" in text(small))
        await pilot.press("c")
        assert "decisions per day" not in text(small)
        await pilot.press("c")
        assert "decisions per day" in text(small)


@async_test
async def test_the_chart_can_be_asked_for_where_there_is_little_room() -> None:
    app = staged(HistoryGate(records(30)))
    async with app.run_test(size=(40, 15)) as pilot:
        await loaded(pilot, 30)
        assert "time taken" not in text(app)
        await pilot.press("c")
        await wait_until(pilot, lambda: "time taken" in text(app))
        assert "send-draft" in text(app)


@async_test
async def test_resizing_keeps_the_cursor_in_view() -> None:
    app = staged(HistoryGate(records(50)))
    async with app.run_test(size=(120, 36)) as pilot:
        table = await loaded(pilot, 50)
        for _ in range(30):
            await pilot.press("j")
        chosen = table.current
        for size in ((40, 15), (80, 24), (200, 50), (40, 15)):
            await pilot.resize_terminal(*size)
            await pilot.pause(0.1)
            assert table.current == chosen
            assert "▸" in text(app)
            assert "esc" in lines(app)[-1]
            assert ("signature" in text(app)) == (size[0] > 100)


@async_test
async def test_the_mouse_moves_and_opens() -> None:
    app = staged(HistoryGate(records(20)))
    async with app.run_test(size=(120, 36)) as pilot:
        table = await loaded(pilot, 20)
        await pilot.click(HistoryTable, offset=(10, 3))
        assert table.current == table.records[3]
        assert not app.screen.query_one(RequestDetail).display
        await pilot.click(HistoryTable, offset=(10, 3))
        await wait_until(pilot, lambda: app.screen.query_one(RequestDetail).display)
        await pilot.click(HistoryTable, offset=(10, 21))
        assert table.current is not None


@async_test
async def test_an_id_that_is_copied_runs_nothing_when_it_is_pasted() -> None:
    app = staged(HistoryGate([record(1, changes={"id": "act-1\nrm -rf ~\n"})]))
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(pilot, 1)
        await pilot.press("y")
    assert app.copied == "act-1⏎rm -rf ~⏎"


@async_test
async def test_copy_and_help_and_panes() -> None:
    past = records(5)
    app = staged(HistoryGate(past, [item(str(past[0]["id"]))]))
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(pilot, 5)
        await pilot.press("y")
        assert app.copied == "act-000005"
        await pilot.press("enter")
        await wait_until(pilot, lambda: "agent sent" in text(app))
        await pilot.press("y")
        assert app.copied == f"act-000005 sha256:{'cd' * 32}"
        await pilot.press("tab")
        assert app.screen.query_one(RequestDetail).has_focus
        await pilot.press("tab")
        assert app.screen.query_one(Input).has_focus
        await pilot.press("tab", "question_mark")
        assert isinstance(app.screen, HelpScreen)


@async_test
async def test_raw_view_and_copy_are_of_the_request_under_the_cursor() -> None:
    past = records(5)
    app = staged(HistoryGate(past, [item(str(past[0]["id"]))]))
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(pilot, 5)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "agent sent" in text(app))
        await pilot.press("enter", "j", "y")
        assert app.copied == "act-000004"
        await pilot.press("v")
        assert isinstance(app.screen, HistoryScreen)
        assert "open the details first" in text(app)


@async_test
async def test_a_users_keys_work_and_are_shown() -> None:
    keys = checked_keymap({"history.search": "f", "down": "w"})
    app = ScreenApp(HistoryScreen(alone(HistoryGate(records(9))), keymap=keys), keymap=keys)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await loaded(pilot, 9)
        assert lines(app)[-1].startswith(" f search")
        await pilot.press("w", "w")
        assert table.current == table.records[2]
        await pilot.press("f")
        assert app.screen.query_one(Input).has_focus


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_hostile_text_is_only_shown(size: tuple[int, int]) -> None:
    names = ("action", "agent", "surface", "reason", "error", "connector", "id", "risk", "signer", "asked", "outcome")
    items: list[dict[str, Json]] = []
    for place, bad in enumerate(HOSTILE.values()):
        fields: dict[str, Json] = {name: bad for name in names if name not in ("asked", "outcome") or place % 2}
        items.append(record(10_000 - place, changes=fields | {"id": f"{place} {bad}"}))
    held = [
        item(str(one["id"]), text=bad, action=bad, draft=bad) for one, bad in zip(items, HOSTILE.values(), strict=True)
    ]
    app = staged(HistoryGate(items, held))
    async with app.run_test(size=size) as pilot:
        table = await loaded(pilot, 50)
        while len(table.records) < len(items):
            known = len(table.records)
            await pilot.press("G")
            await wait_until(pilot, lambda known=known: len(table.records) > known)  # type: ignore[misc]  # bound at once
        screen = app.screen
        assert isinstance(screen, HistoryScreen)
        detail = screen.query_one(RequestDetail)
        for place, one in enumerate(table.records):
            table.move(place - table.records.index(table.current or one))
            if place % 20 == 0:
                await pilot.pause()
                assert unsafe(app) == []
        screen.add_class("-detail")
        for place in range(0, len(held), 12):
            detail.show(table.records[place], shown_in_request(held[place]))
            await pilot.pause()
            assert unsafe(app) == [], table.records[place].id
        assert len(lines(app)) == size[1]
        assert not app.left


@pytest.mark.parametrize("bad", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_only_text_in_every_part_of_the_detail(bad: str) -> None:
    fields: dict[str, Json] = dict.fromkeys(("action", "agent", "reason", "error", "signer", "asked", "outcome"), bad)
    request = read_page({"items": [record(1, changes=fields)], "next": None}).requests[0]
    held = item(text=bad, action=bad, draft=bad)
    shown = ShownPrompt(
        (*shown_in_request(held).inputs, Row(bad, bad), Row(bad, missing=True)), shown_in_request(held).fetched, ""
    )
    for content in (
        *record_lines(request, shown=ShownPrompt(alerted=bad, extended=bad, retried=bad)),
        *shown_prompt_lines(shown),
        *shown_prompt_lines(ShownPrompt(unavailable=bad)),
    ):
        assert not UNSAFE.findall(content.plain)
        assert not [span for span in content.spans if "click" in str(span.style) or "link" in str(span.style)]
        assert "\n" not in content.plain


@pytest.mark.parametrize("bad", [*HOSTILE.values(), "x" * 60 + " − to  forged", "\n− to  forged"])
@pytest.mark.parametrize("width", [12, 40])
def test_no_content_of_an_edited_call_reaches_the_column_of_the_signs(bad: str, width: int) -> None:
    rows = (Row(bad, bad), Row("to", bad), Row("body", f"{bad}\nsame", multiline=True), Row(bad, bad, multiline=True))
    was = (rows[0], Row("to", "a"), Row("body", "same", multiline=True), rows[3])
    plain, edited = ShownPrompt(rows), ShownPrompt(rows, asked=was)
    assert {content.plain[:1] for content in shown_prompt_lines(plain, width=width)} == {"a", " "}
    told = list(shown_prompt_lines(edited, width=width))
    assert not [content for content in told if UNSAFE.findall(content.plain) or "\n" in content.plain]
    signs = {content.plain[:1] for content in told[2:] if not content.plain.startswith(("edited", "approved", "+ as"))}
    assert {"−", "+", " "} <= signs <= {"−", "+", " ", "a", "e"}


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_an_edited_approval_is_listed_and_told_as_one(size: tuple[int, int]) -> None:
    gate = HistoryGate([record(3, changes={"outcome": "executed", "edited": True})])
    entry: JsonObject = {"kind": "request.made", "body": {"args": {"to": "ann", "body": "one\ntwo"}}}
    gate.entries["act-000003"] = [entry]
    gate.edits["act-000003"] = {"asked": {"to": "ann", "body": "one\ntwo"}, "approved": {"to": "bob", "body": "one\n2"}}
    app = staged(gate)
    async with app.run_test(size=size) as pilot:
        await loaded(pilot, 1)
        assert "done, edited" in text(app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.screen.query_one("#detail-shown").display)
        app.screen.query_one(RequestDetail).scroll_end(animate=False)
        await pilot.pause()
        for words in ("− to", "+ to", "− ▎ two", "+ ▎ 2", "  ▎ one"):
            assert words in text(app)


@async_test
async def test_an_edit_made_elsewhere_is_told_as_one() -> None:
    app = staged(HistoryGate([record(3, changes={"edited": True, "surface": "elsewhere", "signer": ""})]))
    async with app.run_test(size=(100, 44)) as pilot:
        await loaded(pilot, 1)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "edited     elsewhere; the changes are not known here" in text(app))


@async_test
async def test_what_a_daemon_never_told_is_said_in_the_detail() -> None:
    shell: JsonObject = {"outcome": "running", "kind": "shell", "daemon": "here"}
    app = staged(HistoryGate([record(3, changes=shell), record(1, changes=shell | {"kind": "comms_send"})]))
    async with app.run_test(size=(100, 44)) as pilot:
        await loaded(pilot, 2)
        assert "→ allowed" in text(app)
        assert "… no news" in text(app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "the daemon does not report how this kind of request ends" in text(app))
        await pilot.press("j")
        await wait_until(pilot, lambda: "no report since" in text(app))


async def into_export(pilot: Pilot[None]) -> ExportScreen:
    await pilot.press("x")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
    screen = pilot.app.screen
    assert isinstance(screen, ExportScreen)
    return screen


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_export_writes_what_is_found(tmp_path_factory: pytest.TempPathFactory, size: tuple[int, int]) -> None:
    folder = tmp_path_factory.mktemp("export")
    gate = HistoryGate(records(1200))
    app = staged(gate)
    async with app.run_test(size=size) as pilot:
        await loaded(pilot, 50)
        screen = await into_export(pilot)
        assert "JSON lines. Only you" in text(app).replace("\n", " ")
        screen.query_one(Input).value = str(folder / "past.csv")
        await pilot.pause()
        assert "Format: CSV" in text(app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: not isinstance(app.screen, ExportScreen))
        assert "1,200 written to" in text(app) or size[0] == 40
    path = folder / "past.csv"
    assert len(path.read_text().splitlines()) == 1201
    assert path.stat().st_mode & 0o777 == 0o600


@async_test
async def test_export_never_replaces_a_file_without_being_asked(tmp_path: Path) -> None:
    path = tmp_path / "past.jsonl"
    path.write_text("precious")
    app = staged(HistoryGate(records(5)))
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot, 5)
        screen = await into_export(pilot)
        assert not screen.query_one("#export-replace").display
        screen.query_one(Input).value = str(path)
        await pilot.pause()
        await pilot.press("enter")
        await wait_until(pilot, lambda: "the file already exists" in text(app))
        replace = screen.query_one("#export-replace", Button)
        assert replace.display
        assert not replace.has_focus
        await pilot.press("enter")
        await pilot.pause(0.2)
        assert path.read_text() == "precious"
        await pilot.click("#export-replace")
        await wait_until(pilot, lambda: not isinstance(app.screen, ExportScreen))
        assert len(path.read_text().splitlines()) == 5


@async_test
async def test_export_says_what_is_in_the_way_and_can_be_left(tmp_path: Path) -> None:
    gate = HistoryGate(records(5))
    app = staged(gate)
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot, 5)
        screen = await into_export(pilot)
        for name, words in (
            ("x.txt", "Use .jsonl or .csv."),
            (str(tmp_path / "no" / "x.csv"), "cannot write the file"),
        ):
            screen.query_one(Input).value = name
            await pilot.pause()
            await pilot.press("enter")
            await wait_until(pilot, lambda words=words: words in text(app))  # type: ignore[misc]  # bound at once
        gate.error = NoGate("nobody answers\x1b")
        screen.query_one(Input).value = str(tmp_path / "x.csv")
        await pilot.pause()
        await pilot.press("enter")
        await wait_until(pilot, lambda: "nobody answers" in text(app))
        assert unsafe(app) == []
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, ExportScreen))
    assert list(tmp_path.iterdir()) == []
