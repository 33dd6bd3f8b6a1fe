"""The first screen: what is missing, the ways to go on, and a passphrase asked twice."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from aileron_tui.console.screens.first_run import FirstRun, FirstRunChoice, FirstRunResult

MISSING = ("No gate is running here.", "There is no key yet to sign answers with.")
Steps = Callable[[Pilot[FirstRunResult]], Coroutine[Any, Any, None]]


def played(steps: Steps, size: tuple[int, int] = (80, 30)) -> FirstRunResult | None:
    """Runs the screen and does these steps; what it came to."""

    async def main() -> FirstRunResult | None:
        app = FirstRun(MISSING, "aileron-dark")
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await steps(pilot)
            await pilot.pause()
        return app.return_value

    return asyncio.run(main())


def text_of(pilot: Pilot[FirstRunResult]) -> str:
    """What is on the screen."""
    screen = pilot.app.screen
    return "\n".join("".join(segment.text for segment in strip) for strip in screen._compositor.render_strips())


def pressing(*keys: str) -> Steps:
    async def steps(pilot: Pilot[FirstRunResult]) -> None:
        await pilot.press(*keys)

    return steps


@pytest.mark.parametrize(
    ("keys", "way"),
    [
        (["enter"], FirstRunChoice.DEMO),
        (["down", "down", "enter"], FirstRunChoice.RUN_KEY),
        (["j", "j", "k", "j", "enter"], FirstRunChoice.RUN_KEY),
        (["up", "enter"], FirstRunChoice.LEAVE),
        (["q"], FirstRunChoice.LEAVE),
        (["ctrl+c"], FirstRunChoice.LEAVE),
        (["down", "enter", "a", "ctrl+c"], FirstRunChoice.LEAVE),
    ],
)
def test_each_way_can_be_chosen(keys: list[str], way: FirstRunChoice) -> None:
    assert played(pressing(*keys)) == FirstRunResult(way)


@pytest.mark.parametrize(("words", "way"), [("enter choose", FirstRunChoice.DEMO), ("q quit", FirstRunChoice.LEAVE)])
@pytest.mark.parametrize("size", [(80, 30), (40, 15)])
def test_the_keys_at_the_bottom_can_be_clicked(words: str, way: FirstRunChoice, size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[FirstRunResult]) -> None:
        x = text_of(pilot).splitlines()[-1].index(words)
        await pilot.click(offset=(x, size[1] - 1))

    assert played(steps, size) == FirstRunResult(way)


def test_a_passphrase_is_given_and_taken_back_by_clicks() -> None:
    async def steps(pilot: Pilot[FirstRunResult]) -> None:
        bottom = (2, 29)
        await pilot.press("down")
        await pilot.click(offset=bottom)
        await pilot.press(*"long enough")
        await pilot.click(offset=bottom)
        await pilot.press(*"long enough")
        assert "esc back" in text_of(pilot)
        await pilot.click(offset=bottom)

    assert played(steps) == FirstRunResult(FirstRunChoice.MAKE_KEY, bytearray(b"long enough"))


def test_making_a_key_asks_the_passphrase_twice() -> None:
    words = [*"correct horse"]
    keys = ["space" if letter == " " else letter for letter in words]
    start = played(pressing("down", "enter", *keys, "enter", *keys, "enter"))
    assert start == FirstRunResult(FirstRunChoice.MAKE_KEY, bytearray(b"correct horse"))


@pytest.mark.parametrize(
    ("first", "second", "complaint"),
    [("abcdefgh", "abcdefgx", "the passphrases do not match"), ("short", "short", "too short")],
)
def test_a_passphrase_that_will_not_do_is_asked_again(first: str, second: str, complaint: str) -> None:
    async def steps(pilot: Pilot[FirstRunResult]) -> None:
        await pilot.press("down", "enter", *first, "enter", *second, "enter")
        await pilot.pause()
        assert complaint in text_of(pilot)
        assert [field.value for field in pilot.app.screen.query(Input)] == ["", ""]
        assert pilot.app.focused is pilot.app.screen.query_one("#first")

    assert played(steps) is None


def test_escape_goes_back_from_the_passphrase_and_forgets_it() -> None:
    async def steps(pilot: Pilot[FirstRunResult]) -> None:
        await pilot.press("down", "enter", *"secret", "escape")
        assert pilot.app.screen.query_one("#first", Input).value == ""
        assert pilot.app.focused is pilot.app.screen.query_one(OptionList)
        await pilot.press("escape")

    assert played(steps) is None


def test_the_passphrase_is_not_on_the_screen() -> None:
    async def steps(pilot: Pilot[FirstRunResult]) -> None:
        await pilot.press("down", "enter", *"hunter22")
        assert "hunter22" not in text_of(pilot)
        assert "••••••••" in text_of(pilot)

    played(steps)


@pytest.mark.parametrize("size", [(40, 15), (60, 20), (80, 24), (120, 40)])
def test_everything_needed_is_on_screen_at_every_size(size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[FirstRunResult]) -> None:
        shown = text_of(pilot)
        for words in ("aileron", "Try the demo", "Create a key", "temporary key", "Quit", "enter choose"):
            assert words in shown
        assert "no key yet" in shown
        await pilot.press("down", "enter")
        await pilot.pause()
        shown = text_of(pilot)
        for words in ("passphrase", "passphrase again", "at least 8", "esc back"):
            assert words in shown

    played(steps, size)


def test_a_passphrase_that_is_too_short_is_refused_before_it_is_typed_twice() -> None:
    async def steps(pilot: Pilot[FirstRunResult]) -> None:
        await pilot.press("down", "enter", *"short", "enter")
        await pilot.pause()
        assert "✗" in text_of(pilot)
        first = pilot.app.screen.query_one("#first", Input)
        assert (first.has_focus, first.value) == (True, "")
        await pilot.press(*"short but longer", "enter")
        await pilot.pause()
        assert "✗" not in text_of(pilot)
        assert pilot.app.screen.query_one("#second", Input).has_focus
        await pilot.press(*"short but longer", "enter")

    assert played(steps) == FirstRunResult(FirstRunChoice.MAKE_KEY, bytearray(b"short but longer"))
