"""A long text on the full screen: searched, highlighted, only shown, and not counted as read."""

import pytest

from aileron_tui.console.screens.body import BodyScreen
from aileron_tui.console.widgets.long_text import LongText
from aileron_tui.console.widgets.prompt_sections import Block
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.console.widgets.quote_text import QuoteText
from aileron_tui.console.widgets.text_search import TextSearch, search_pattern
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from tests.console.hostile_texts import carried, hostile_texts
from tests.console.screen_app import ScreenApp, async_test, lines, text, unsafe, wait_until
from tests.console.scripted_gate import ScriptedGate, console, notifications, request, shown

BODY = "\n".join(f"line {number} and{' transfer' * (number % 30 == 7)} words" for number in range(1, 94))
MAIL = PreviewResult((Row("To", "team@example.com"), Row("Body", BODY, multiline=True)))


def found_rows(words: str, query: str, width: int = 30, chunk: int = 16 * 1024) -> list[int]:
    long = LongText(words, chunk)
    long.set_width(width)
    long.count(10)
    pattern = search_pattern(query)
    assert pattern is not None
    search = TextSearch(long, pattern)
    search.go_on(10)
    assert search.is_complete
    return search.found


def test_words_are_found_across_wraps_and_whatever_their_case() -> None:
    words = "one two three four five six seven eight\nNINE  ten"
    assert found_rows(words, "FIVE six SEVEN", 24) == [0]
    assert found_rows(words, "seven eight", 24) == [1]
    assert found_rows(words, "eight nine", 24) == []
    assert found_rows(words, "nine ten", 24) == [2]
    assert found_rows(f"{'x' * 40}needle{'y' * 40}", "needle", 43) == [0]
    assert found_rows("", "x") == []


def test_what_is_hidden_in_a_text_is_found_by_its_mark() -> None:
    assert found_rows("a\nb\u202ec", "u+202e") == [1]
    assert found_rows("a b(c", "b(c") == [0]
    assert search_pattern("  ") is None


@pytest.mark.parametrize("chunk", [64, 100, 1000])
def test_no_match_is_lost_where_the_text_is_cut_into_chunks(chunk: int) -> None:
    text_ = "".join(f"{'ab' * (number % 7)}needle{number:03}" for number in range(300))
    rows = [row for number in range(300) for row in found_rows(text_, f"needle{number:03}", 30, chunk)]
    assert len(rows) == 300
    assert rows == sorted(rows)


@async_test
async def test_a_body_opens_on_the_full_screen_and_is_searched() -> None:
    async with console(ScriptedGate(request(1, preview=MAIL)), size=(100, 24)) as (app, pilot):
        await pilot.press("f")
        await wait_until(pilot, lambda: isinstance(app.screen, BodyScreen) and "line 19 " in shown(app))
        assert "fetched Body" in shown(app)
        assert "93 lines" in shown(app)
        await pilot.press("slash", *"transfer", "enter")
        await wait_until(pilot, lambda: "1 of 3" in shown(app) and "line 7 " in shown(app))
        await pilot.press("n")
        await wait_until(pilot, lambda: "2 of 3" in shown(app) and "line 37 " in shown(app))
        await pilot.press("N", "N")
        await wait_until(pilot, lambda: "3 of 3" in shown(app) and "line 67 " in shown(app))
        await pilot.press("slash", *"nowhere", "enter")
        await wait_until(pilot, lambda: "not found" in shown(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: "not found" not in shown(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, BodyScreen))


@async_test
async def test_every_match_is_highlighted_and_the_current_one_differs() -> None:
    screen = BodyScreen("send", Block("Body", "a needle and a needle\nanother needle"), "fetched")
    app = ScreenApp(screen)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        await pilot.press("slash", *"needle", "enter")
        await pilot.pause(0.1)
        drawn = screen.query_one(QuoteText)
        rows = [[(part.text, part.style) for part in drawn.render_line(y)] for y in (0, 1)]
        styles = [[style for words, style in row if words == "needle"] for row in rows]
        assert [len(row) for row in styles] == [2, 1]
        plain = [style for row in rows for words, style in row if words.strip() == "and a"]
        assert len({*map(str, styles[0]), *map(str, styles[1]), *map(str, plain)}) == 3


@async_test
async def test_reading_on_the_full_screen_does_not_count() -> None:
    async with console(gate := ScriptedGate(request(1, preview=MAIL)), size=(100, 24)) as (app, pilot):
        view = app.screen.query_one(PromptView)
        await wait_until(pilot, lambda: view._is_final and view.is_settled)
        before = view.unread.lines
        assert before
        await pilot.press("f")
        await wait_until(pilot, lambda: isinstance(app.screen, BodyScreen))
        for _ in range(8):
            await pilot.press("pagedown")
            await pilot.pause(0.05)
        await wait_until(pilot, lambda: "line 93" in shown(app))
        await pilot.press("a", "y", "d", "escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, BodyScreen))
        assert view.unread.lines == before
        assert gate.decided == []


@async_test
async def test_a_request_without_a_long_text_says_so() -> None:
    async with console(ScriptedGate(request(1)), size=(100, 24)) as (app, pilot):
        await pilot.press("f")
        await wait_until(pilot, lambda: "this request has no long text" in notifications(app) + shown(app))
        assert not isinstance(app.screen, BodyScreen)


@hostile_texts(parts=4, once=True)
@async_test
async def test_hostile_text_is_only_shown(texts: dict[str, str]) -> None:
    app = ScreenApp(BodyScreen("send", Block("Body", "x"), "fetched"))
    async with app.run_test(size=(50, 24)) as pilot:
        for name, hostile in texts.items():
            words = carried(hostile)
            screen = BodyScreen(words, Block(words[:60], words), "agent sent")
            await app.push_screen(screen)
            screen._start("e")
            await pilot.pause()
            assert not unsafe(app), name
            assert "agent sent" in text(app), name
            app.pop_screen()


@async_test
async def test_another_width_searches_again() -> None:
    words = "\n".join(f"{'word ' * 30} needle {number}" for number in range(50))
    screen = BodyScreen("send", Block("Body", words), "fetched")
    app = ScreenApp(screen)
    async with app.run_test(size=(120, 20)) as pilot:
        await pilot.pause()
        await pilot.press("slash", *"needle", "enter")
        await wait_until(pilot, lambda: "1 of 50" in text(app))
        await pilot.resize_terminal(50, 20)
        await wait_until(pilot, lambda: "1 of 50" in text(app) and any("needle 0" in row for row in lines(app)))
