"""Pages of the history as JSON, and the queries for them.

These functions open their own connection to the ledger and may take a while, so call them from a thread.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from aileron_tui.core.alert_words import recorded_alerts
from aileron_tui.core.deadline_extension import recorded_extension
from aileron_tui.core.edits import edit_fields
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.outcomes import ELSEWHERE
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.history_filter import OUTCOMES, PAGE, HistoryFilter
from aileron_tui.ledger.history_summaries import summaries
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.ledger.recorded_decision import decision_of, edits_of
from aileron_tui.ledger.store import LedgerView

SEARCH: Final = ("text", "since", "until", "outcome", "surface", "action", "agent", "signer", "before", "limit")

_MOST_REQUESTS: Final = 500
_LONGEST_TEXT: Final = 1000
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d(T[0-9:.]{5,15}Z?)?", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]{1,15}", re.ASCII)

Query = Mapping[str, Sequence[str]]


class BadHistoryQuery(LedgerError):
    """A query that is not valid; the title names the parameter."""


@dataclass(frozen=True, slots=True)
class HistoryPageQuery:
    """The query for one page of the history."""

    filter: HistoryFilter
    before: int | None
    limit: int


def read_search(query: Query) -> HistoryPageQuery:
    """Parses the parameters of a query string. Raises BadHistoryQuery."""
    text = one(query, "text")
    if len(text) > _LONGEST_TEXT:
        raise BadHistoryQuery(f"text: longer than {_LONGEST_TEXT} characters")
    outcomes = tuple(query.get("outcome", ()))
    if odd := [outcome for outcome in outcomes if outcome not in OUTCOMES]:
        raise BadHistoryQuery(f"outcome: {odd[0][:40]!r} is not one of {', '.join(OUTCOMES)}")
    wanted = HistoryFilter(
        text,
        time(query, "since"),
        time(query, "until"),
        outcomes,
        tuple(query.get("surface", ())),
        tuple(query.get("action", ())),
        tuple(query.get("agent", ())),
        one(query, "signer"),
    )
    before = number(query, "before", 0, None) or None
    if before and wanted.signer:
        raise BadHistoryQuery("before: cannot be used with signer")
    return HistoryPageQuery(wanted, before, number(query, "limit", PAGE, _MOST_REQUESTS))


def search(ledger: Path, wanted: HistoryPageQuery, *, previews: bool = False) -> JsonObject:
    """One page, newest first. `next` is the value of `before` for the following page, or null at the end.

    Each item has a summary. It shows fetched values only with `previews`, for somebody who may see previews.
    """
    with open_reader(ledger) as reader:
        found = reader.page(wanted.filter, before=wanted.before, limit=wanted.limit + 1)
        page = found[: wanted.limit]
        texts = list(summaries(reader, page, previews=previews))
        names = key_names(reader)
    items: list[Json] = [
        asdict(record) | {"summary": [*text], "signed_by": names.get(record.signer, "")}
        for record, text in zip(page, texts, strict=True)
    ]
    return {"items": items, "next": page[-1].seq if len(found) > len(page) else None}


def past(ledger: Path, request: str) -> JsonObject | None:
    """One request with its entries in order, its edit, if any, and its alerts. None if there is no such request."""
    with open_reader(ledger) as reader:
        record = reader.find(request)
        entries = reader.of_request(request)
        extended: list[Json] = [*extended_by(entries, reader)]
        names = key_names(reader)
    if record is None:
        return None
    steps: list[Json] = [entry.fields() for entry in entries]
    about = asdict(record) | {"signed_by": names.get(record.signer, "")}
    alerts: list[Json] = [alert.fields() for alert in recorded_alerts(steps)]
    return {
        "request": about,
        "entries": steps,
        "edit": edit(record, entries),
        "extended_by": extended,
        "alerts": alerts,
    }


def key_names(ledger: LedgerView) -> dict[str, str]:
    """The names of all keys that may approve or could, by fingerprint, without verifying."""
    return {str(change.body.get("fingerprint")): str(change.body.get("name")) for change in ledger.key_changes()}


def extended_by(entries: Sequence[Entry], ledger: LedgerView) -> tuple[str, ...]:
    """Who extended the deadline of a request with these entries, each time: the name of the key, without verifying."""
    extensions = [entry for entry in entries if entry.kind == EntryKind.EXTENDED]
    if not extensions:
        return ()
    names = key_names(ledger)
    return tuple(names.get(signer, signer) for signer in map(_signer, extensions))


def _signer(extension: Entry) -> str:
    try:
        return recorded_extension(extension)[1]
    except JsonError:
        return "an unknown key"


def edit(record: HistoryRecord, entries: Sequence[Entry]) -> JsonObject | None:
    """The inputs as asked and as approved, or None if the call was not edited, was edited elsewhere, or was reduced."""
    if not record.edited or record.surface == ELSEWHERE or record.reduced:
        return None
    decided = [found for entry in entries if (found := decision_of(entry))]
    asked = entries[0].body.get("args")
    args = asked if isinstance(asked, dict) else {}
    return edit_fields(args, args | edits_of(decided[-1][0])) if decided else None


def one(query: Query, name: str) -> str:
    """The value of a parameter that may be given only once, or "" if it is not given."""
    values = query.get(name, ("",))
    if len(values) > 1:
        raise BadHistoryQuery(f"{name}: given more than once")
    return values[0] if values else ""


def time(query: Query, name: str) -> str:
    """A parameter that is a date or time, in a form that can be compared with the times of entries."""
    value = one(query, name)
    if value and not _TIME.fullmatch(value):
        raise BadHistoryQuery(f"{name}: expected a UTC date or time such as 2026-05-12 or 2026-05-12T10:15:30Z")
    return value.rstrip("Z")


def number(query: Query, name: str, default: int, most: int | None) -> int:
    """A parameter that is a number of 1 or more, or the default if it is not given."""
    value = one(query, name)
    if not value:
        return default
    if not _NUMBER.fullmatch(value) or not int(value) or (most is not None and int(value) > most):
        raise BadHistoryQuery(f"{name}: expected a number " + (f"between 1 and {most:,}" if most else "of 1 or more"))
    return int(value)
