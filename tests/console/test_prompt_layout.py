"""The order of a prompt, the lines that open, and how little of it there is to scroll."""

import asyncio
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.widgets.fields import common_label_width, field_lines
from aileron_tui.console.widgets.prompt_sections import section
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker, ConnectorRef, PreviewResult, ResolvedStep
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel
from tests.console import sample_requests as samples
from tests.console.mouse import click
from tests.console.sample_requests import NOW, PromptApp, item, lines, prompt
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import ScriptedGate, console, request, shown

MAIL = ConnectorRef("local://samples/mail", "1.0.0", "sha256:" + "ab" * 32, "signed by samples")
FILES = ConnectorRef("local://samples/files", "2.0.0", "sha256:" + "cd" * 32, "signed by mallory")
HIGH, NORMAL = Risk(RiskLevel.HIGH, "may send or publish"), Risk(RiskLevel.NORMAL, "may create something")
RECAP = Row("Body", "Here's the recap from this week's standup…", multiline=True)
SENT = (Row("Draft id", "r-12345"),)
ARGS: JsonObject = {"draft_id": "r-12345"}
SEND = ResolvedStep("send", "send_draft", MAIL, ARGS)
FETCHED = PreviewResult((Row("To", "team@example.com"), Row("Subject", "Weekly recap"), RECAP))
WORKED: dict[str, Any] = {
    "action": "send-draft",
    "connector": MAIL,
    "args": ARGS,
    "inputs": SENT,
    "preview": FETCHED,
    "steps": (SEND,),
    "asker": Asker("laptop-claude", "s-1", "~/mail/recap"),
}
DRAFTED: dict[str, Any] = WORKED | {
    "action": "draft-mail",
    "args": {"to": "lin@example.com", "subject": "Friday, 15:00", "body": RECAP.value},
    "inputs": (Row("To", "lin@example.com"), Row("Subject", "Friday, 15:00"), RECAP),
    "preview": None,
    "steps": (
        ResolvedStep(
            "draft",
            "create_draft",
            MAIL,
            {"to": "lin@example.com", "subject": "Friday, 15:00", "body": RECAP.value},
        ),
    ),
}


def view(app: Console) -> PromptView:
    return app.screen.query_one(PromptView)


async def settled(app: Console, pilot: Pilot[None]) -> None:
    await pilot.pause(0.15)
    await wait_until(pilot, lambda: view(app)._is_final and view(app).is_settled)


@pytest.mark.parametrize(("risk", "what"), [(HIGH, WORKED), (NORMAL, WORKED), (NORMAL, DRAFTED)])
def test_an_ordinary_prompt_needs_one_page_down_on_the_smallest_screen(risk: Risk, what: dict[str, Any]) -> None:
    async def read() -> None:
        gate = ScriptedGate(request(1, risk, **what))
        async with console(gate, size=(40, 15)) as (app, pilot):
            await settled(app, pilot)
            await pilot.press("pagedown")
            await wait_until(pilot, lambda: view(app).read_to_end)

    asyncio.run(read())


@pytest.mark.parametrize("size", [(120, 36), (40, 15)])
@pytest.mark.parametrize(
    ("changes", "values"),
    [
        # a second step on another connector, with an input that the agent did not send
        (
            {"steps": (SEND, ResolvedStep("clean", "remove", FILES, {"file_id": "f-1001"}))},
            ("2 steps", "remove", "files 2.0.0", "f-1001", "signed by mallory", "draft_id, not sent"),
        ),
        # the same connector under the same name, with other bytes
        (
            {"steps": (SEND, ResolvedStep("again", "send_draft", replace(MAIL, hash="sha256:ef12", trust="?"), ARGS))},
            ("sha256:ef12", "it is unclear who made this connector"),
        ),
        # a value of the manifest, and one that differs from what the agent sent
        ({"steps": (replace(SEND, inputs=ARGS | {"bcc": "mallory@evil.example"}),)}, ("bcc", "mallory@evil.example")),
        ({"steps": (replace(SEND, inputs={"draft_id": "r-666"}),)}, ("r-666",)),
        ({"steps": (replace(SEND, inputs={}),)}, ("draft_id, not sent",)),
        # long enough to be quoted
        ({"steps": (replace(SEND, inputs=ARGS | {"note": "one\ntwo\nPAY"}),)}, ("would run note", "PAY")),
        ({"connector": replace(MAIL, trust="made by somebody")}, ("it is unclear who made this connector",)),
        # cut off on the line, in full below
        ({"asker": Asker("laptop-claude", "", "", f"{'x ' * 300}and the end")}, ("and the end",)),
    ],
)
def test_nothing_that_is_shown_nowhere_else_is_behind_a_fold(
    changes: dict[str, Any], values: tuple[str, ...], size: tuple[int, int]
) -> None:
    """Without opening anything, an approval is possible only after all of it has been on screen, at any risk."""

    async def attack() -> None:
        gate = ScriptedGate(request(1, NORMAL, **WORKED | changes))
        async with console(gate, size=size) as (app, pilot):
            await settled(app, pilot)
            seen = shown(app)
            for _ in range(40):
                if view(app).read_to_end:
                    break
                await pilot.press("a")
                assert gate.decided == []
                await pilot.press("enter")
                await settled(app, pilot)
                seen += shown(app)
            plain = "".join(re.sub(r"[▎·▁-█]", "", seen).split())
            for value in values:
                assert "".join(value.replace("·", "").split()) in plain, value
            await pilot.press("a")
            await wait_until(pilot, lambda: len(gate.decided) == 1)

    asyncio.run(attack())


