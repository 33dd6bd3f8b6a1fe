"""Reads the console's screen as a person does: what is where, by columns, and nothing but what is on it.

A prompt is read from its first to its last row, page by page. The screen itself says how many lines are below, for the
prompt and for each quote in it, so that each row has an exact place and none is read twice or missed.
"""

import re
import time
from dataclasses import dataclass, field
from typing import Final, Self

from tests.e2e.terminal import ENTER, PAGE_DOWN, Terminal

GUTTER: Final = "▎"
HOME: Final = "\x1b[H"
_SCROLLBAR: Final = frozenset("▁▂▃▄▅▆▇█▔▕▐")
_BELOW: Final = re.compile(r"^(?:at least )?([\d,]+) more lines? ↓$")
_QUOTE_HEAD: Final = re.compile(r"^(?P<label>.*?)\s{2,}(?:.* · )?[\d,]+ lines?$")
_RISK: Final = re.compile(r"^[○●▲] (?:low|normal|high) risk\b")
_TITLE: Final = re.compile(r"^Approve .*\?")
_AGE: Final = re.compile(
    r"(?: ·|\s{2,}) ?(?:just now|at most .*|\d+ (?:s|min|h) ago|before asking.*)$|^(?:just now|\d+ (?:s|min|h) ago)$"
)
_TOAST_EDGE: Final = "▌"
_TOAST_SECONDS: Final = 12.0
_QUOTE_MARGIN: Final = 2
_SIGNS: Final = frozenset("−+")
_REST_OF_HEADING: Final = re.compile(r"^(?:− as asked, )?(?:\+ )?as edited$")
_REMARKS: Final = ("⚠", "· ")
_MAX_PAGES: Final = 80
_SETTLED: Final = 0.04
_FOCUSED: Final = 0.12


class CannotRead(Exception):
    """The prompt could not be read to its end."""


@dataclass(slots=True)
class Value:
    """One labelled value: its rows as they are on screen. `room` is the width of a row."""

    label: str
    rows: list[str] = field(default_factory=list)
    is_block: bool = False
    room: int = 0
    placeholder: bool = False
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Page:
    """Everything that a prompt says: its title, and the values under each heading."""

    title: str = ""
    risk: str = ""
    notes: list[str] = field(default_factory=list)
    sections: dict[str, list[Value]] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        """Every line with the warning sign."""
        return [row.strip() for row in self.rows if row.lstrip().startswith("⚠")]

    def section(self, heading: str) -> list[Value]:
        """The values under a heading; a heading may go on, as in `fetched by connector mail`."""
        return [value for name, values in self.sections.items() if name.startswith(heading) for value in values]


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


def text_of(line: list[str]) -> str:
    """A line without blanks at its end."""
    return "".join(line).rstrip()


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
    quotes: dict[int, _Quote] = {}
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
        _take(frame, first, rows, quotes)
        if frame.below == 0 and all(quote.complete for quote in quotes.values()):
            break
        before = terminal.text
        terminal.press(PAGE_DOWN)
        changed(terminal, before)
    missing = [index for index in range(total) if index not in rows]
    if missing or not all(quote.complete for quote in quotes.values()):
        raise CannotRead(f"rows {missing} of {total} were never on screen:\n{terminal.text}")
    if title_of(terminal) != title:
        raise Moved
    _add_short_quotes(rows, quotes)
    page = Page(title=title, notes=notes)
    page.rows = [text_of(rows[index]) for index in sorted(rows)]
    _parse(page, [rows[index] for index in sorted(rows)], quotes)
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
        if _BELOW.match(_right_side(lines[y])):
            return y
    return known if known >= 0 else len(lines) - 3


def _right_side(line: str) -> str:
    return re.split(r"\s{3,}", line.strip())[-1]


def _frame(terminal: Terminal, left: int, top: int, foot: int) -> _Frame:
    lines = cells(terminal)
    found = _BELOW.match(_right_side(text_of(lines[foot])))
    body = [_without_scrollbar(line[left:]) for line in lines[top:foot]]
    return _Frame(body, int(found[1].replace(",", "")) if found else 0)


