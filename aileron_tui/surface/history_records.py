"""Records of the history as a source sends them, checked, and their totals by day."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from datetime import date, datetime, timedelta
from statistics import median
from typing import Final

from aileron_tui.core.alert_words import alert_words, recorded_alerts
from aileron_tui.core.daemon_kinds import filled_in, split_by_origin
from aileron_tui.core.deadline_extension import extended_words
from aileron_tui.core.edits import arg_rows
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.key_change import is_security_key
from aileron_tui.core.outcome_words import ALLOWED
from aileron_tui.core.prompt import Prompt
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.summary import MOST_VALUES
from aileron_tui.core.time_words import span
from aileron_tui.core.times import moment
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.errors import InvalidReply

NOT_KEPT: Final = (
    "The preview that was shown was not kept, only its digest. To keep previews from now on, write"
    " keep_previews = true under [policy] in config.toml."
)

REDUCED: Final = "The contents were removed, because they were older than [ledger] keep in config.toml."

CUT: Final = "The call was too long to keep in full. Some inputs are cut off."

# A thousand years. Converting an integer that is too large for a float would raise.
_LONGEST_SECONDS: Final = 1000 * 366 * 86400


@dataclass(frozen=True, slots=True)
class SourcedRecord(HistoryRecord):
    """A record with the operator's name for its source, "" if there is only one, and the summary that the source made.

    Its times are those of the source, and so is `signed_by`, the name of the key that signed the answer.
    """

    source: str = ""
    summary: tuple[str, ...] = ()
    signed_by: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Identifies the request among those of all sources."""
        return self.source, self.id

    @property
    def signature(self) -> str:
        """Whether the decision was signed, in words; "" if there was none."""
        if self.signer:
            return "signed by a security key" if is_security_key(self.signer) else "signed"
        return "not signed" if self.decided else ""


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Some requests, newest first; `older` is where the next page begins, None at the end.

    `missing` has the sources whose records are incomplete, and why.
    """

    requests: tuple[SourcedRecord, ...]
    older: int | None
    missing: Mapping[str, AileronError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DayTally:
    """The decisions of one day, in local time. `typical` is the median time to decide, in seconds."""

    day: date
    decisions: int = 0
    typical: float | None = None


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """What the operator was shown, as far as it was kept; `note` says what was not.

    `inputs` are what the agent sent, `filled` what a daemon filled in. If an edited call was approved, `asked` and
    `asked_fetched` are the rows of the original call. `extended` says how often the deadline was extended, and by whom;
    `alerted` says who was alerted, when and why, and `retried` how often requests to a service were repeated.
    """

    inputs: tuple[Row, ...] = ()
    fetched: tuple[Row, ...] = ()
    unavailable: str = ""
    note: str = ""
    asked: tuple[Row, ...] | None = None
    asked_fetched: tuple[Row, ...] | None = None
    filled: tuple[Row, ...] = ()
    extended: str = ""
    alerted: str = ""
    retried: str = ""

    @property
    def no_inputs(self) -> str:
        """What to say in the place of inputs."""
        return "removed" if self.note == REDUCED else "no inputs"


_TEXTS: Final = tuple(part.name for part in fields(HistoryRecord) if part.name not in ("seq", "took", "edited"))


def read_page(answer: JsonObject, source: str = "") -> HistoryPage:
    """Reads a page from the reply of a source, or raises InvalidReply."""
    items, older = answer.get("items"), answer.get("next")
    if not isinstance(items, list) or not (older is None or (isinstance(older, int) and older > 0)):
        raise InvalidReply("the reply is not a page of history")
    return HistoryPage(tuple(read_record(item, source) for item in items), older)


def read_record(value: Json, source: str = "") -> SourcedRecord:
    """Reads one record from the reply of a source, or raises InvalidReply."""
    if not isinstance(value, dict):
        raise InvalidReply("the history contains something that is not a request")
    texts: dict[str, str] = {}
    for name in _TEXTS:
        text = value.get(name, "")
        if not isinstance(text, str):
            raise InvalidReply("the history contains an invalid request", name)
        texts[name] = text
    seq, took, edited = value.get("seq"), value.get("took"), value.get("edited", False)
    if not isinstance(seq, int) or isinstance(took, (str, bool, list, dict)) or not isinstance(edited, bool):
        raise InvalidReply("the history contains an invalid request", "seq, took, edited")
    if took is not None and not 0 <= took <= _LONGEST_SECONDS:
        raise InvalidReply("the history contains an invalid request", "took")
    match value.get("summary", []):
        case [*values] if len(values) <= MOST_VALUES and all(isinstance(one, str) for one in values):
            summary = tuple(str(one) for one in values)
        case _:
            raise InvalidReply("the history contains an invalid request", "summary")
    took, signed_by = None if took is None else float(took), value.get("signed_by", "")
    if not isinstance(signed_by, str):
        raise InvalidReply("the history contains an invalid request", "signed_by")
    about = {"source": source, "signed_by": signed_by}
    return SourcedRecord(seq=seq, took=took, edited=edited, summary=summary, **texts, **about)


def parse_local_time(time: str) -> datetime | None:
    """A time of the ledger in the local zone, or None if it cannot be read."""
    try:
        return moment(time).astimezone()
    except (ValueError, OverflowError):
        return None


def typical(requests: Iterable[SourcedRecord]) -> float | None:
    """The median time to decide, in seconds."""
    known = [request.took for request in requests if request.took is not None]
    return median(known) if known else None


def own_pace(decisions: Sequence[SourcedRecord]) -> str:
    """How many of the operator's last decisions were approvals, and how fast they were; "" if there are none."""
    if not decisions:
        return ""
    approved = sum(record.outcome in ALLOWED for record in decisions)
    median_time = typical(decisions)
    pace = "" if median_time is None else f", median {span(median_time)}"
    return f"your last {len(decisions)}: {approved} approved{pace}"


