"""Help and the command palette say what the table of actions says."""

import pytest
from textual.command import CommandList, CommandPalette
from textual.widgets import Input

from aileron_tui.console.command_palette import ActionCommands
from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_reasons import KeyState
from aileron_tui.console.key_table import of
from aileron_tui.console.keymap import checked_keymap
from aileron_tui.console.screens.help import HelpScreen
from aileron_tui.console.screens.history import HistoryScreen
from tests.console.history_gate import HistoryGate, alone, records
from tests.console.screen_app import SIZES, ScreenApp, async_test, lines, text, wait_until
from tests.console.scripted_gate import ScriptedGate, console, notifications, request


async def whole(app: ScreenApp, pilot: object) -> str:
    """Everything on the sheet, scrolled through."""
    screen = app.screen
    seen: list[str] = []
    for _ in range(200):
        seen.extend(lines(app))
        view = screen.query_one("#help-keys")
        if view.scroll_offset.y >= view.max_scroll_y:
            break
        view.scroll_relative(y=5, animate=False)
        await screen.app.animator.wait_for_idle()
        await pilot.pause()  # type: ignore[attr-defined]  # a Pilot
    return "\n".join(seen)


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_every_key_is_explained(size: tuple[int, int]) -> None:
    app = ScreenApp(HelpScreen())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert "/ search  esc back" in text(app)
        seen = await whole(app, pilot)
        for scope in (KeyScope.MAIN, KeyScope.HISTORY, KeyScope.RAW, KeyScope.HELP):
            assert scope.value in seen
            for action in of(scope):
                assert action.label in seen
                assert action.tooltip.split()[0] in seen
        assert all(len(line) <= size[0] for line in lines(app))


@async_test
async def test_the_place_one_comes_from_is_first_and_the_users_keys_are_shown() -> None:
    app = ScreenApp(HelpScreen(KeyScope.HISTORY, keymap=checked_keymap({"history.export": "ctrl+e"})))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        seen = await whole(app, pilot)
        assert seen.index("History") < seen.index("Waiting requests")
        assert "^e" in seen


@async_test
async def test_help_can_be_searched_and_left() -> None:
    app = ScreenApp(HelpScreen())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", *"undo")
        await pilot.pause()
        assert "Cancel the newest approval" in text(app)
        assert "deny with reason" not in text(app)
        await pilot.press("space", *"zzz")
        await pilot.pause()
        assert "No matching keys." in text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "deny with reason" in text(app)
        assert not app.screen.query_one(Input).display
        assert not app.left
        await pilot.press("question_mark")
        await wait_until(pilot, lambda: app.left)


@async_test
async def test_help_scrolls_by_key() -> None:
    app = ScreenApp(HelpScreen())
    async with app.run_test(size=(40, 15)) as pilot:
        view = app.screen.query_one("#help-keys")
        await pilot.press("j", "j", "j")
        await pilot.pause()
        assert view.scroll_offset.y == 3
        await pilot.press("k")
        await pilot.pause()
        assert view.scroll_offset.y == 2


@async_test
async def test_the_palette_runs_an_action_by_its_name() -> None:
    app = ScreenApp(HistoryScreen(alone(HistoryGate(records(20)))))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "20 in total" in text(app))
        await pilot.press("ctrl+p")
        await wait_until(
            pilot, lambda: isinstance(app.screen, CommandPalette) and "Write the search results" in text(app)
        )
        assert "open the details first" in text(app)
        await pilot.press(*"outco")
        await wait_until(pilot, lambda: "Write the search results" not in text(app) and "outcome" in text(app))
        await pilot.pause(0.3)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "outcome approved" in text(app))


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_all_of_the_palette_is_on_the_screen(size: tuple[int, int]) -> None:
    async with console(ScriptedGate(request(1)), size=size) as (app, pilot):
        under = lines(app)[-1]
        await pilot.press("ctrl+p")
        await wait_until(pilot, lambda: isinstance(app.screen, CommandPalette) and "press its key" in text(app))
        assert lines(app)[-1] == under


@async_test
async def test_the_palette_is_in_the_same_order_at_each_start() -> None:
    async with console(ScriptedGate(request(1))) as (app, pilot):
        assert len(app.COMMANDS) == 1  # several are asked in the order of a set
        await pilot.press("ctrl+p")
        found = app.screen.query_one(CommandList)
        await wait_until(pilot, lambda: found.option_count > 10)
        titles = [str(found.get_option_at_index(index).prompt).split("\n")[0] for index in range(found.option_count)]
        assert titles[0].startswith("approve")
        assert titles[-1] == "theme"


@async_test
async def test_the_palette_offers_other_themes() -> None:
    async with console(ScriptedGate(request(1)), size=(80, 60)) as (app, pilot):
        assert [command.title for command in app.get_system_commands(app.screen)] == ["theme"]
        await pilot.press("ctrl+p", *"theme")
        await wait_until(pilot, lambda: "Change the colours" in text(app) and "history" not in text(app))
        await pilot.press("enter")
        await wait_until(pilot, lambda: "aileron-light" in text(app))
        await pilot.press(*"aileron-light")
        await wait_until(pilot, lambda: "aileron-light" in text(app) and "aileron-dark" not in text(app))
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.theme == "aileron-light")
        await wait_until(pilot, lambda: 'write theme = "aileron-light" under [console]' in notifications(app))


@pytest.mark.parametrize("word", ["colours", "light", "contrast"])
@async_test
async def test_themes_are_found_by_what_they_do(word: str) -> None:
    async with console(ScriptedGate(request(1))) as (app, pilot):
        assert notifications(app) == "", "the theme of the configuration needs no advice"
        await pilot.press("ctrl+p", *word)
        found = app.screen.query_one(CommandList)
        await wait_until(pilot, lambda: found.option_count > 0 and "theme" in text(app))


class Answering(HelpScreen):
    """A screen with the keys of the main view."""

    SCOPE = KeyScope.MAIN

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []

    @property
    def key_state(self) -> KeyState:
        """Rules out one key."""
        return KeyState(console_problem="not connected [b]\x1b[2J")

    def action_approve(self) -> None:
        """Must not happen."""
        self.done.append("approve")

    def action_lock(self) -> None:
        """May happen."""
        self.done.append("lock")


@async_test
async def test_the_palette_never_answers_and_says_why_something_cannot_be_done() -> None:
    screen = Answering()
    app = ScreenApp(screen)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        provider = ActionCommands(screen)
        hits = {hit.text: hit async for hit in provider.discover()}
        assert "down" not in hits
        assert "commands" not in hits
        for label in ("approve", "deny", "approve marked", "lock"):
            await hits[label].command()
        assert screen.done == ["lock"]
        assert (
            app.said[0] == app.said[1].replace("deny", "approve") == "approve: press its key: the palette never answers"
        )
        assert app.said[2] == "approve marked: not connected [b]⟨ESC⟩[2J"
        found = [hit.text async for hit in provider.search("not sent yet")]
        assert found in ([], ["undo"])
        assert "undo" in [hit.text async for hit in provider.search("undo")]
        assert "down" in [hit.text async for hit in provider.search("down")]


@async_test
async def test_the_palette_has_nothing_of_ours_on_other_screens() -> None:
    app = ScreenApp(HelpScreen())
    async with app.run_test(size=(80, 24)):
        assert [hit async for hit in ActionCommands(app.screen).discover()] == []