def _without_scrollbar(line: list[str]) -> list[str]:
    edge = max(0, len(line) - 6)
    return line[:edge] + [" " if cell in _SCROLLBAR else cell for cell in line[edge:]]


@dataclass(slots=True)
class _Quote:
    """A quote that scrolls: the rows that were on screen, by number, and how many there are."""

    total: int
    rows: dict[int, list[str]] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return len(self.rows) >= self.total


def _take(frame: _Frame, first: int, rows: dict[int, list[str]], quotes: dict[int, _Quote]) -> None:
    """Keeps each row of the body by its place, and each row of a quote by its place in the quote."""
    for offset, line in enumerate(frame.lines):
        rows.setdefault(first + offset, line)
    for offset in range(len(frame.lines)):
        if not _is_quote_head(frame.lines, offset):
            continue
        start = at = _after_warnings(frame.lines, offset + 1)
        while at < len(frame.lines) and _gutter(frame.lines[at]) == _QUOTE_MARGIN:
            at += 1
        seen = frame.lines[start:at]
        if at >= len(frame.lines) and frame.below:
            continue  # cut off by the end of the screen
        foot = text_of(frame.lines[at]).strip() if at < len(frame.lines) else ""
        below = _BELOW.match(foot)
        head = first + offset
        hidden = int(below[1].replace(",", "")) if below else 0
        quote = quotes.setdefault(head, _Quote(len(seen) + hidden))
        for number, row in enumerate(seen, quote.total - hidden - len(seen)):
            quote.rows.setdefault(number, row)


def _add_short_quotes(rows: dict[int, list[str]], quotes: dict[int, _Quote]) -> None:
    """Adds the quotes that do not scroll and were never on one screen as a whole."""
    lines = [rows[index] for index in sorted(rows)]
    for head in range(len(lines)):
        if head in quotes or not _is_quote_head(lines, head):
            continue
        start = end = _after_warnings(lines, head + 1)
        while end < len(lines) and _gutter(lines[end]) == _QUOTE_MARGIN:
            end += 1
        if end < len(lines) and _BELOW.match(text_of(lines[end]).strip()):
            raise CannotRead(f"a quote was never on screen as a whole: {text_of(lines[head])}")
        quotes[head] = _Quote(end - start, dict(enumerate(lines[start:end])))


def _gutter(line: list[str]) -> int:
    return line.index(GUTTER) if GUTTER in line else -1


def _is_warning(line: list[str]) -> bool:
    """Whether a line is a warning or a note about the value above it."""
    return text_of(line).lstrip().startswith(_REMARKS)


def _after_warnings(lines: list[list[str]], at: int) -> int:
    while at < len(lines) and _is_warning(lines[at]):
        warning = lines[at]
        at += 1
        while at < len(lines) and _goes_on(warning, lines[at]):
            at += 1
    return at


def _goes_on(warning: list[str], line: list[str]) -> bool:
    """Whether a line continues a warning, which hangs two columns further in than its sign."""
    sign = len(text_of(warning)) - len(text_of(warning).lstrip())
    return GUTTER not in line and bool(text_of(line).strip()) and not "".join(line[: sign + 2]).strip()


def _is_quote_head(lines: list[list[str]], at: int) -> bool:
    line = lines[at]
    if GUTTER in line or "".join(line[:2]).strip():
        return False
    if not _QUOTE_HEAD.match(text_of(line)):
        return False
    after = _after_warnings(lines, at + 1)
    return after < len(lines) and _gutter(lines[after]) == _QUOTE_MARGIN


def _parse(page: Page, lines: list[list[str]], quotes: dict[int, _Quote]) -> None:
    """Sorts the rows of a whole prompt into headings, labels and values."""
    parser = _Parser(page, lines, quotes)
    while parser.index < len(lines):
        parser.take_row()


