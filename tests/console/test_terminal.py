"""What was written to the terminal is what the console believes to be on it."""

import pyte
import pytest
from textual._compositor import CompositorUpdate
from textual.app import App
from textual.screen import Screen

from aileron_tui.console.widgets.prompt_scroll import PromptScroll
from aileron_tui.core.prompt_rows import Row
from tests.console.screen_app import async_test, lines
from tests.console.scripted_gate import ScriptedGate, console, request

SIZE = (60, 20)


@pytest.fixture(name="terminal")
def _terminal(monkeypatch: pytest.MonkeyPatch) -> pyte.Screen:
    """A terminal that gets everything that is drawn."""
    terminal = pyte.Screen(*SIZE)
    stream = pyte.Stream(terminal)
    display = App._display

    def shown(self: App[None], screen: Screen[None], update: object) -> None:
        if isinstance(update, CompositorUpdate):
            stream.feed(update.render_segments(self.console))
        display(self, screen, update)  # type: ignore[arg-type]

    monkeypatch.setattr(App, "_display", shown)
    return terminal


@async_test
async def test_what_scrolls_while_the_screen_is_laid_out_is_drawn_where_it_is_now(terminal: pyte.Screen) -> None:
    rows = tuple(Row(f"Row {number}", f"value {number}") for number in range(40))
    async with console(ScriptedGate(request(1, inputs=rows)), size=SIZE) as (app, pilot):
        body = app.screen.query_one(PromptScroll)
        for place in (3, 7, 2):
            app.screen._compositor._full_map_invalidated = True  # as it is when something came into view
            body.scroll_to(y=place, animate=False, immediate=True)
            assert body.children[0].region  # somebody wants to know where it is
            app.screen.query_one("#prompt-title").refresh(layout=True)
            await pilot.pause(0.3)
            assert [line.rstrip() for line in terminal.display] == [line.rstrip() for line in lines(app)]
