"""The history as CSV, one line per request."""

import csv
from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import IO, Final

from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.visible_text import inline

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


class HistoryCsvWriter:
    """Writes records of one type as CSV. No cell can act as a formula or contain a control character."""

    def __init__(self, out: IO[str], record_type: type[HistoryRecord] = HistoryRecord) -> None:
        self._writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
        self._writer.writerow(column.name for column in fields(record_type))

    def write(self, records: Iterable[HistoryRecord]) -> None:
        """Adds a line for each record."""
        for record in records:
            self._writer.writerow(map(cell, asdict(record).values()))


def cell(value: object) -> str:
    """A value as the text of a CSV cell, escaped so that a spreadsheet never reads it as a formula."""
    if isinstance(value, tuple):
        value = " · ".join(value)
    if not isinstance(value, str):
        return "" if value is None else str(value)
    text = inline(value)
    return f"'{text}" if value.lstrip(" ").startswith(_FORMULA) else text