class _Parser:
    """Takes the rows of a prompt one after the other."""

    def __init__(self, page: Page, lines: list[list[str]], quotes: dict[int, _Quote]) -> None:
        self._page, self._lines, self._quotes = page, lines, quotes
        self._values = page.sections.setdefault("top", [])
        self._label: list[str] = []  # a label that may wrap, or be above its value
        self._placeholder_at = 0  # the column of the last placeholder, which may wrap
        self.index = 0

    def take_row(self) -> None:
        """Takes the next row, and those that belong to it."""
        line = self._lines[self.index]
        text = text_of(line)
        if self.index in self._quotes:
            self._take_quote(text)
            return
        if GUTTER in line:
            self._take_value(line)
        elif not text.strip():
            self._label = []
        elif _AGE.match(text.strip()) or _REST_OF_HEADING.match(text.strip()):
            pass
        elif _is_warning(line) and self._values:
            self._take_warning(line)
        elif not text.startswith(" ") and self._is_above_values():
            self._page.risk = f"{self._page.risk} {text}".strip()
        elif not text.startswith(" "):
            self._values = self._page.sections.setdefault(_AGE.sub("", text.strip()), [])
            self._label = []
        else:
            self._take_label(text)
        self.index += 1

    def _is_above_values(self) -> bool:
        """Whether this row belongs to the risk, which is at the top and may wrap."""
        rows = [text_of(line) for line in self._lines[: self.index]]
        return all(row and not row.startswith(" ") for row in rows)

    def _take_quote(self, text: str) -> None:
        found = _QUOTE_HEAD.match(text.strip())
        block = Value((found["label"] if found else text).strip(), is_block=True)
        for _, row in sorted(self._quotes[self.index].rows.items()):
            block.rows.append(text_of(row[4:]))
            block.room = len(row) - 4
        self._values.append(block)
        self._label = []
        start = self.index + 1
        at = _after_warnings(self._lines, start)
        block.warnings += [text_of(row).strip() for row in self._lines[start:at]]
        while at < len(self._lines) and _gutter(self._lines[at]) == _QUOTE_MARGIN:
            at += 1
        self.index = at + (at < len(self._lines) and _is_quote_foot(self._lines[at]))

    def _take_value(self, line: list[str]) -> None:
        at = _gutter(line)
        label, sign, row = "".join(line[:at]).strip(), line[at + 1], text_of(line[at + 2 :])
        room = len(line) - at - 2
        if label or self._label or not self._values:
            self._values.append(Value(" ".join([*self._label, label]).strip(), [row], room=room))
            self._label = []
        elif sign in _SIGNS and not self._values[-1].label.startswith(sign):
            self._values.append(Value(self._values[-1].label.lstrip("−+ "), [row], room=room))
        else:
            self._values[-1].rows.append(row)
        if sign in _SIGNS and not self._values[-1].label.startswith(sign):
            self._values[-1].label = f"{sign} {self._values[-1].label}"

    def _take_warning(self, line: list[str]) -> None:
        words = [text_of(line).strip()]
        while self.index + 1 < len(self._lines) and _goes_on(line, self._lines[self.index + 1]):
            self.index += 1
            words.append(text_of(self._lines[self.index]).strip())
        self._values[-1].warnings.append(" ".join(words))

    def _take_label(self, text: str) -> None:
        """A row without a gutter: a label above its value, the rest of a label, or a placeholder such as `n/a`."""
        parts = re.split(r"\s{2,}", text.strip())
        if text.startswith("  ") and len(parts) == 2:
            self._add_placeholder(parts[0], parts[1], text.rindex(parts[1]))
        elif text.startswith("  ") and self._label:
            self._add_placeholder(" ".join(self._label), text.strip(), _indent(text))
        elif self._values and self._values[-1].placeholder and _indent(text) == self._placeholder_at:
            self._values[-1].rows.append(text.strip())
        else:
            self._label.append(text.strip())

    def _add_placeholder(self, label: str, text: str, column: int) -> None:
        self._values.append(Value(label, [text], placeholder=True))
        self._label, self._placeholder_at = [], column


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _is_quote_foot(line: list[str]) -> bool:
    text = text_of(line).strip()
    return text == "end" or _BELOW.match(text) is not None