def tally(requests: Iterable[SourcedRecord], today: date, days: int) -> tuple[DayTally, ...]:
    """The decisions of the last `days` days, oldest first, today last."""
    decided: dict[date, list[SourcedRecord]] = {}
    for request in requests:
        at = parse_local_time(request.decided) if request.decided else None
        if at is not None:
            decided.setdefault(at.date(), []).append(request)
    last = [today - timedelta(days=back) for back in range(days - 1, -1, -1)]
    return tuple(DayTally(day, len(decided.get(day, ())), typical(decided.get(day, ()))) for day in last)


def shown_in_request(request: Request) -> ShownPrompt:
    """What was shown, from a request that its source still holds."""
    return replace(_shown_in_request(request), extended=extended_words(request.extended_by))


def _shown_in_request(request: Request) -> ShownPrompt:
    prompt, original = request.prompt, request.edited_from
    inputs, filled = _by_origin(request, prompt)
    preview, asked = prompt.preview, _by_origin(request, original)[0] if original else None
    if preview is None:
        return ShownPrompt(inputs, asked=asked, filled=filled)
    before = original.preview if original else None
    asked_fetched = before.rows if before and not before.unavailable else None
    return ShownPrompt(
        inputs, preview.rows, preview.unavailable, asked=asked, asked_fetched=asked_fetched, filled=filled
    )


def _by_origin(request: Request, prompt: Prompt) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    return split_by_origin(prompt.kind, prompt.args, prompt.inputs) if request.daemon else (prompt.inputs, ())


def shown_in_ledger(past: JsonObject) -> ShownPrompt:
    """What was shown, from the entries of the ledger: the inputs, and at least a digest of the preview."""
    names = past.get("extended_by")
    extended = extended_words([str(name) for name in names]) if isinstance(names, list) else ""
    alerted, retried = alerted_in_ledger(past), retried_in_ledger(past)
    return replace(_shown_in_ledger(past), extended=extended, alerted=alerted, retried=retried)


def alerted_in_ledger(past: JsonObject) -> str:
    """Who was alerted to a request, in one line, from the entries of the ledger."""
    entries = past.get("entries")
    return alert_words(recorded_alerts(entries)) if isinstance(entries, list) else ""


def retried_in_ledger(past: JsonObject) -> str:
    """How often requests to a service were repeated for the op and why, from the entries of the ledger."""
    entries = past.get("entries")
    for entry in reversed(entries) if isinstance(entries, list) else ():
        match entry:
            case {"kind": EntryKind.EXECUTED | EntryKind.FAILED | EntryKind.UNKNOWN, "body": {"retried": str(words)}}:
                return words.removeprefix("retried ")
    return ""


def _shown_in_ledger(past: JsonObject) -> ShownPrompt:
    inputs: tuple[Row, ...] = ()
    fetched: tuple[Row, ...] = ()
    filled: tuple[Row, ...] = ()
    by_daemon: frozenset[str] = frozenset()
    unavailable = note = cut = ""
    entries = past.get("entries")
    for entry in entries if isinstance(entries, list) else ():
        match entry:
            case {"kind": EntryKind.REQUESTED, "removed": str()}:
                return ShownPrompt(note=REDUCED)
            case {"kind": EntryKind.REQUESTED, "body": {"args": dict() as args, **others}}:
                kind = others.get("kind")
                by_daemon = filled_in(kind) if isinstance(kind, str) and "daemon" in others else frozenset()
                inputs, filled = (
                    _sent(args, by_daemon),
                    arg_rows({name: args[name] for name in args if name in by_daemon}),
                )
                cut = CUT if isinstance(whole := others.get("cut"), dict) and "args" in whole else ""
            case {
                "kind": EntryKind.PREVIEWED,
                "body": {"preview": {"rows": list() as rows, "unavailable": str() as why}},
            }:
                fetched, unavailable, note = tuple(_read_rows(rows)), why, ""
            case {"kind": EntryKind.PREVIEWED, "body": {"unavailable": str() as why}}:
                fetched, unavailable, note = (), why, ""
            case {"kind": EntryKind.PREVIEWED, "body": {"digest": str()}}:
                fetched, unavailable, note = (), "", NOT_KEPT
    notes = " ".join(filter(None, (cut, note)))
    match past.get("edit"):
        case {"asked": dict() as asked, "approved": dict() as approved}:
            inputs, before = _sent(approved, by_daemon), _sent(asked, by_daemon)
            return ShownPrompt(inputs, fetched, unavailable, notes, before, filled=filled)
    return ShownPrompt(inputs, fetched, unavailable, notes, filled=filled)


def _sent(args: JsonObject, by_daemon: frozenset[str]) -> tuple[Row, ...]:
    return arg_rows({name: value for name, value in args.items() if name not in by_daemon})


def _row(label: str, value: str) -> Row:
    return Row(label, value, multiline="\n" in value)


def _read_rows(rows: list[Json]) -> Iterator[Row]:
    for row in rows:
        match row:
            case {"label": str() as label, "missing": True}:
                yield Row(label, missing=True)
            case {"label": str() as label, "value": str() as value}:
                yield _row(label, value)
