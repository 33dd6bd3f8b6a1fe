"""A stored ledger with damaged bytes: verifying it says good or bad, and opening it works or is a clear error."""

import struct
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Final

from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.ledger.entry_check import CheckReport
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.export import Exported
from aileron_tui.ledger.full_check import audit_export
from aileron_tui.ledger.open_store import is_ledger, open_ledger, open_reader
from aileron_tui.ledger.quick_check import QuickCheck
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.fuzz.target import Target
from tests.ledger.test_old_formats import FIXTURES, kept_head

_FILES: Final = tuple(
    (version, name, end) for version in ("v5", "v1") for name in ("gate", "daemon") for end in ("db", "jsonl")
)
_CHANGE: Final = struct.Struct("<BIB")
_MOST_CHANGES: Final = 40


def ledger(data: bytes) -> None:
    """The first byte chooses a stored ledger or export; the rest says which of its bytes are changed."""
    version, name, end = _FILES[data[0] % len(_FILES)] if data else _FILES[0]
    original = (FIXTURES / version / f"{name}.{end}").read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"ledger.{end}"
        path.write_bytes(_damaged(original, data[1:]))
        path.chmod(0o600)
        with suppress(LedgerError):
            report, history = _verified(path, version, name)
            if report.fault is None:
                assert report.head == kept_head(version, name)
                assert history is None or history == _history(version, name)
        if is_ledger(path):
            with suppress(LedgerError), closing(open_ledger(path)) as opened:
                opened.check()
                opened.check_file()


def _verified(path: Path, version: str, name: str) -> tuple[CheckReport, tuple[HistoryRecord, ...] | None]:
    """What `history verify` finds, and what the history of a ledger shows."""
    expected = [kept_head(version, name)]
    if not is_ledger(path):
        return audit_export(Exported(path), RecordedSigners(), expected), None
    with open_reader(path, foreign=True) as reader:
        report, _ = QuickCheck(RecordedSigners).run(reader, expected)
        return report, tuple(reader.every()) if reader.indexed() else None


@cache
def _history(version: str, name: str) -> tuple[HistoryRecord, ...]:
    with open_reader(FIXTURES / version / f"{name}.db", foreign=True) as reader:
        return tuple(reader.every())


def _damaged(original: bytes, changes: bytes) -> bytes:
    made = bytearray(original)
    for how, where, value in _changes(changes):
        at = where % (len(made) + 1)
        match how % 8:
            case 0:
                del made[at:]
            case 1:
                made[at : at + value] = b""
            case 2:
                made[at:at] = bytes((value,))
            case 3:
                made[at : at + value] = bytes(len(made[at : at + value]))
            case 4:
                other = (at * 31) % (len(made) + 1)
                made[at : at + value] = made[other : other + len(made[at : at + value])]
            case 5:
                made[at % 100 : at % 100 + 1] = bytes((value,))
            case _:
                made[at : at + 1] = bytes((value,)) if at < len(made) else b""
    return bytes(made)


def _changes(data: bytes) -> Iterator[tuple[int, int, int]]:
    usable = data[: min(len(data) // _CHANGE.size, _MOST_CHANGES) * _CHANGE.size]
    yield from _CHANGE.iter_unpack(usable)


def _seeds() -> list[bytes]:
    some = (
        b"",
        _CHANGE.pack(6, 40_000, 1),
        _CHANGE.pack(0, 50_000, 0),
        _CHANGE.pack(5, 18, 9) + _CHANGE.pack(4, 9000, 200),
    )
    found = b"\xd4" * 47 + b"\xff" * 13 + b"\xd4" * 20 + b"\1"  # the schema is not text
    return [found, *(bytes((number,)) + change for number in range(len(_FILES)) for change in some)]


TARGETS: Final = {"ledger": Target(ledger, _seeds)}
