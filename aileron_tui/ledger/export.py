"""Exports the whole ledger as JSON lines, which can be verified elsewhere.

The lines contain the stored bytes of each entry unchanged, so the hash chain can be checked with the file alone:

    {"aileron_ledger":2,"exported":"…","head":"1042:sha256:…"}
    {"hash":"sha256:…","entry":{…the stored bytes…}}

An export as events of OCSF (`core/ocsf.py`) is for other programs, and is not verified here.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import IO, Final

from aileron_tui.core.entry_chain import decode
from aileron_tui.core.formats import VERSION, NewerFormat
from aileron_tui.core.jsontext import JsonError, read_object
from aileron_tui.core.ocsf import OcsfChain
from aileron_tui.core.times import timestamp
from aileron_tui.ledger.errors import LedgerDamaged, LedgerError, LedgerNewer
from aileron_tui.ledger.head import Head, read_head
from aileron_tui.ledger.store import LARGEST_ENTRY, LedgerReader, Stored

_LINE: Final = re.compile(rb'\{"hash":"sha256:([0-9a-f]{64})","entry":(\{.*\})\}\n', re.DOTALL)
# In canonical JSON, the number of an entry is near its end.
_NUMBER: Final = re.compile(rb'"seq":([0-9]{1,18}),"time":"[^"]*"(?:,"version":[0-9]{1,9})?\}\Z')
_REMEMBERED: Final = 1000
_LONGEST_LINE: Final = LARGEST_ENTRY + 1024


def write_jsonl(reader: LedgerReader, out: IO[bytes], now: datetime) -> Head:
    """Writes every entry that the ledger has at this moment, and returns the head of the export."""
    with reader.snapshot():
        head = reader.head()
        about = {"aileron_ledger": VERSION, "exported": timestamp(now), "head": str(head)}
        out.write(json.dumps(about, separators=(",", ":")).encode() + b"\n")
        for _, data, digest in reader.rows():
            out.write(b'{"hash":"sha256:%b","entry":%b}\n' % (digest.hex().encode(), data))
    return head


def write_ocsf(reader: LedgerReader, out: IO[bytes], version: str) -> None:
    """Writes every entry that the ledger has at this moment as an event of OCSF, one per line, in ASCII."""
    with reader.snapshot():
        found = lru_cache(maxsize=_REMEMBERED)(reader.find)
        chain = OcsfChain(next((stored for _, stored in reader.hashes(0, 1)), ""), version)
        for seq, data, digest in reader.rows():
            try:
                entry = decode(data)
            except JsonError as error:
                raise LedgerDamaged(reader.path, f"entry {seq} cannot be read: {error}") from None
            event = chain.event(entry, f"sha256:{digest.hex()}", found(entry.request) if entry.request else None)
            out.write(json.dumps(event, separators=(",", ":")).encode() + b"\n")


class Exported:
    """An export in JSON lines, opened for verification."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                first = file.readline(_LONGEST_LINE)
        except OSError as error:
            raise LedgerError("cannot read the export", f"{path}: {error.strerror}") from None
        try:
            about = read_object(first)
        except JsonError:
            about = {}
        found = about.get("aileron_ledger")
        head = about.get("head")
        if type(found) is not int or found < 1 or not isinstance(head, str):
            hint = "Give a file made by `aileron-tui history export --format jsonl`, or a ledger."
            raise LedgerError("not an export of a ledger", str(path), hint)
        if found > VERSION:
            newer = NewerFormat("the export", found)
            raise LedgerNewer(newer.title, str(path), newer.hint)
        self.head = read_head(head)

    def rows(self) -> Iterator[Stored]:
        """Every entry as it was stored; any other line raises LedgerDamaged."""
        with self.path.open("rb") as file:
            file.readline(_LONGEST_LINE)
            number = 1
            while line := file.readline(_LONGEST_LINE):
                number += 1
                found = _LINE.fullmatch(line)
                if not found:
                    raise LedgerDamaged(self.path, f"line {number} is not an entry of an export")
                place = _NUMBER.search(found[2], max(0, len(found[2]) - 100))
                yield int(place[1]) if place else number - 1, found[2], bytes.fromhex(found[1].decode())
