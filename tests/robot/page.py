"""A prompt as it was read: its headings, labels and values, sorted by the columns in which they were."""

import re
from dataclasses import dataclass, field
from typing import Final

GUTTER: Final = "▎"
BELOW: Final = re.compile(r"^(?:at least )?([\d,]+) more lines? ↓$")
_QUOTE_HEAD: Final = re.compile(
    r"^(?:(?P<origin>fetched|agent sent|filled in by the daemon|would run) )?"
    r"(?P<label>.*?)\s{2,}(?:.* · )?[\d,]+ lines?$"
)
_FOLD: Final = re.compile(r"^[▸▾] (?P<heading>asked by|would run)\b")
_HEADINGS: Final = ("fetched by", "fetching from", "agent sent", "filled in by", "This ", "▸ ", "▾ ", "▌")
QUOTE_MARGIN: Final = 2
_SIGNS: Final = frozenset("−+")
_REST_OF_HEADING: Final = re.compile(r"^(?:− as asked, )?(?:\+ )?as edited$")
_REMARKS: Final = ("⚠", "· ")
_AGE: Final = re.compile(
    r"(?: ·|\s{2,}) ?(?:(?:just )?now|at most .*|\d+ (?:s|min|h)(?: ago)?|before asking.*)$"
    r"|^(?:just now|\d+ (?:s|min|h) ago)$"
)


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


def text_of(line: list[str]) -> str:
    """A line without blanks at its end."""
    return "".join(line).rstrip()


def gutter_of(line: list[str]) -> int:
    return line.index(GUTTER) if GUTTER in line else -1


def _is_warning(line: list[str]) -> bool:
    """Whether a line is a warning or a note about the value above it."""
    return text_of(line).lstrip().startswith(_REMARKS)


def after_warnings(lines: list[list[str]], at: int) -> int:
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


def is_quote_head(lines: list[list[str]], at: int) -> bool:
    line = lines[at]
    if GUTTER in line or not _QUOTE_HEAD.match(text_of(line)):
        return False
    after = after_warnings(lines, at + 1)
    return after < len(lines) and gutter_of(lines[after]) == QUOTE_MARGIN


def parse(page: Page, lines: list[list[str]]) -> None:
    """Sorts the rows of a whole prompt into headings, labels and values."""
    parser = _Parser(page, lines)
    while parser.index < len(lines):
        parser.take_row()


class _Parser:
    """Takes the rows of a prompt one after the other."""

    def __init__(self, page: Page, lines: list[list[str]]) -> None:
        self._page, self._lines = page, lines
        self._values = page.sections.setdefault("top", [])
        self._label: list[str] = []  # a label that may wrap, or be above its value
        self._placeholder_at = 0  # the column of the last placeholder, which may wrap
        self.index = 0

    def take_row(self) -> None:
        """Takes the next row, and those that belong to it."""
        line = self._lines[self.index]
        text = text_of(line)
        if is_quote_head(self._lines, self.index):
            self._take_quote(text)
            return
        if fold := _FOLD.match(text):
            self._values = self._page.sections.setdefault(fold["heading"], [])
            self._label = [] if GUTTER in line else [fold["heading"]]
        if fold and GUTTER not in line:
            pass
        elif GUTTER in line:
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
        rows = [text_of(line) for line in self._lines[: self.index + 1]]
        return all(row and not row.startswith((" ", *_HEADINGS)) for row in rows)

    def _take_quote(self, text: str) -> None:
        found = _QUOTE_HEAD.match(text)
        block = Value((found["label"] if found else text).strip(), is_block=True)
        self._values = self._of_origin((found["origin"] or "") if found else "")
        self._values.append(block)
        self._label = []
        start = self.index + 1
        at = after_warnings(self._lines, start)
        block.warnings += [text_of(row).strip() for row in self._lines[start:at]]
        while at < len(self._lines) and gutter_of(self._lines[at]) == QUOTE_MARGIN:
            block.rows.append(text_of(self._lines[at][4:]))
            block.room = len(self._lines[at]) - 4
            at += 1
        self.index = at

    def _of_origin(self, origin: str) -> list[Value]:
        """The values of the section that the head of a quote names."""
        sections = self._page.sections
        known = next((name for name in sections if origin and name.startswith(origin)), origin or "top")
        return sections.setdefault(known, [])

    def _take_value(self, line: list[str]) -> None:
        at = gutter_of(line)
        label, sign, row = "".join(line[:at]).strip(" ▸▾"), line[at + 1], text_of(line[at + 2 :])
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
