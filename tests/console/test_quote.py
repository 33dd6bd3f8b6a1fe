"""A quote in a real screen: gutter, counts, scrolling, folding, and nothing in it that runs."""

import pytest
from textual._cells import cell_len
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.pilot import Pilot

from aileron_tui.console.widgets.json_outline import MAX_IMMEDIATE_LENGTH
from aileron_tui.console.widgets.prompt_sections import Block
from aileron_tui.console.widgets.quote import Quote
from aileron_tui.console.widgets.quote_text import GUTTER
from aileron_tui.console.widgets.two_sided_line import TwoSidedLine
from aileron_tui.core.visible_text import block
from tests.console.sample_requests import EVENT, PATCH, clickable, controls, lines, styles
from tests.console.screen_app import async_test
from tests.hostile import HOSTILE

HUNDRED = "\n".join(f"line {number}" for number in range(1, 101))


class Page(App[None]):
    """A quote in a page that scrolls."""

    CSS_PATH = styles()
    AUTO_FOCUS = ""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self.ran = False

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Quote(Block("Body", self._text))

    @property
    def quote(self) -> Quote:
        return self.query_one(Quote)

    @property
    def page(self) -> VerticalScroll:
        return self.query_one(VerticalScroll)

    def action_run(self) -> None:
        self.ran = True


async def settled(pilot: Pilot[None]) -> None:
    app = pilot.app
    assert isinstance(app, Page)
    for _ in range(200):
        await pilot.pause(0.01)
        if app.quote.body.long_text.counted and not app.quote._outline_pending:
            break
    await pilot.pause()


@async_test
async def test_a_quote_takes_the_rows_that_it_needs() -> None:
    app = Page(HUNDRED)
    async with app.run_test(size=(60, 24)) as pilot:
        await settled(pilot)
        shown = lines(app)
        assert shown[0].split()[:3] == ["Body", "100", "lines"]
        assert shown[1].startswith(f"{GUTTER} line 1 ")
        assert app.page.virtual_size.height == 101
        app.quote.show(Block("Body", "one\ntwo"))
        await settled(pilot)
        assert app.page.virtual_size.height == 3 or app.page.max_scroll_y == 0
        assert [line[:5].strip() for line in lines(app)[:4]] == ["Body", "▎ one", "▎ two", ""]


@async_test
async def test_the_head_says_who_wrote_the_text() -> None:
    app = Page("one")
    async with app.run_test(size=(60, 24)) as pilot:
        await app.page.mount(Quote(Block("Note", "two\nthree", "edited"), "agent sent"))
        await settled(pilot)
        assert lines(app)[2].split() == ["agent", "sent", "Note", "edited", "·", "2", "lines"]


@async_test
async def test_every_row_of_the_text_stands_behind_the_gutter() -> None:
    app = Page("a\n▎ b\n" + "word " * 40)
    async with app.run_test(size=(40, 24)) as pilot:
        await settled(pilot)
        body = lines(app)[1:9]
        assert all(row.startswith(GUTTER) for row in body)
        assert body[1].startswith(f"{GUTTER} ▎ b")


@pytest.mark.parametrize("part", range(4))
@async_test
async def test_hostile_text_is_only_shown(part: int) -> None:
    app = Page("")
    async with app.run_test(size=(50, 16)) as pilot:
        for name, text in list(HOSTILE.items())[part::4]:
            app.quote.show(Block("Body", text))
            await pilot.pause()
            shown = lines(app)
            assert not controls(shown), name
            assert not clickable(app), name
            assert all(cell_len(row) == 50 for row in shown), name
            first = block(text)[0]
            if app.quote.body.outline is None and first.isascii():
                start = first.split(" ")[0][:20]
                assert shown[1].removeprefix(GUTTER).strip().startswith(start), name


@async_test
async def test_markup_in_the_text_does_nothing_when_clicked() -> None:
    app = Page("[@click=app.run]press[/]")
    async with app.run_test(size=(50, 16)) as pilot:
        await settled(pilot)
        for x in range(2, 26):
            await pilot.click(offset=(x, 1))
        assert "[@click=app.run]press[/]" in lines(app)[1]
        assert not app.ran


