"""A mouse whose reports go the way of a terminal's: to the app, press and release by themselves."""

from textual import events
from textual.app import App
from textual.pilot import Pilot

from tests.console.screen_app import lines

Place = tuple[int, int]


def place(app: App[None], text: str) -> Place:
    """Where a text begins on the screen; the last one, if there are several."""
    for y, line in reversed(list(enumerate(lines(app)))):
        if (x := line.rfind(text)) >= 0:
            return x, y
    raise AssertionError(f"{text!r} is not on the screen")


async def down(pilot: Pilot[None], at: Place, button: int = 1) -> None:
    """Presses a button."""
    await _report(pilot, events.MouseDown, at, button)


async def up(pilot: Pilot[None], at: Place, button: int = 1) -> None:
    """Lets it go."""
    await _report(pilot, events.MouseUp, at, button)


async def move(pilot: Pilot[None], at: Place) -> None:
    """Points at something."""
    await _report(pilot, events.MouseMove, at, 0)


async def click(pilot: Pilot[None], at: Place | str, button: int = 1) -> None:
    """Presses and lets go, at a place or at a text."""
    spot = place(pilot.app, at) if isinstance(at, str) else at
    await down(pilot, spot, button)
    await up(pilot, spot, button)


def report(pilot: Pilot[None], kind: type[events.MouseEvent], at: Place, button: int = 1) -> None:
    """What a terminal sends; it is heard some time later."""
    x, y = at
    pilot.app.post_message(kind(None, x, y, 0, 0, button, False, False, False, screen_x=x, screen_y=y))


async def _report(pilot: Pilot[None], kind: type[events.MouseEvent], at: Place, button: int) -> None:
    report(pilot, kind, at, button)
    await pilot.pause()
