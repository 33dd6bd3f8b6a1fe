"""The summary of a request: the values that tell it apart from other requests of the same action."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from aileron_tui.core.call_kinds import NOT_RUN_HERE
from aileron_tui.core.daemon_kinds import OPENCODE
from aileron_tui.core.visible_text import Visible, cells, clip_around, inline, quoted

if TYPE_CHECKING:
    from aileron_tui.core.prompt import Prompt
    from aileron_tui.core.prompt_rows import Row

COMMAND: Final = "Command"
"""The label of a shell command in the prompt of a tool call."""

AGENT_SAYS: Final = "Agent says"
"""The label of what an agent says about a tool call."""

MOST_VALUES: Final = 8
"""The most values that a summary has."""

_MOST_ROWS: Final = 100
_MOST_IN_JSON, _LONGEST_IN_JSON = 4, 120
_LONGEST_LABEL: Final = 80
_LONGEST_BLANK: Final = 8
_LONGEST_ID: Final = 64
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
_TARGET: Final = frozenset(
    {
        *("to", "recipient", "recipients", "cc", "bcc", "channel", "target", "amount"),
        *("command", "cmd", "path", "file", "url", "branch", "repository", "repo"),
    }
)
_SUBJECT: Final = frozenset({"subject", "title", "name", "message", "query"})
_IDENTIFYING: Final = frozenset(
    {"id", "ids", "uuid", "guid", "hash", "digest", "sha", "checksum", "etag", "token", "nonce", "cursor"}
)
_ID_VALUE: Final = re.compile(
    r"(?=\D*\d)(?=\d*[A-Za-z])(?:[0-9a-f]{12,64}|[0-9A-Za-z]{16,64}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})"
)

_SEPARATOR: Final = " · "
_LEFT_OUT: Final = " …"
_LONGEST_SHOWN: Final = 300
_NARROWEST, _NARROWEST_LATER, _NARROWEST_REPEATED, _NARROWEST_REPEATED_IF_NARROW = 10, 16, 5, 3
_NARROW, _LONG = 24, 40
_LIKE_OURS: Final = re.compile(
    r"""[·×✓✗⚠●○◌▸▎…]|\ \ |\A"|\A\d+:\d\d(?:\ left)?\Z|\A(?:
    allowed|answered|approved|denied|done|elsewhere|executed|expired|failed|fetching|gone|handed\ over|interrupted|
    no\ effect|no\ longer|n/a|nobody|not\ sent|outcome|refreshing|running|sending|sends\ in|waiting|withdrawn)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def summary(prompt: "Prompt") -> tuple[str, ...]:
    """The values of a prompt that matter most, the most telling first, as foreign text that is not yet visible.

    The rows of the preview come before the inputs, but those of a tool call are left out: the content of a file is in
    no summary. Recipients, targets, commands and paths come first, then subjects and names, other values, long texts,
    and ids last. A value that is missing, blank or a repetition is left out.
    """
    return of_rows(*_groups(prompt))


def of_rows(*groups: "Iterable[Row]") -> tuple[str, ...]:
    """The summary of these rows. Every value of a group comes before those of the next group."""
    ranked = (row for rows in groups for row in telling_first(islice(rows, _MOST_ROWS)))
    values = dict.fromkeys(row.value for row in ranked if not row.missing and not _is_blank(row.value))
    return tuple(values)[:MOST_VALUES]


def shortened(values: Sequence[str]) -> tuple[str, ...]:
    """A summary for JSON: the first values, with a sign where they are cut. They are still foreign text."""
    longest = _LONGEST_IN_JSON
    return tuple(value if len(value) <= longest else f"{value[: longest - 1]}…" for value in values[:_MOST_IN_JSON])


def targets(prompt: "Prompt") -> "tuple[Row, ...]":
    """The rows that say what a call is directed at: recipients, paths, commands; else the most telling row."""
    rows = [row for group in _groups(prompt) for row in telling_first(group) if not row.missing]
    found = tuple(row for row in rows if _rank(row) == 0)
    return found or tuple(rows[:1])


def telling_first(rows: "Iterable[Row]") -> "list[Row]":
    """The rows in order of how much they tell; equally telling ones stay in order."""
    return sorted(rows, key=_rank)


def _groups(prompt: "Prompt") -> "tuple[tuple[Row, ...], tuple[Row, ...]]":
    """The rows of the preview and the inputs.

    What the gate read from a file is only for the prompt itself. Of a shell command, a summary has only the command: it
    needs the room, and what the agent says about it must not stand beside it.
    """
    inputs = prompt.inputs
    if prompt.kind in NOT_RUN_HERE:
        commands = tuple(row for row in inputs if row.label == COMMAND)
        inputs = commands or tuple(row for row in inputs if row.label != AGENT_SAYS)
    fetched = prompt.preview.rows if prompt.preview and prompt.kind not in NOT_RUN_HERE else ()
    if prompt.kind == OPENCODE:  # what it tells about a call says less than the call, and has the content of files
        fetched = () if prompt.args else tuple(row for row in fetched if not row.multiline)
    return fetched, inputs


