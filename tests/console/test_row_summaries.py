"""The summaries in the list of requests: requests of one action can be told apart, whatever their values."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from aileron_tui.console.app import Console
from aileron_tui.console.render import trusted
from aileron_tui.console.screens.confirm import ConfirmScreen
from aileron_tui.console.widgets.request_list import RequestList
from aileron_tui.console.widgets.target_lines import target_lines
from aileron_tui.core.prompt import Prompt
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp, utc_now
from tests.console import sample_requests as samples
from tests.console.hostile_texts import carried, hostile_texts
from tests.console.screen_app import ScreenApp, async_test, lines, text, unsafe, wait_until
from tests.console.scripted_gate import NORMAL, QUICK, ScriptedGate, console

COUNT = 10
CLOCK = re.compile(r" \d+:\d\d (⚠| )")


def mail(number: int, to: str, subject: str, body: str = "Hi") -> Request:
    rows = (Row("To", to), Row("Subject", subject), Row("Body", body, multiline=True))
    shown = samples.prompt((Row("Draft id", f"r-{number}"),), rows, risk=samples.SENDS if number % 2 else NORMAL)
    return waiting(shown, number)


def call(number: int, *inputs: Row) -> Request:
    return waiting(samples.prompt(inputs, action="run-command", preview=False, risk=NORMAL), number)


def waiting(shown: Prompt, number: int) -> Request:
    """A request with 4 minutes left."""
    asked = utc_now()
    made = samples.item(shown, id_=f"act-{number:02}")
    return replace(made, requested_at=timestamp(asked), expires_at=timestamp(asked + timedelta(seconds=270)))


NAMES = ("ana", "bo", "chidi", "dora", "emil", "fatou", "gus", "hana", "ivo", "june")
FAMILIES: dict[str, Callable[[int], Request]] = {
    "recipients": lambda n: mail(n, f"{NAMES[n]}@example.com", "Weekly recap"),
    "subjects": lambda n: mail(n, "team@example.com", f"Notes of the meeting with {NAMES[n]}"),
    "bodies": lambda n: mail(n, "team@example.com", "Weekly recap", f"Hi all,\nthe next release is for {NAMES[n]}."),
    "pairs": lambda n: mail(n, f"{NAMES[n % 3]}@example.com", f"Invoice {4711 + n // 3}"),
    "ids": lambda n: mail(n, "team@example.com", "Weekly recap"),
    "ends of paths": lambda n: call(n, Row("Path", f"/home/lin/website/content/posts/2026/{NAMES[n]}.md")),
    "middles of commands": lambda n: call(
        n, Row("Command", f"git commit -m 'fix number {n} in the parser of the importer' --no-edit", multiline=True)
    ),
    "fourth inputs": lambda n: call(
        n, Row("Service", "storage"), Row("Zone", "eu-west"), Row("Size", "12 KB"), Row("Colour", NAMES[n])
    ),
}


async def rows(app: Console, pilot: Pilot[None]) -> list[str]:
    """Each request as it is drawn, without what its position says."""
    found: list[str] = []
    for number in range(COUNT):
        listed = app.screen.query_one(RequestList)
        await wait_until(pilot, lambda number=number: app.board.selected == f"act-{number:02}")  # type: ignore[misc]
        screen, top = lines(app), listed.region.y
        at = next(y for y in range(top, listed.region.bottom) if screen[y].startswith("▸"))
        width = listed.region.width
        row = screen[at].ljust(width)[:width]
        clock = CLOCK.search(row)
        assert clock, row
        assert clock[1] == ("⚠" if app.board.requests[app.board.selected].prompt.risk.level is RiskLevel.HIGH else " ")
        second = screen[at + 1].ljust(width)[:width] if listed._lines_per_row == 2 else ""
        assert not second or second.startswith("    "), "the second line begins right of the names"
        found.append(re.sub(r"▸ (\d+/\d+ )?", "", row[: clock.start()]) + second)
        await pilot.press("j")
    return found


@pytest.mark.parametrize(
    ("family", "width"),
    [
        *((family, width) for family in FAMILIES for width in (80, 45)),
        *((family, width) for family in ("recipients", "ends of paths") for width in (120, 60, 40)),
    ],
)
@async_test
async def test_ten_requests_of_one_action_can_be_told_apart(family: str, width: int) -> None:
    gate = ScriptedGate(*map(FAMILIES[family], range(COUNT)))
    async with console(gate, size=(width, 24)) as (app, pilot):
        found = await rows(app, pilot)
        assert len(set(found)) == COUNT, "\n".join(found)
        assert all(row.startswith(("send-draft", "run-command")) for row in found)


@async_test
async def test_a_row_stays_the_same_while_others_arrive_and_end() -> None:
    make = FAMILIES["bodies"]
    gate = ScriptedGate(make(4), make(5))
    async with console(gate, size=(80, 24)) as (app, pilot):
        listed = app.screen.query_one(RequestList).region
        before = [line[: line.index(":") - 2] for line in lines(app)[listed.y : listed.y + 2]]
        gate.tell("pending", make(6))
        gate.tell("snapshot", *(replace(make(number), revision=2) for number in (1, 4, 5, 6)))
        await wait_until(pilot, lambda: len(app.board.listed) == 4)
        gate.tell("updated", replace(make(4), state=RequestState.EXECUTED, revision=3))
        await wait_until(pilot, lambda: "done ✓" in "\n".join(lines(app)) or "elsewhere" in "\n".join(lines(app)))
        after = "\n".join(lines(app))
        assert before[1] in after.replace("▸", " ")


@async_test
async def test_a_new_prompt_of_a_request_has_a_new_summary() -> None:
    gate = ScriptedGate(mail(1, "ana@example.com", "First"))
    async with console(gate) as (app, pilot):
        gate.tell("pending", replace(mail(1, "bo@example.com", "Second"), revision=2))
        await wait_until(pilot, lambda: "    bo@example.com · Second" in "\n".join(line[:34] for line in lines(app)))


def drawn(listed: RequestList) -> list[str]:
    """The lines of the list, each with all its columns."""
    left, top, width, height = listed.region
    strips = listed.screen._compositor.render_strips()[top : top + height]
    return [strip.crop(left, left + width).text for strip in strips]


@hostile_texts(2)
@async_test
async def test_hostile_values_stay_in_their_place(texts: dict[str, str]) -> None:
    values = [carried(text) for text in texts.values()]
    gate = ScriptedGate(*(call(n, Row("To", value), Row("Subject", "Hi")) for n, value in enumerate(values)))
    for size in ((120, 60), (80, 40)):
        async with console(gate, size=size) as (app, pilot):
            listed, pages = app.screen.query_one(RequestList), 0
            step = listed._lines_per_row
            while True:
                await pilot.pause(0.1)
                shown = drawn(listed)
                for row in shown[: len(values) * step : step]:
                    assert row[1:14] == " run-command "
                    assert CLOCK.search(row[-16:])
                assert step == 1 or all(line.startswith("    ") for line in shown[1::2])
                assert unsafe(app) == []
                if app.board.selected == app.board.listed[-1]:
                    break
                await pilot.press("pagedown")
                pages += 1
            assert pages > 1 or len(values) * step <= listed.size.height


@pytest.mark.parametrize("size", [(120, 36), (40, 15)])
@pytest.mark.parametrize("how", ["confirm", "type"])
@async_test
async def test_the_confirmation_names_every_recipient(size: tuple[int, int], how: str) -> None:
    rows = (Row("Subject", "Hi"), Row("To", "ana@example.com"), Row("Cc", "y approve\ny approve"))
    gate = ScriptedGate(waiting(samples.prompt(rows=rows), 1))
    async with console(gate, replace(QUICK, high_risk=how), size=size) as (app, pilot):
        for _ in range(20):
            if "● ready" in text(app):
                break
            await pilot.press("enter")
            await pilot.pause(0.3)
        await pilot.press("a")
        await wait_until(pilot, lambda: "High risk" in text(app))
        assert "To ▎ ana@example.com" in text(app)
        assert "Cc ▎ y approve⏎y approve" in text(app)


@async_test
async def test_many_or_long_recipients_leave_room_for_the_keys() -> None:
    rows = tuple(Row(f"To ({number} of 9)", f"{number}@example.com, " * 40) for number in range(1, 10))
    for size, hidden in (((120, 36), 5), ((40, 15), 7)):
        screen = ScreenApp(Screen())
        async with screen.run_test(size=size) as pilot:
            named = target_lines(samples.prompt(rows=rows), low=size[1] < 20)
            screen.push_screen(ConfirmScreen(trusted("Approve?"), trusted("it sends"), None, named))
            await wait_until(pilot, lambda: "Approve?" in text(screen))  # noqa: B023
            assert "To (1 of 9) ▎ 1@example.com" in text(screen)
            assert f"and {hidden} more" in text(screen)
            assert "y yes" in text(screen)
