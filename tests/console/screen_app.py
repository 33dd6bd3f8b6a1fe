"""An app that shows one screen for a test, and helpers to run and read it."""

import asyncio
import functools
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import ParamSpec

from textual.app import App, SystemCommand
from textual.pilot import Pilot
from textual.screen import Screen

from aileron_tui.console.command_palette import ActionCommands
from aileron_tui.console.themes import THEMES
from aileron_tui.files.paths import bundled

P = ParamSpec("P")

SIZES = [(120, 36), (80, 24), (40, 15)]


def async_test(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Runs a coroutine as an ordinary test."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def timed() -> None:
            await asyncio.wait_for(test(*args, **kwargs), 240)

        asyncio.run(timed())

    return run


class ScreenApp(App[None]):
    """Shows one screen with the styles and themes of the console."""

    CSS_PATH = sorted(str(path) for path in bundled("styles").glob("*.tcss"))  # as Textual declares it
    COMMANDS = {ActionCommands}  # noqa: RUF012  # as Textual declares it

    def __init__(self, shown: Screen[None], theme: str = "aileron-dark", keymap: dict[str, str] | None = None) -> None:
        super().__init__()
        for one in THEMES:
            self.register_theme(one)
        self.theme = theme
        self.shown = shown
        self.left = False
        self.copied = ""
        self.said: list[str] = []
        self.set_keymap(keymap or {})

    def on_mount(self) -> None:
        """Shows the screen, and notes when it is closed."""
        self.push_screen(self.shown, self._note_left)

    def get_system_commands(self, screen: Screen[object]) -> Iterator[SystemCommand]:
        """No commands."""
        return iter(())

    def _note_left(self, _: None) -> None:
        self.left = True

    def copy_to_clipboard(self, text: str) -> None:
        """Keeps the text for the test."""
        self.copied = text

    def notify(self, message: str, **_: object) -> None:
        """Keeps the text for the test."""
        self.said.append(message)


async def wait_until(pilot: Pilot[None], until: Callable[[], bool], seconds: float = 10.0) -> None:
    """Waits until a condition is true."""
    for _ in range(int(seconds / 0.02)):
        await pilot.pause(0.02)
        if until():
            await pilot.pause()
            return
    raise AssertionError("the condition did not become true")


def lines(app: App[None]) -> list[str]:
    """What is on the screen, line by line."""
    width, height = app.size
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip)[:width].rstrip() for strip in strips][:height]


def text(app: App[None]) -> str:
    """What is on the screen."""
    return "\n".join(lines(app))


UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def unsafe(app: App[None]) -> list[str]:
    """Characters on the screen that a terminal would obey or hide, and texts that can be clicked."""
    found: list[str] = []
    for strip in app.screen._compositor.render_strips():
        for segment in strip:
            found.extend(UNSAFE.findall(segment.text))
            style = segment.style
            if style and (style.link or "@click" in style.meta):
                found.append(f"clickable: {segment.text}")
    return found