def _rank(row: "Row") -> int:
    words = {word.casefold() for word in _WORD.findall(row.label[:_LONGEST_LABEL])}
    if words & _IDENTIFYING:
        return 4
    if words & _TARGET:
        return 0
    if words & _SUBJECT:
        return 1
    if len(row.value) <= _LONGEST_ID and _ID_VALUE.fullmatch(row.value):
        return 4
    return 3 if row.multiline else 2


def _is_blank(value: str) -> bool:
    """Whether a short value has nothing but ordinary blanks; long padding is shown, because it may hide something."""
    return len(value) <= _LONGEST_BLANK and not value.strip(" \t\n")


def summary_line(values: Sequence[str], width: int, previous: Sequence[str] = ()) -> Visible:
    """A summary as one visible line of at most `width` columns; `…` stands for what is cut or left out.

    The values share the room and keep their order. `previous` is the summary of a request that is shown near this one:
    a value that both have gets little room, and a long value shows the place where it differs. A value is in quotes if
    it could be taken for several values or for something that this program writes, such as a state, a count or a time.
    """
    texts = [_value(value) for value in values]
    repeated = similarity(values, previous)
    if all(repeated):
        previous, repeated = (), [False] * len(values)
    full = [cells(text) for text in texts]
    rooms = _rooms(full, repeated, width)
    if 0 in rooms and all(room in (0, size) for room, size in zip(rooms, full, strict=True)):
        rooms = _rooms(full, repeated, width - len(_LEFT_OUT))
    shown = [
        clip_around(text, room, 0 if repeated[number] else _place_to_show(text, number, previous))
        for number, (text, room) in enumerate(zip(texts, rooms, strict=True))
        if room
    ]
    left_out = _LEFT_OUT if 0 in rooms and not any("…" in text for text in shown) else ""
    line = Visible(_SEPARATOR.join(shown) + left_out)
    return line if cells(line) <= width else Visible("")


def similarity(values: Sequence[str], others: Sequence[str]) -> list[bool]:
    """Which values another summary has too. The first values matter most, so compare these lists as they are."""
    return [_is_repeated(value, others) for value in values]


def _value(value: str) -> Visible:
    """The beginning of a value, made visible."""
    beginning = value[:_LONGEST_SHOWN]
    text = inline(beginning)
    text = quoted(beginning) if _LIKE_OURS.search(text) else text
    return text if len(value) == len(beginning) else Visible(f"{text}…")


def _is_repeated(value: str, previous: Sequence[str]) -> bool:
    return any(len(value) == len(other) and value[:_LONGEST_SHOWN] == other[:_LONGEST_SHOWN] for other in previous)


def _rooms(full: list[int], repeated: list[bool], width: int) -> list[int]:
    """How many columns each value gets; 0 if it is left out.

    Values that are not repeated matter most, then the first value, which says what the others belong to. Other values
    get only what these two leave, unless they are very long.
    """
    rooms = [0] * len(full)
    left = width + len(_SEPARATOR)
    order = sorted(range(len(full)), key=lambda number: (repeated[number], number))
    if 0 in order[1:]:
        order.insert(1, order.pop(order.index(0)))
    for place, number in enumerate(order):
        if place == 2:
            first = [one for one in order[:2] if not repeated[one]]
            left = _widen(first, rooms, [min(size, _LONG) for size in full], left, repeated)
        least = _NARROWEST if place < 2 else _NARROWEST_LATER
        if repeated[number]:
            least = _NARROWEST_REPEATED if width >= _NARROW else _NARROWEST_REPEATED_IF_NARROW
        least = min(least, full[number])
        if place == 0:
            least = max(0, min(least, left - len(_SEPARATOR)))
        if least + len(_SEPARATOR) > left:
            break
        rooms[number] = least
        left -= least + len(_SEPARATOR)
    _widen(order, rooms, full, left, repeated)
    return rooms


def _widen(numbers: list[int], rooms: list[int], wanted: list[int], left: int, repeated: list[bool]) -> int:
    """Gives the columns that are left to values that are cut, those that need the least first; returns the rest."""
    for number in sorted(numbers, key=lambda number: (repeated[number], number > 1, wanted[number] - rooms[number])):
        if rooms[number]:
            more = max(0, min(left, wanted[number] - rooms[number]))
            rooms[number], left = rooms[number] + more, left - more
    return left


def _place_to_show(text: str, number: int, previous: Sequence[str]) -> int:
    """The place to show of a value: where it differs from the value of another summary, else its most telling end."""
    if number >= len(previous):
        return len(text) if "/" in text else 0
    other = _value(previous[number])
    pairs = zip(text, other, strict=False)
    return next((place for place, (here, there) in enumerate(pairs) if here != there), min(len(text), len(other)))
