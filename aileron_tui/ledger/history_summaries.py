"""The summaries of past requests, made from what the ledger has about them."""

from collections.abc import Iterator, Sequence
from typing import Final

from aileron_tui.core.edits import arg_rows
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import Json
from aileron_tui.core.outcomes import ELSEWHERE
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.summary import of_rows, shortened
from aileron_tui.ledger.recorded_decision import decision_of, edits_of
from aileron_tui.ledger.store import LedgerView

LARGEST_SUMMARIZED: Final = 256 * 1024
"""The largest entry that is read for a summary, in bytes. A page of the history must open at once."""


def summaries(
    ledger: LedgerView, records: Sequence[HistoryRecord], *, previews: bool = False
) -> Iterator[tuple[str, ...]]:
    """The summary of each record: of the inputs as they were approved and, with `previews`, of the preview if it was
    kept. It is empty if the ledger does not have the inputs."""
    for record in records:
        if record.reduced:
            yield ()
            continue
        edited = record.edited and record.surface != ELSEWHERE
        entries = ledger.of_request(record.id) if edited else ledger.recorded_call(record.id, LARGEST_SUMMARIZED)
        yield shortened(of_rows(_fetched(entries) if previews else (), _inputs(entries)))


def _inputs(entries: Sequence[Entry]) -> tuple[Row, ...]:
    args = next((entry.body.get("args") for entry in entries if entry.kind == EntryKind.REQUESTED), None)
    if not isinstance(args, dict):
        return ()
    decisions = [found for entry in entries if (found := decision_of(entry))]
    return arg_rows(args | (edits_of(decisions[-1][0]) if decisions else {}))


def _fetched(entries: Sequence[Entry]) -> tuple[Row, ...]:
    """The rows of the last preview, if it was kept."""
    last = next((entry.body for entry in reversed(entries) if entry.kind == EntryKind.PREVIEWED), {})
    preview = last.get("preview")
    rows = preview.get("rows") if isinstance(preview, dict) else None
    return tuple(_rows(rows)) if isinstance(rows, list) else ()


def _rows(rows: list[Json]) -> Iterator[Row]:
    for row in rows:
        match row:
            case {"label": str() as label, "value": str() as value, "missing": False, "multiline": bool() as multiline}:
                yield Row(label, value, multiline=multiline)
