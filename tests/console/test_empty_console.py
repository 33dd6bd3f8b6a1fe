"""A console without requests: it says how an agent reaches the gate, and its command can be copied."""

from pathlib import Path

import pytest

from aileron_tui.console.screens.main import MainScreen
from aileron_tui.core.call_hint import CallHint
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import QUICK, ScriptedGate, console, notifications, request, shown

HINT = CallHint("http://127.0.0.1:8123", "/home/sam/.local/share/aileron-tui/agents/agent.token")


class CalledGate(ScriptedGate):
    """A gate of this home."""

    call_hint = HINT


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 20)])
@async_test
async def test_the_command_is_copied_as_one_line_however_it_wraps(size: tuple[int, int]) -> None:
    async with console(CalledGate(), QUICK, size) as (app, pilot):
        await wait_until(pilot, lambda: "y copies it" in " ".join(shown(app).split()))
        await pilot.press("y")
        await wait_until(pilot, lambda: "command copied" in notifications(app))
        assert app.clipboard == HINT.command
        assert "\n" not in app.clipboard


@async_test
async def test_a_request_is_copied_as_before() -> None:
    async with console(CalledGate(request(1)), QUICK) as (app, pilot):
        await pilot.press("y")
        assert app.clipboard.startswith("act-1 sha256:")


@async_test
async def test_there_is_nothing_to_copy_in_an_empty_console_of_another_gate() -> None:
    async with console(ScriptedGate(), QUICK) as (app, pilot):
        await pilot.press("y")
        assert notifications(app) == "no request is selected"
        assert app.clipboard == ""


@async_test
async def test_the_first_frame_waits_for_no_styles_of_what_opens_later(monkeypatch: pytest.MonkeyPatch) -> None:
    before: set[str] = set()
    mount = MainScreen.mount_prompt

    def mount_prompt(screen: MainScreen) -> None:
        before.update(Path(path).name for path, _ in screen.app.stylesheet.source if path.endswith(".tcss"))
        mount(screen)

    monkeypatch.setattr(MainScreen, "mount_prompt", mount_prompt)
    async with console(ScriptedGate(request(1)), QUICK) as (app, pilot):
        await pilot.pause()
        assert before == {"base.tcss", "main.tcss"}
        assert {"dialogs.tcss", "prompt.tcss"} <= {Path(path).name for path, _ in app.stylesheet.source}
