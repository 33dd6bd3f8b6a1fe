"""An export can be verified on its own; a table cannot act."""

import csv
import io
import json
from pathlib import Path

import pytest

from aileron_tui.core.entry_chain import Damage
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_csv import HistoryCsvWriter
from aileron_tui.ledger.errors import LedgerError, LedgerNewer
from aileron_tui.ledger.export import Exported, write_jsonl
from aileron_tui.ledger.full_check import audit_export
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.ledger.scenes import START, Scene


@pytest.fixture
def export(scene: Scene, tmp_path: Path) -> Path:
    """A ledger with one approved and one denied request, exported."""
    scene.approved("act-1", to="Zoë \u202e\x1b\u2028 <a@example.com>")
    scene.denied("act-2")
    path = tmp_path / "export.jsonl"
    with SqliteReader(scene.ledger.path) as reader, path.open("wb") as out:
        write_jsonl(reader, out, START)
    return path


def found(path: Path, *expected: Head) -> tuple[int, Damage] | None:
    fault = audit_export(Exported(path), RecordedSigners(), expected).fault
    return (fault.seq, fault.damage) if fault else None


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_an_export_verifies_by_itself(export: Path, scene: Scene) -> None:
    report = audit_export(Exported(export), RecordedSigners())
    assert (report.fault, report.entries, report.head) == (None, 11, scene.ledger.head)
    assert report.decisions == {scene.key.public.fingerprint: 2}


def test_every_line_is_json_that_others_can_read(export: Path) -> None:
    documents = [json.loads(line) for line in lines(export)]
    assert documents[0]["head"].startswith("11:sha256:")
    assert [document["entry"]["seq"] for document in documents[1:]] == list(range(1, 12))


@pytest.mark.parametrize("entry", [1, 5, 11])
def test_a_changed_line(export: Path, entry: int) -> None:
    spoilt = lines(export)
    spoilt[entry] = spoilt[entry].replace(b"2026-05-12", b"2026-05-13")
    export.write_bytes(b"".join(spoilt))
    assert found(export) == (entry, Damage.CHANGED)


def test_a_changed_hash(export: Path) -> None:
    spoilt = lines(export)
    digit = spoilt[4][20:21]
    spoilt[4] = spoilt[4][:20] + (b"1" if digit == b"0" else b"0") + spoilt[4][21:]
    export.write_bytes(b"".join(spoilt))
    assert found(export) == (4, Damage.HASH)


@pytest.mark.parametrize("entry", [1, 5])
def test_a_removed_line(export: Path, entry: int) -> None:
    kept = lines(export)
    del kept[entry]
    export.write_bytes(b"".join(kept))
    assert found(export) == (entry, Damage.GAP)


def test_swapped_lines(export: Path) -> None:
    kept = lines(export)
    kept[3], kept[4] = kept[4], kept[3]
    export.write_bytes(b"".join(kept))
    assert found(export) == (3, Damage.ORDER)


def test_a_repeated_line(export: Path) -> None:
    kept = lines(export)
    kept.insert(5, kept[4])
    export.write_bytes(b"".join(kept))
    assert found(export) == (5, Damage.ORDER)


def test_a_cut_tail(export: Path) -> None:
    export.write_bytes(b"".join(lines(export)[:-2]))
    assert found(export) == (10, Damage.CUT)


def test_a_torn_last_line(export: Path) -> None:
    export.write_bytes(export.read_bytes()[:-20])
    assert found(export) == (11, Damage.UNREADABLE)


@pytest.mark.parametrize("line", [b"\n", b"{}\n", b"\xff\xfe\n", b'{"hash":"sha256:00","entry":{}}\n'])
def test_a_foreign_line(export: Path, line: bytes) -> None:
    kept = lines(export)
    kept.insert(3, line)
    export.write_bytes(b"".join(kept))
    assert found(export) == (3, Damage.UNREADABLE)


def test_a_kept_head_is_compared(export: Path) -> None:
    assert found(export, Head(3, "sha256:" + "12" * 32)) == (3, Damage.REWRITTEN)
    assert found(export, Head(30, "sha256:" + "12" * 32)) == (12, Damage.CUT)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"{}\n", b'{"aileron_ledger":1,"head":"x"}\n'])
def test_another_file_is_no_export(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(LedgerError):
        Exported(path)


def test_a_newer_export_is_refused(export: Path) -> None:
    export.write_bytes(export.read_bytes().replace(b'"aileron_ledger":2', b'"aileron_ledger":3', 1))
    words = r"the export was written by a newer version of aileron-tui \(format 3; this program reads up to 2\)"
    with pytest.raises(LedgerNewer, match=words) as caught:
        Exported(export)
    assert caught.value.hint == "Update aileron-tui."


def test_a_newer_entry_in_an_export_is_named(export: Path) -> None:
    spoilt = lines(export)
    spoilt[4] = spoilt[4].replace(b'"version":2}', b'"version":3}')
    export.write_bytes(b"".join(spoilt))
    assert found(export) == (4, Damage.NEWER)


def test_an_export_is_of_one_moment(scene: Scene, tmp_path: Path) -> None:
    scene.ask("act-1")

    class Growing(io.BytesIO):
        """Something is recorded while the export is written."""

        def write(self, data: object) -> int:
            scene.ledger.append(EntryKind.FELL_BACK, {})
            return super().write(data)  # type: ignore[arg-type]  # whatever is written

    out = Growing()
    with SqliteReader(scene.ledger.path) as reader:
        head = write_jsonl(reader, out, START)
    path = tmp_path / "export.jsonl"
    path.write_bytes(out.getvalue())
    assert head.seq == 2
    assert found(path) is None


def test_the_table_has_a_line_per_request_and_no_formulas(scene: Scene) -> None:
    scene.denied("act-1", reason='=HYPERLINK("http://evil","x")')
    scene.denied("act-2", reason='\x1b]52;c;\x07 ok,\n"yes"')
    out = io.StringIO(newline="")
    with SqliteReader(scene.ledger.path) as reader:
        HistoryCsvWriter(out).write(reader.every())
    rows = list(csv.DictReader(io.StringIO(out.getvalue(), newline="")))
    assert [row["id"] for row in rows] == ["act-2", "act-1"]
    assert rows[1]["reason"] == '\'=HYPERLINK("http://evil","x")'
    assert "\x1b" not in rows[0]["reason"]
    assert "\n" not in rows[0]["reason"]
