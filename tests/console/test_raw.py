"""The raw view: exact, complete, and harmless whatever is in it."""

import json
import time

import pytest

from aileron_tui.console.screens.help import HelpScreen
from aileron_tui.console.screens.raw import MAX_COPIED, RawScreen
from aileron_tui.console.widgets.json_view import JsonView, json_text
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json
from aileron_tui.surface.raw_request import raw_fields
from tests.console.history_gate import item
from tests.console.screen_app import SIZES, ScreenApp, async_test, lines, text, unsafe, wait_until
from tests.hostile import HOSTILE


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_everything_that_binds_a_decision_is_there(size: tuple[int, int]) -> None:
    app = ScreenApp(RawScreen(item()))
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: '"draft_id": "r-12345"' in text(app))
        assert "send-draft" in lines(app)[0]
        assert "esc back" in lines(app)[-1]
        view = app.screen.query_one(JsonView)
        seen = ""
        while True:
            seen += "".join(line.strip().lstrip("▎┆").strip(" █▆▄▂") for line in lines(app)[2:-2])
            if view.scroll_offset.y >= view.max_scroll_y:
                break
            view.scroll_relative(y=4, animate=False)
            await pilot.pause()
        for name in ("digest", "head", "instance", "args", "preview", "connector"):
            assert f'"{name}"' in seen
        assert '"gate-1"' in seen


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_every_character_is_on_screen_also_where_a_scrollbar_comes(size: tuple[int, int]) -> None:
    one = item(text="the words of a long line " * 60)
    app = ScreenApp(RawScreen(one))
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: "characters" in text(app))
        view = app.screen.query_one(JsonView)
        assert view.show_vertical_scrollbar
        seen = ""
        for row in range(view.virtual_size.height):
            view.scroll_to(y=row, animate=False)
            await pilot.pause()
            seen += view.render_line(row - view.scroll_offset.y).text.strip()[1:]
    assert "".join(seen.split()) == "".join(json_text(raw_fields(one)).split())


@async_test
async def test_it_can_be_copied_exactly_and_left() -> None:
    one = item()
    app = ScreenApp(RawScreen(one))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "characters" in text(app))
        await pilot.press("y")
        assert json.loads(app.copied) == json.loads(json.dumps(raw_fields(one)))
        assert "copied" in text(app)
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.left)


@pytest.mark.parametrize("bad", HOSTILE.values(), ids=HOSTILE.keys())
def test_spelling_hides_nothing_and_loses_nothing(bad: str) -> None:
    text = json_text({"text": bad, "inside": {"key\x1b": [bad, 1, None]}})
    bad = json.loads(json.dumps(bad))  # two halves of a surrogate pair are one character in any JSON
    assert json.loads(text) == {"text": bad, "inside": {"key\x1b": [bad, 1, None]}}
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_hostile_text_is_only_shown(size: tuple[int, int]) -> None:
    app = ScreenApp(RawScreen(item()))
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: "characters" in text(app))
        view = app.screen.query_one(JsonView)
        texts = list(HOSTILE.values())
        for start in range(0, len(texts), 16):
            view.show(json_text({"all": [*(text[:3000] for text in texts[start : start + 16])], "name": texts[start]}))
            for row in range(0, view.virtual_size.height, 400):
                view.scroll_to(y=row, animate=False)
                await pilot.pause()
                assert unsafe(app) == []
                assert all(len(line) <= size[0] for line in lines(app))
    for bad in list(HOSTILE.values())[:5]:
        titled = ScreenApp(RawScreen(item(action=bad)))
        async with titled.run_test(size=size) as pilot:
            await wait_until(pilot, lambda titled=titled: "characters" in text(titled) or size[0] == 40)  # type: ignore[misc]
            assert unsafe(titled) == []


@async_test
async def test_ten_megabytes_open_at_once_and_are_not_copied() -> None:
    app = ScreenApp(RawScreen(item(text="a line of text that goes on\n" * 400_000)))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "characters" in text(app))
        view = app.screen.query_one(JsonView)
        started = time.perf_counter()
        view.scroll_end(animate=False)
        await pilot.pause()
        assert '"expires_at"' in text(app)
        await pilot.resize_terminal(60, 20)
        await pilot.pause()
        assert time.perf_counter() - started < 5
        await pilot.press("y")
        assert app.copied == ""
        assert "too long" in text(app)
        assert MAX_COPIED < 10_000_000


@async_test
async def test_wide_letters_never_run_over_the_edge() -> None:
    app = ScreenApp(RawScreen(item(text="漢字かな交じり文" * 50)))
    async with app.run_test(size=(40, 15)) as pilot:
        await wait_until(pilot, lambda: "characters" in text(app))
        view = app.screen.query_one(JsonView)
        view.scroll_end(animate=False)
        await pilot.pause()
        for _ in range(60):
            view.scroll_relative(y=-3, animate=False)
            await pilot.pause()
            for y in range(view.size.height):
                assert view.render_line(y).cell_length == view.scrollable_content_region.width


@async_test
async def test_what_no_row_shows_is_loaded_and_shown() -> None:
    app = ScreenApp(RawScreen(item(), load=lambda: {"bcc": "\x1b[2Jhidden@example.com"}))
    async with app.run_test(size=(100, 40)) as pilot:
        await wait_until(pilot, lambda: "with everything that was fetched just now" in text(app))
        assert "everything fetched" in text(app)
        assert "hidden@example.com" in text(app)
        assert not unsafe(app)


@async_test
async def test_the_rest_that_cannot_be_fetched_is_said() -> None:
    def fail() -> Json:
        raise AileronError("the preview op failed\x1b[2J")

    app = ScreenApp(RawScreen(item(), load=fail))
    async with app.run_test(size=(100, 40)) as pilot:
        await wait_until(pilot, lambda: "the rest cannot be fetched: the preview op failed⟨ESC⟩[2J" in text(app))
        assert '"draft_id": "r-12345"' in text(app)
