"""Requests of the past as a source tells them, believed only as far as they can be read, and what they add up to."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, fields
from datetime import date, datetime, timedelta
from statistics import median
from typing import Final

from aileron_tui.core.decision import moment
from aileron_tui.core.edits import arg_rows
from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.errors import InvalidReply

DIGEST_ONLY: Final = "Of what was fetched only the digest was kept. [policy] keep_previews keeps all of it."

# A number beyond a double cannot become one, and nobody has taken longer than a thousand years.
_LONGEST: Final = 1000 * 366 * 86400

CUT: Final = "What was asked was too long to be kept whole: of some inputs only the beginning is shown."


@dataclass(frozen=True, slots=True)
class SourcedRecord(HistoryRecord):
    """One of a source, by the operator's name for it: "" where there is only one. Times are the source's."""

    source: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What tells it apart from every other request, those of other sources too."""
        return self.source, self.id

    @property
    def signature(self) -> str:
        """What is known of the signature, in our own words."""
        if self.signer:
            return "signed"
        return "not signed" if self.decided else ""


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Some requests, newest first; `older` is where the next page begins, None at the end.

    `missing` has the sources of which not everything could be had, and why.
    """

    requests: tuple[SourcedRecord, ...]
    older: int | None
    missing: Mapping[str, AileronError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DayTally:
    """What was decided on one day, in local time. `typical` is the median time to decide, in seconds."""

    day: date
    decisions: int = 0
    typical: float | None = None


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """What the operator was shown, as far as it is still known; `note` says in our own words what is not.

    Where an edited call was approved, `asked` and `asked_fetched` are the rows of the one that was asked.
    """

    inputs: tuple[Row, ...] = ()
    fetched: tuple[Row, ...] = ()
    unavailable: str = ""
    note: str = ""
    asked: tuple[Row, ...] | None = None
    asked_fetched: tuple[Row, ...] | None = None


_TEXTS: Final = tuple(part.name for part in fields(HistoryRecord) if part.name not in ("seq", "took", "edited"))


def read_page(answer: JsonObject, source: str = "") -> HistoryPage:
    """A page in the answer of a source, or InvalidReply."""
    items, older = answer.get("items"), answer.get("next")
    if not isinstance(items, list) or not (older is None or (isinstance(older, int) and older > 0)):
        raise InvalidReply("what was sent is no page of history")
    return HistoryPage(tuple(_past(item, source) for item in items), older)


def _past(value: Json, source: str) -> SourcedRecord:
    if not isinstance(value, dict):
        raise InvalidReply("what was sent is not a request")
    texts: dict[str, str] = {}
    for name in _TEXTS:
        text = value.get(name, "")
        if not isinstance(text, str):
            raise InvalidReply("a request was sent that cannot be read", name)
        texts[name] = text
    seq, took, edited = value.get("seq"), value.get("took"), value.get("edited", False)
    if not isinstance(seq, int) or isinstance(took, (str, bool, list, dict)) or not isinstance(edited, bool):
        raise InvalidReply("a request was sent that cannot be read", "seq, took, edited")
    if took is not None and not 0 <= took <= _LONGEST:
        raise InvalidReply("a request was sent that cannot be read", "took")
    return SourcedRecord(seq=seq, took=None if took is None else float(took), edited=edited, source=source, **texts)


def span(seconds: float) -> str:
    """A length of time as people say it: 0.4 s, 12 s, 3.5 min."""
    for limit, unit, size in ((60, "s", 1), (3600, "min", 60), (86400, "h", 3600)):
        if seconds < limit:
            return f"{seconds / size:.1f} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:.0f} d"


def local(time: str) -> datetime | None:
    """A time of the gate in the person's own zone, or None if it cannot be read."""
    try:
        return moment(time).astimezone()
    except (ValueError, OverflowError):
        return None


def typical(requests: Iterable[SourcedRecord]) -> float | None:
    """The median time to decide, in seconds."""
    known = [request.took for request in requests if request.took is not None]
    return median(known) if known else None


def tally(requests: Iterable[SourcedRecord], today: date, days: int) -> tuple[DayTally, ...]:
    """Decisions of the last `days` days, the oldest first, today last."""
    decided: dict[date, list[SourcedRecord]] = {}
    for request in requests:
        at = local(request.decided) if request.decided else None
        if at is not None:
            decided.setdefault(at.date(), []).append(request)
    last = [today - timedelta(days=back) for back in range(days - 1, -1, -1)]
    return tuple(DayTally(day, len(decided.get(day, ())), typical(decided.get(day, ()))) for day in last)


def shown_in_item(item: Request) -> ShownPrompt:
    """What was shown, from a gate that still has the request at hand."""
    preview, before = item.prompt.preview, item.edited_from
    asked = before.inputs if before else None
    if preview is None:
        return ShownPrompt(item.prompt.inputs, asked=asked)
    was = before.preview.rows if before and before.preview and not before.preview.unavailable else None
    return ShownPrompt(item.prompt.inputs, preview.rows, preview.unavailable, asked=asked, asked_fetched=was)


def shown_in_past(past: JsonObject) -> ShownPrompt:
    """What was shown, from what the ledger kept of it: the inputs, and of the preview at least a digest."""
    inputs: tuple[Row, ...] = ()
    fetched: tuple[Row, ...] = ()
    unavailable = note = cut = ""
    entries = past.get("entries")
    for entry in entries if isinstance(entries, list) else ():
        match entry:
            case {"kind": EntryKind.REQUESTED, "body": {"args": dict() as args, **others}}:
                inputs = arg_rows(args)
                cut = CUT if isinstance(whole := others.get("cut"), dict) and "args" in whole else ""
            case {
                "kind": EntryKind.PREVIEWED,
                "body": {"preview": {"rows": list() as rows, "unavailable": str() as why}},
            }:
                fetched, unavailable, note = tuple(_read_rows(rows)), why, ""
            case {"kind": EntryKind.PREVIEWED, "body": {"unavailable": str() as why}}:
                fetched, unavailable, note = (), why, ""
            case {"kind": EntryKind.PREVIEWED, "body": {"digest": str()}}:
                fetched, unavailable, note = (), "", DIGEST_ONLY
    said = " ".join(filter(None, (cut, note)))
    match past.get("edit"):
        case {"asked": dict() as asked, "approved": dict() as approved}:
            return ShownPrompt(arg_rows(approved), fetched, unavailable, said, arg_rows(asked))
    return ShownPrompt(inputs, fetched, unavailable, said)


def _row(label: str, value: str) -> Row:
    return Row(label, value, multiline="\n" in value)


def _read_rows(rows: list[Json]) -> Iterator[Row]:
    for row in rows:
        match row:
            case {"label": str() as label, "missing": True}:
                yield Row(label, missing=True)
            case {"label": str() as label, "value": str() as value}:
                yield _row(label, value)
