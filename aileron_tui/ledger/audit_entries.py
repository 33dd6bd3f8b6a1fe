"""Ledger entries for the audit log, newest first."""

import re
from collections.abc import Iterator
from typing import Final

from aileron_tui.core.entry_chain import Entry
from aileron_tui.ledger.reader import LedgerReader, read_entry, translating

_MAX_LISTED_REQUESTS: Final = 1000
_ALL: Final = "SELECT seq, data FROM entries ORDER BY seq DESC"
_CONTAINING: Final = "SELECT seq, data FROM entries WHERE instr(data, ?) ORDER BY seq DESC"
_OF_CONNECTOR: Final = """
SELECT seq, data FROM steps JOIN entries USING (seq)
WHERE request IN (SELECT id FROM requests WHERE connector = ?) ORDER BY seq DESC
"""
_COUNT_OF_CONNECTOR: Final = "SELECT count(*) FROM (SELECT 1 FROM requests WHERE connector = ? LIMIT ?)"
_ONE: Final = "SELECT seq, data FROM entries WHERE seq = ?"
_PLAIN: Final = re.compile(r"[a-z_.]{4,64}", re.ASCII)


def newest_entries(reader: LedgerReader, connector: str = "", text: str = "") -> Iterator[Entry]:
    """Yields entries, newest first; includes all entries of a connector and all that contain a text.

    The filters only save time, and not every value can be used to filter: the caller must check each entry itself.
    """
    query, values = _query(reader, connector, text)
    with translating(reader.path):
        for seq, data in reader.db.execute(query, values):
            yield read_entry(reader.path, seq, data)


def entry_at(reader: LedgerReader, seq: int) -> Entry | None:
    """Returns the entry with this number."""
    with translating(reader.path):
        row = reader.db.execute(_ONE, (seq,)).fetchone()
    return read_entry(reader.path, *row) if row else None


def _query(reader: LedgerReader, connector: str, text: str) -> tuple[str, tuple[str | bytes, ...]]:
    if connector and _has_few_requests(reader, connector):
        return _OF_CONNECTOR, (connector,)
    if _PLAIN.fullmatch(text):
        return _CONTAINING, (text.encode(),)
    return _ALL, ()


def _has_few_requests(reader: LedgerReader, connector: str) -> bool:
    """Whether listing the requests of a connector is faster than reading all entries."""
    with translating(reader.path):
        row = reader.db.execute(_COUNT_OF_CONNECTOR, (connector, _MAX_LISTED_REQUESTS + 1)).fetchone()
    return int(row[0]) <= _MAX_LISTED_REQUESTS