@async_test
async def test_details_open_with_a_key_or_a_click_and_need_not_be_read() -> None:
    gate = ScriptedGate(request(1, HIGH, **WORKED), request(2, HIGH, **WORKED))
    async with console(gate, size=(120, 36)) as (app, pilot):
        await wait_until(pilot, lambda: view(app).read_to_end)
        assert "▸ would run  ▎ send_draft · mail 1.0.0 · signed by samples · abababab" in shown(app)
        assert "local://samples/mail" not in shown(app)
        await pilot.press("o")
        await wait_until(pilot, lambda: "▎ local://samples/mail 1.0.0" in shown(app) and "▾ asked by" in shown(app))
        assert "Says session  ▎ s-1" in shown(app)
        assert view(app).read_to_end
        await click(pilot, "would run")
        await wait_until(pilot, lambda: "local://samples/mail" not in shown(app))
        await click(pilot, "laptop-claude")
        await wait_until(pilot, lambda: "local://samples/mail" in shown(app))
        await pilot.press("j")
        await wait_until(pilot, lambda: "local://samples/mail" not in shown(app))


@pytest.mark.parametrize("width", [40, 43, 45, 48, 52, 60, 80])
@async_test
async def test_an_age_that_grows_moves_nothing(width: int) -> None:
    asked = samples.worked()
    app = PromptApp(replace(asked, prompt=replace(asked.prompt, action="send-draft-to-all")))
    async with app.run_test(size=(width, 40)) as pilot:
        places = set()
        for seconds in (0, 9, 10, 59, 60, 275, 3540, 3600):
            app.view.tick(NOW + timedelta(seconds=seconds - 39))
            await pilot.pause()
            rows = lines(app)
            places.add(tuple(next(y for y, row in enumerate(rows) if word in row) for word in ("risk", "To ", "Body")))
        assert len(places) == 1


@async_test
async def test_a_long_label_on_a_narrow_screen_moves_only_its_own_value() -> None:
    app = PromptApp(item(prompt((Row("Id", "r-1"), Row("The identifier of the draft", "r-2")), ())))
    async with app.run_test(size=(40, 30)) as pilot:
        await pilot.pause()
        rows = [row.strip() for row in lines(app)]
        assert "Id         ▎ r-1" in rows
        assert rows[rows.index("The identifier of the draft") + 1] == "▎ r-2"


def test_missing_rows_leave_room_for_values_on_a_narrow_screen() -> None:
    rows = (Row("To", "team@example.com"), *(Row(name, missing=True) for name in ("Cc", "Bcc", "Reply-To")))
    fields = section(rows).fields
    width = common_label_width(fields, 36)
    assert [line.plain.rstrip() for line in field_lines(fields, width, 36)] == [
        "  To        ▎ team@example.com",
        "  Cc, Bcc   n/a",
        "  Reply-To  n/a",
    ]


@async_test
async def test_a_body_uses_the_room_there_is_and_one_motion_reads_it() -> None:
    body = Row("Body", "\n".join(f"line {number}" for number in range(1, 94)), multiline=True)
    gate = ScriptedGate(request(1, NORMAL, **WORKED | {"preview": PreviewResult((body, Row("To", "a@example.com")))}))
    async with console(gate, size=(120, 36)) as (app, pilot):
        await settled(app, pilot)
        assert "line 15" in shown(app)
        await pilot.press("enter")
        await settled(app, pilot)
        pages = 0
        while not view(app).read_to_end:
            await pilot.press("pagedown")
            await settled(app, pilot)
            assert view(app).has_focus
            pages += 1
        assert pages <= 3


@async_test
async def test_another_width_keeps_the_line_on_top() -> None:
    text = "\n".join(f"line {number} " + "word " * 20 for number in range(300))
    app = PromptApp(samples.long_body(text))
    async with app.run_test(size=(120, 20)) as pilot:
        await pilot.pause(0.1)
        app.view.scroll_rows(211)
        await pilot.pause(0.1)
        top = next(row for row in lines(app) if "▎ line" in row).split()[2]
        for size in ((50, 20), (90, 30), (120, 20)):
            await pilot.resize_terminal(*size)
            await pilot.pause(0.2)
            assert next(row for row in lines(app) if "▎ line" in row).split()[2] == top
