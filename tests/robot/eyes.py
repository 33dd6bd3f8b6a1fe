"""Reads the console's screen as a person does: what is where, by columns, and nothing but what is on it.

A prompt is read from its first to its last row, page by page. The screen itself says how many lines are below, so that
each row has an exact place and none is read twice or missed.
"""

import re
import time
from dataclasses import dataclass
from typing import Final, Self

from tests.e2e.terminal import ENTER, PAGE_DOWN, Terminal
from tests.robot.page import BELOW, Page, parse, text_of

HOME: Final = "\x1b[H"
_SCROLLBAR: Final = frozenset("▁▂▃▄▅▆▇█▔▕▐")
_RISK: Final = re.compile(r"^[○●▲] (?:low|normal|high) risk\b")
_TOAST_EDGE: Final = "▌"
_TOAST_SECONDS: Final = 12.0
_MAX_PAGES: Final = 80
_SETTLED: Final = 0.04
_FOCUSED: Final = 0.12


class CannotRead(Exception):
    """The prompt could not be read to its end."""


@dataclass(slots=True)
class _Frame:
    """The part of the screen with the prompt's body."""

    lines: list[list[str]]
    below: int


class Window(Terminal):
    """A terminal whose size changes often."""

    def __enter__(self) -> Self:
        return self

    _drawn: tuple[int, int, int] = (-1, 0, 0)
    _lines: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The screen, line by line. The emulator's own display fails on half of a wide character."""
        drawn = (len(self.raw), self._screen.columns, self._screen.lines)
        if drawn != self._drawn:
            self._drawn, self._lines = drawn, tuple(text_of(line) for line in cells(self))
        return list(self._lines)

    def resize(self, size: tuple[int, int]) -> None:
        """Makes the window larger or smaller; the program draws it again."""
        self._screen.erase_in_display(2)
        self._drawn = (-1, 0, 0)
        super().resize(size)


def cells(terminal: Terminal) -> list[list[str]]:
    """The screen as columns; the second column of a wide character is empty."""
    screen = terminal._screen
    return [[screen.buffer[y][x].data for x in range(screen.columns)] for y in range(screen.lines)]


def settle(terminal: Terminal, seconds: float = 1.0) -> None:
    """Waits until nothing more is being drawn."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = len(terminal.raw)
        terminal.still(_SETTLED)
        if len(terminal.raw) == before:
            return


def without_toasts(terminal: Terminal) -> None:
    """Waits until no notification covers the prompt."""
    end = time.monotonic() + _TOAST_SECONDS
    while time.monotonic() < end and any(_TOAST_EDGE in line for line in terminal.lines):
        terminal.still(0.1)


def status(terminal: Terminal) -> str:
    """The line above the keys, which says whether an answer counts now."""
    lines = terminal.lines
    return lines[-2].strip() if len(lines) > 1 else ""


def title_place(terminal: Terminal) -> tuple[int, int] | None:
    """Where the question is: its line and column."""
    for y, line in enumerate(cells(terminal)):
        row = "".join(cell or " " for cell in line)
        if (found := re.search(r"(?:^| )Approve [^?]*", row)) is not None:
            return y, found.start() + (0 if row[found.start()] == "A" else 1)
    return None


class Moved(Exception):
    """The prompt changed while it was being read, or another request is on screen now."""


def read_prompt(terminal: Terminal) -> Page:
    """Reads the prompt on screen from its first to its last row."""
    without_toasts(terminal)
    terminal.press(ENTER)
    terminal.still(_FOCUSED)
    settle(terminal)
    terminal.press(HOME)
    settle(terminal)
    place = title_place(terminal)
    if place is None:
        raise CannotRead(f"no question on screen:\n{terminal.text}")
    top = _first_body_row(terminal, place)
    rows: dict[int, list[str]] = {}
    total = height = -1
    title, foot, notes = title_of(terminal), -1, _notes(terminal, place, top)
    for _ in range(_MAX_PAGES):
        foot = _foot_row(terminal, foot)
        frame = _frame(terminal, place[1], top, foot)
        if total < 0:
            height = len(frame.lines)
            total = height + frame.below
        first = total - frame.below - height
        if len(frame.lines) != height or first < 0:
            raise Moved
        for offset, line in enumerate(frame.lines):
            rows.setdefault(first + offset, line)
        if frame.below == 0:
            break
        before = terminal.text
        terminal.press(PAGE_DOWN)
        changed(terminal, before)
    missing = [index for index in range(total) if index not in rows]
    if missing:
        raise CannotRead(f"rows {missing} of {total} were never on screen:\n{terminal.text}")
    if title_of(terminal) != title:
        raise Moved
    page = Page(title=title, notes=notes)
    page.rows = [text_of(rows[index]) for index in sorted(rows)]
    parse(page, [rows[index] for index in sorted(rows)])
    return page


def changed(terminal: Terminal, before: str, seconds: float = 0.5) -> None:
    """Waits until the screen is another one and complete."""
    end = time.monotonic() + seconds
    while terminal.text == before and time.monotonic() < end:
        terminal.still(0.02)
    settle(terminal)


def title_of(terminal: Terminal) -> str:
    """The question on screen, "" if there is none."""
    place = title_place(terminal)
    if place is None:
        return ""
    line = "".join(cells(terminal)[place[0]][place[1] :])
    return re.split(r"\s{2,}|\s+[━─]", line.strip())[0]


def _first_body_row(terminal: Terminal, place: tuple[int, int]) -> int:
    for y in range(place[0] + 1, len(terminal.lines) - 2):
        if _RISK.match("".join(cells(terminal)[y][place[1] :])):
            return y
    raise Moved


def _notes(terminal: Terminal, place: tuple[int, int], top: int) -> list[str]:
    lines = ("".join(cells(terminal)[y][place[1] :]).strip() for y in range(place[0] + 1, top))
    return [line for line in lines if line]


def _foot_row(terminal: Terminal, known: int) -> int:
    """The row that says how much is below: the last one above the status line, or one more where there is room."""
    lines = terminal.lines
    for y in (len(lines) - 3, len(lines) - 4):
        if BELOW.match(_right_side(lines[y])):
            return y
    return known if known >= 0 else len(lines) - 3


def _right_side(line: str) -> str:
    return re.split(r"\s{3,}", line.strip())[-1]


def _frame(terminal: Terminal, left: int, top: int, foot: int) -> _Frame:
    lines = cells(terminal)
    found = BELOW.match(_right_side(text_of(lines[foot])))
    body = [_without_scrollbar(line[left:]) for line in lines[top:foot]]
    return _Frame(body, int(found[1].replace(",", "")) if found else 0)


def _without_scrollbar(line: list[str]) -> list[str]:
    edge = max(0, len(line) - 6)
    return line[:edge] + [" " if cell in _SCROLLBAR else cell for cell in line[edge:]]
