"""Requests of opencode on a real screen: what is shown, and what each key says."""

from dataclasses import replace

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.request import Request
from aileron_tui.core.times import utc_now
from aileron_tui.runtime.opencode.request_reader import OTHERS_REJECTED, read_request, with_others
from aileron_tui.runtime.opencode.tool_part import ToolPart, read_part, read_place
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import ScriptedGate, console, notifications, shown
from tests.runtime.opencode.fake_server import FOLDER, RECORDED


def asked(name: str, part: ToolPart | str | None = None) -> Request:
    """A recorded request, with the call that was recorded unless another is given."""
    item = RECORDED["requests"][name]
    place = read_place(FOLDER, item)
    assert place is not None
    return read_request(
        item,
        part if part is not None else read_part(RECORDED["messages"][name], place),
        folder=FOLDER,
        source="",
        instance="opencode http://127.0.0.1:4096",
        head="sha256:" + "0" * 64,
        rules=(),
        seen=utc_now(),
        has_password=True,
    )


@pytest.mark.parametrize("size", [(100, 40), (40, 60)])
@async_test
async def test_the_call_and_what_opencode_tells_are_shown_apart(size: tuple[int, int]) -> None:
    async with console(ScriptedGate(asked("bash")), size=size) as (app, pilot):
        await wait_until(pilot, lambda: "Run this command?" in shown(app))
        words = " ".join(shown(app).replace("▎", "").split())
        assert "told by opencode" in words
        assert "Command echo ran > ran.txt" in words
        assert "Always would allow" in words
        assert "fetched by" not in words


@async_test
async def test_a_diff_is_what_opencode_tells() -> None:
    async with console(ScriptedGate(asked("write")), size=(100, 60)) as (app, pilot):
        await wait_until(pilot, lambda: "told by opencode Diff" in shown(app))
        assert "fetched" not in shown(app)


@async_test
async def test_unknown_arguments_are_a_warning() -> None:
    async with console(ScriptedGate(asked("bash", "no such call")), size=(100, 40)) as (app, pilot):
        await wait_until(pilot, lambda: "Arguments" in shown(app))
        words = " ".join(shown(app).replace("▌", "").split())
        assert "the arguments of this call are not known (no such call)" in words
        assert "agent sent nothing" not in shown(app)


@async_test
async def test_keys_that_do_nothing_say_why() -> None:
    gate = ScriptedGate(with_others(asked("bash"), others_wait=True))
    async with console(gate, size=(120, 40)) as (app, pilot):
        await wait_until(pilot, lambda: OTHERS_REJECTED[:40] in " ".join(shown(app).split()))
        for key, words in (
            ("R", "opencode has no rules"),
            ("+", "opencode sets no deadline"),
            ("r", "opencode reports changes by itself"),
        ):
            await pilot.press(key)
            await wait_until(pilot, lambda words=words: words in f"{notifications(app)} {shown(app)}")  # type: ignore[misc]
        await pilot.press("e")
        await wait_until(pilot, lambda: "opencode cannot change this call" in f"{notifications(app)} {shown(app)}")
    assert gate.decided == []


@async_test
async def test_a_changed_call_is_shown_instead() -> None:
    before, place = asked("bash"), read_place(FOLDER, RECORDED["requests"]["bash"])
    assert place is not None
    part = read_part(RECORDED["messages"]["bash"], place)
    gate = ScriptedGate(before)
    async with console(gate, size=(120, 40)) as (app, pilot):
        await wait_until(pilot, lambda: "echo ran" in shown(app))
        gate.tell("updated", asked("bash", replace(part, args={"command": "ls", "description": "marker"})))
        await wait_until(pilot, lambda: "can only be denied" in shown(app) or "only denied" in shown(app))
        assert Verdict.APPROVE not in [verdict for _, verdict, *_ in gate.decided]
