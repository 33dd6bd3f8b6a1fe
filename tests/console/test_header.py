"""The top lines: what fits in a narrow window, and what is said of what does not."""

import pytest
from textual.app import App, ComposeResult

from aileron_tui.console.render import MUTED
from aileron_tui.console.widgets.header import Header, WaitingCount, banner
from aileron_tui.runtime.errors import NoGate
from aileron_tui.surface.source_listener import ConnectionState, SourceStatus, _brief
from tests.console.screen_app import async_test, lines

TRIED = "; ".join(f"/home/alice/.aileron/place-{number}/daemon.json: there is no such file" for number in range(9))


class Top(App[None]):
    def compose(self) -> ComposeResult:
        yield Header()


@pytest.mark.parametrize(
    ("width", "notes", "line"),
    [
        (40, (), " aileron  ● connected         3 waiting"),
        (40, ("⚠ vault locked",), " aileron  ●  ⚠ vault locked   3 waiting"),
        (40, ("⚠ vault locked", "⚠ key"), " ●  ⚠ vault locked  ⚠ key     3 waiting"),
        (40, ("⚠ vault locked", "⚠ key", "2 marked", "read-only"), " ●  ⚠ vault locked  ⚠ key  +2 3 waiting"),
        (60, ("⚠ vault locked", "2 marked"), " aileron  ● connected  ⚠ vault locked  2 marked  3 waiting"),
    ],
)
@async_test
async def test_what_must_be_known_has_room(width: int, notes: tuple[str, ...], line: str) -> None:
    app = Top()
    async with app.run_test(size=(width, 3)) as pilot:
        app.query_one(Header).show(WaitingCount(3, 3), ("● connected", MUTED), notes)
        await pilot.pause()
        assert " ".join(lines(app)[0].split()) == " ".join(line.split())
        assert len(lines(app)[0]) <= width


@pytest.mark.parametrize("width", [38, 58, 88, 118])
@pytest.mark.parametrize("reach", [ConnectionState.STALE, ConnectionState.OFFLINE])
def test_a_lost_connection_takes_two_lines_at_most_and_names_the_doctor(width: int, reach: ConnectionState) -> None:
    why = _brief(NoGate("no daemon is running here", TRIED))
    shown = banner({"": SourceStatus(reach, "21:52:32", why)}, width, 1)
    assert len(shown) <= 2
    assert all(line.cell_length <= width for line in shown)
    text = "\n".join(line.plain for line in shown)
    assert "not connected since 21:52:32" in text
    assert "no daemon is running here; run doctor" in text
    assert ("stale" in text or "out of date" in text) is (reach is ConnectionState.STALE)


def test_what_is_short_is_told_whole() -> None:
    assert _brief(NoGate("nobody answers", "at 127.0.0.1")) == "nobody answers: at 127.0.0.1"
