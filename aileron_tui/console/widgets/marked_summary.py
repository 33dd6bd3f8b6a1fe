"""A request on the sheet of marked requests: its short values, and whether that is everything."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from textual.content import Content

from aileron_tui.console.render import MUTED, WARNING, foreign_short, trusted
from aileron_tui.console.widgets.prompt_words import connector_fields
from aileron_tui.core import lookalikes
from aileron_tui.core.lookalikes import names_to_remember, remarks
from aileron_tui.core.prompt import NOT_AVAILABLE, not_shown, unavailable_line
from aileron_tui.core.prompt_facts import sends_only_inputs
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.skeletons import KnownNames
from aileron_tui.core.summary import telling_first
from aileron_tui.core.visible_text import clip, inline

NAME_WIDTH: Final = 60
_MAX_ROWS: Final = 8
_MAX_VALUE: Final = 120
_MAX_SENTENCE: Final = 200


def summary(request: Request) -> Content:
    """The first short rows, and the number of others."""
    rows = _rows(request)
    short = _short(rows)
    values = (trusted(NOT_AVAILABLE) if row.missing else foreign_short(row.value, _MAX_VALUE) for row in short)
    # Styled differently from values, so that no value looks like a row.
    labels = (foreign_short(row.label, NAME_WIDTH, MUTED) for row in short)
    parts = [label + trusted(" ") + value for label, value in zip(labels, values, strict=True)]
    if more := len(rows) - len(short):
        parts.append(trusted(f"{more} more", MUTED))
    if request.prompt.preview and (hidden := request.prompt.preview.hidden):
        parts.append(trusted(f"not shown: {not_shown(hidden)}", MUTED))
    shown = Content(" · ").join(parts)
    if request.prompt.preview and (lost := request.prompt.preview.unavailable):
        shown += trusted("  ") + foreign_short(unavailable_line(lost), _MAX_SENTENCE, WARNING)
    return shown


def known_names(requests: Iterable[Request], seen: KnownNames) -> KnownNames:
    """The names in the short values of these requests and those `seen` before. Remembers the former as seen."""
    values = [row.value for request in requests for row in _rows(request) if len(row.value) <= _MAX_VALUE]
    seen.remember(names_to_remember(values))
    return lookalikes.known_names(values, seen)


def why_unread(request: Request, now: datetime, known: KnownNames) -> str:
    """Why the summary is not enough to approve the request: a warning or something it leaves out; "" if it is."""
    rows, prompt = _rows(request), request.prompt
    if request.cautions_at(now) or any(field.warnings for field in connector_fields(prompt)):
        return "has a warning"
    if prompt.preview and prompt.preview.unavailable:
        return "has no preview"
    texts = [(prompt.action, NAME_WIDTH), *((row.label, NAME_WIDTH) for row in rows)]
    if any(_is_cut(text, room) for text, room in [*texts, *((row.value, _MAX_VALUE) for row in rows)]):
        return "is longer than shown here"
    if more := len(rows) - len(_short(rows)):
        return f"has {more} more row{'' if more == 1 else 's'}"
    if not sends_only_inputs(prompt):
        return "sends more than shown here"
    return "has a warning" if any(remarks(row.value, known).warnings for row in rows) else ""


def _rows(request: Request) -> tuple[Row, ...]:
    """The rows of the preview, then the inputs, each in the order of a summary."""
    prompt = request.prompt
    groups = (prompt.preview.rows if prompt.preview else (), prompt.inputs)
    return tuple(row for rows in groups for row in telling_first(rows))


def _short(rows: tuple[Row, ...]) -> list[Row]:
    return [row for row in rows if not row.multiline or row.missing][:_MAX_ROWS]


def _is_cut(text: str, room: int) -> bool:
    return len(text) > room or clip(inline(text), room) != inline(text)
