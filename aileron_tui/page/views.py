"""What the templates of the page place: values that are ready to be shown, with foreign text already made visible.

A `Line` is one line of text in pieces. A piece says whether it is text or a mark that stands for a character which
would not be visible, such as `⟨ESC⟩`; foreign text cannot make a mark. A `str` is always in the program's own words.
"""

from typing import TypeAlias

from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import Visible


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line. `kind` is "" for text, "mark" for a mark, and "newline" for the sign of a newline or a tab."""

    text: Visible
    kind: str = ""


Line: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence about a value. A warning must be read before an approval; a note only informs."""

    text: Line
    is_warning: bool = True


@dataclass(frozen=True, slots=True)
class Field:
    """A label and its value on one line.

    `placeholder` stands for a value that is missing or empty. `sign` is "-" for what an edit removed, "+" for what it
    added, else "".
    """

    label: Line
    value: Line = ()
    placeholder: str = ""
    sign: str = ""
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class QuoteLine:
    """A line of a quote, with the sign of an edit as in `Field`."""

    text: Line
    sign: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """A long text. `rest` is what follows the first lines, and can be folded behind its count.

    `origin` says who wrote it, and `note` what it is. `left_out` is how many characters the page does not show; then
    the request cannot be approved on the page.
    """

    label: Line
    origin: Line
    lines: tuple[QuoteLine, ...]
    rest: tuple[QuoteLine, ...] = ()
    note: str = ""
    left_out: int = 0
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """The part of a prompt that one party wrote.

    `name` is "fetched" (by a connector, or told), "sent" (by the agent), "filled" (in by a daemon) or "runs" (what
    would run). `note` is muted and follows the heading, such as the age of a preview. `remarks` are about the section.
    """

    name: str
    heading: Line
    note: str = ""
    fields: tuple[Field, ...] = ()
    quotes: tuple[Quote, ...] = ()
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class Fold:
    """A line with details behind it. `is_open` means that the details must be seen and so cannot be closed."""

    heading: str
    line: Line
    placeholder: str = ""
    details: tuple[Field, ...] = ()
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A request in the list. `risk` is low, normal or high; `left` is the time left, "" without a deadline.

    `status` says what is known about the request beside that it waits, and `readers` where it is being read.
    """

    id: str
    action: Line
    summary: Visible
    agent: Line
    risk: str
    risk_words: str
    state: str
    expires_at: str
    left: str
    status: str = ""
    readers: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class WaitingView:
    """The list of what waits, oldest first; `problem` says why the gate cannot do its work."""

    rows: tuple[WaitingRow, ...] = ()
    problem: Line = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class PromptView:
    """A request with everything that a decision is about.

    `question` has the words before and after the action's name, which foreign text could imitate otherwise.
    `cannot_approve` says why it cannot be approved on the page, and `can_answer` whether it still waits. `outcome` is
    what became of it. `targets` are named once more where a high risk is confirmed.
    """

    id: str
    digest: str
    state: str
    risk: str
    risk_words: str
    risk_reason: Line
    question: Line
    action: Line
    cautions: tuple[Line, ...]
    sections: tuple[Section, ...]
    asker: Fold
    runs: Fold | None
    targets: tuple[Field, ...]
    more_targets: int
    requested: str
    expires_at: str
    left: str
    can_answer: bool
    cannot_approve: str
    can_refresh: bool
    is_fetching: bool
    outcome: str = ""
    reason: Line = ()
    extended: Line = ()
    readers: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A request in the history. `glyph` and `outcome` say how it ended; `answered` on which surface, or by which rule.

    `time` is machine-readable, and `asked` is the same in words. `quick` marks an answer that nobody can have read.
    """

    id: str
    time: str
    asked: str
    glyph: str
    outcome: Line
    action: Line
    summary: Visible
    agent: Line
    answered: Line
    took: str
    risk: str
    quick: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """One day of the chart. Heights are from 0 to 100."""

    day: str
    decisions: int
    height: int
    took: str
    took_height: int


@dataclass(frozen=True, slots=True)
class ChartView:
    """Decisions per day and the median time to decide, oldest day first, and both as a sentence."""

    bars: tuple[Bar, ...]
    decisions: str
    median: str
    sentence: str


@dataclass(frozen=True, slots=True)
class HistoryView:
    """A page of the history. `older` is where the next page begins, "" at the end; `error` is about the search."""

    rows: tuple[HistoryRow, ...] = ()
    search: Line = ()
    older: str = ""
    error: Line = ()
    hint: Line = ()
    chart: ChartView | None = None
    is_first: bool = True


@dataclass(frozen=True, slots=True)
class Fact:
    """A label of the program and a value; `warning` is in the program's words."""

    label: str
    value: Line
    warning: str = ""


@dataclass(frozen=True, slots=True)
class RecordView:
    """One request of the history: what is known about it, and what was shown as far as it was kept."""

    id: str
    glyph: str
    outcome: Line
    action: Line
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    note: str = ""