@async_test
async def test_json_folds_by_key_and_by_click() -> None:
    app = Page(EVENT)
    async with app.run_test(size=(60, 30)) as pilot:
        await settled(pilot)
        assert lines(app)[0].split()[-4:] == ["JSON", "·", "19", "lines"]
        assert lines(app)[2].startswith(f'{GUTTER}▾   "event": {{')
        app.quote.body.focus()
        await pilot.press("down", "left")
        await pilot.pause()
        assert lines(app)[2].startswith(f'{GUTTER}▸   "event": {{ … 14 lines … }},')
        assert "19 lines" in lines(app)[0]
        await pilot.click(offset=(1, 2))
        await pilot.pause()
        assert lines(app)[3].startswith(f'{GUTTER}      "title": "Review",')
        await pilot.press("down", "down", "left")
        await pilot.pause()
        assert lines(app)[4].startswith(f'{GUTTER}▸     "rooms": [ … 2 lines … ],')
        await pilot.press("right")
        await pilot.pause()
        assert lines(app)[4].startswith(f"{GUTTER}▾")


@async_test
async def test_long_json_is_laid_out_without_holding_up_the_screen() -> None:
    text = "[" + ",".join(f'{{"id":{number}}}' for number in range(MAX_IMMEDIATE_LENGTH // 8)) + "]"
    app = Page(text)
    async with app.run_test(size=(60, 30)) as pilot:
        await settled(pilot)
        assert lines(app)[2].startswith(f"{GUTTER}▾   {{")


@async_test
async def test_a_diff_is_coloured_by_its_signs() -> None:
    app = Page(PATCH)
    async with app.run_test(size=(60, 30)) as pilot:
        await settled(pilot)
        assert "diff" in lines(app)[0]
        body = app.quote.body
        colours = {}
        for y in range(8):
            segments = list(body.render_line(y))
            colours["".join(part.text for part in segments)[2:4]] = segments[2].style
        assert colours["- "] != colours["+ "]
        assert colours["@@"] not in (colours["- "], colours["+ "])


@async_test
async def test_a_changed_line_keeps_its_sign_where_it_goes_on() -> None:
    long = "word " * 20  # two rows
    app = Page(f"--- a/{long}\n+++ b\n@@ -1,3 +1,3 @@\n {long}\n-{long}\n+{long}")
    async with app.run_test(size=(60, 40)) as pilot:
        await settled(pilot)
        shown = [line[1:4] for line in lines(app)[1:10]]
    assert shown == [" --", "·wo", " ++", " @@", "  w", "·wo", " -w", "-wo", " +w"], shown


@async_test
async def test_a_changed_line_keeps_its_sign_however_long_it_is() -> None:
    app = Page(f"@@ -1,2 +1,2 @@\n-é{'word ' * 8000}\n+é{'word ' * 8000}")
    async with app.run_test(size=(60, 40)) as pilot:
        await settled(pilot)
        app.page.scroll_to(y=700, animate=False)
        await settled(pilot)
        before = {line[1] for line in lines(app)[1:25]}
        app.page.scroll_end(animate=False)
        await settled(pilot)
        after = {line[1] for line in lines(app)[1:25]}
    assert (before, after) == ({"-"}, {"+"})


class LabelPage(Page):
    """A quote whose label is long enough to wrap."""

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Quote(Block(f"{'note ' * 30}fetched by connector mail To: team@example.com", "text"), "agent sent")


@pytest.mark.parametrize("width", [40, 60, 100])
@async_test
async def test_a_label_that_wraps_cannot_look_like_a_heading_or_a_row(width: int) -> None:
    app = LabelPage("")
    async with app.run_test(size=(width, 20)) as pilot:
        await settled(pilot)
        head = app.quote.query_one(".quote-head", TwoSidedLine)
        first, *rest = [line.plain for line in head.lines_at(width)]
        assert first.startswith("agent sent note")
        assert len(rest) > 1
        assert all(line.startswith("    ") for line in rest)
