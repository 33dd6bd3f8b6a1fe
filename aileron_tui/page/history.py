"""The history of a gate for its page. Every function reads the ledger, so call it from a thread."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.times import utc_now
from aileron_tui.gate import history_routes
from aileron_tui.page.history_rendering import DAYS, chart_view, history_row, record_view
from aileron_tui.page.shown_text import line
from aileron_tui.page.views import ChartView, HistoryView, RecordView
from aileron_tui.runtime.request_reader import read_gate_request
from aileron_tui.surface.history_query import LONGEST, HistoryQuery, SearchError
from aileron_tui.surface.history_records import (
    HistoryPage,
    alerted_in_ledger,
    read_page,
    read_record,
    retried_in_ledger,
    shown_in_ledger,
    shown_in_request,
    tally,
)

PAGE_SIZE: Final = 50
_SAMPLE: Final = 500


def history_view(ledger: Path, search: str, before: int | None) -> HistoryView:
    """A page of the history, with the chart if it is the first one. An invalid search is explained."""
    now, text = utc_now(), search[:LONGEST]
    first = before is None
    chart = _chart(ledger, now) if first else None
    try:
        query = HistoryQuery(text).query(now)
    except SearchError as error:
        return HistoryView((), line(text), error=line(str(error)), hint=line(error.hint), chart=chart, is_first=first)
    query.pop("source", None)
    found = _page(ledger, query | ({} if before is None else {"before": before}), PAGE_SIZE)
    older = "" if found.older is None else str(found.older)
    rows = tuple(history_row(record, now) for record in found.requests)
    return HistoryView(rows, line(text), older, chart=chart, is_first=first)


def _chart(ledger: Path, now: datetime) -> ChartView:
    since = f"{now - timedelta(days=DAYS):%Y-%m-%dT%H:%M:%SZ}"
    found = _page(ledger, {"since": since}, _SAMPLE)
    return chart_view(tally(found.requests, now.astimezone().date(), DAYS), found.requests)


def _page(ledger: Path, query: "Mapping[str, str | int | list[str]]", limit: int) -> HistoryPage:
    texts = {
        name: [str(one) for one in value] if isinstance(value, list) else [str(value)] for name, value in query.items()
    }
    search = history_routes.read_search(texts | {"limit": [str(limit)]})
    return read_page(history_routes.search(ledger, search, previews=True))


def past_view(ledger: Path, id_: str, held: JsonObject | None) -> RecordView | None:
    """One request, None if there is no such one. `held` is the request if the gate still has it in memory."""
    found = history_routes.past(ledger, id_)
    if found is None:
        return None
    try:
        shown = shown_in_request(read_gate_request(held)) if held else shown_in_ledger(found)
    except AileronError:
        shown = shown_in_ledger(found)
    shown = replace(shown, alerted=alerted_in_ledger(found), retried=retried_in_ledger(found))
    return record_view(read_record(found.get("request")), shown, utc_now())
