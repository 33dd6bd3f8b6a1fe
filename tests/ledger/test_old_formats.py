"""Everything that any earlier version wrote or signed must verify for ever.

`tests/fixtures/v1` and its successors hold the bytes that each version wrote. If a test here fails, the program has
lost the ability to read somebody's history: fix the program, never the files.
"""

import csv
import io
import json
from contextlib import closing
from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_csv import HistoryCsvWriter, cell
from aileron_tui.core.jsontext import read_object
from aileron_tui.core.prompt import read_prompt
from aileron_tui.core.times import moment
from aileron_tui.ledger.export import Exported
from aileron_tui.ledger.full_check import audit, audit_export
from aileron_tui.ledger.head import Head, read_head
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.schema import VERSION as SCHEMA
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.envelope import opened, read_envelope, verify
from aileron_tui.signing.public_key import read_public
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.ledger.scenes import check_in_ranges

FIXTURES = Path(__file__).parent.parent / "fixtures"
VERSIONS = sorted(path.name for path in FIXTURES.glob("v[0-9]*"))
GATE = {
    "act-approved": "executed",
    "act-denied": "denied",
    "act-expired": "expired",
    "act-withdrawn": "withdrawn",
    "act-failed": "failed",
    "act-interrupted": "interrupted",
    "act-again": "pending",
    "act-edited": "executed",
}
DAEMON = {
    "apr-here": "executed",
    "apr-elsewhere": "denied",
    "apr-edited": "failed",
    "apr-undelivered": "pending",
    "apr-waiting": "pending",
}
DECISIONS = {"gate": 5, "daemon": 2}

pytestmark = pytest.mark.parametrize("version", VERSIONS)
each_ledger = pytest.mark.parametrize("name", ["gate", "daemon"])


def ledger_copy(tmp_path: Path, version: str, name: str) -> Path:
    """A ledger of the past as a user has it on disk."""
    path = tmp_path / "ledger.db"
    path.write_bytes((FIXTURES / version / f"{name}.db").read_bytes())
    path.chmod(0o600)
    return path


def kept_head(version: str, name: str) -> Head:
    return read_head((FIXTURES / version / f"{name}.head").read_text())


def approvers(version: str) -> Approvers:
    keys = Approvers()
    for name in ("laptop", "phone"):
        public = read_public((FIXTURES / version / f"{name}.pub").read_text())
        keys[public.fingerprint] = Approver(name, public, "2026-05-12T10:00:00.000000Z")
    return keys


@each_ledger
def test_ledgers_must_verify_for_ever(tmp_path: Path, version: str, name: str) -> None:
    with SqliteReader(ledger_copy(tmp_path, version, name)) as reader:
        report = audit(reader, RecordedSigners(), [kept_head(version, name)])
    assert report.fault is None
    assert report.head == kept_head(version, name)
    assert sum(report.decisions.values()) == DECISIONS[name]


@each_ledger
def test_exports_must_verify_for_ever(version: str, name: str) -> None:
    exported = Exported(FIXTURES / version / f"{name}.jsonl")
    report = audit_export(exported, RecordedSigners(), [kept_head(version, name)])
    assert (report.fault, report.head) == (None, kept_head(version, name))


@each_ledger
def test_signed_decisions_must_verify_for_ever(version: str, name: str) -> None:
    lines = (FIXTURES / version / f"{name}.envelopes.jsonl").read_bytes().splitlines()
    assert len(lines) == DECISIONS[name]
    for line in lines:
        envelope = read_envelope(line)
        statement = opened(envelope, approvers(version))
        assert envelope.encode() == line
        assert statement.payload() == envelope.payload
        assert verify(
            line,
            approvers(version),
            now=moment(statement.time),
            instance="gate-1",
            request=statement.request,
            digest=statement.digest,
            seen_nonce=lambda _: False,
        ).verdict in set(Verdict)


def test_the_digests_of_prompts_must_never_change(version: str) -> None:
    lines = (FIXTURES / version / "prompts.jsonl").read_bytes().splitlines()
    assert len(lines) == 4 + (version >= "v4")
    for line in lines:
        kept = read_object(line)
        prompt = read_prompt(kept["prompt"])
        assert prompt.digest == kept["digest"]
        assert prompt.fields() == kept["prompt"]


@pytest.mark.parametrize(("name", "outcomes"), [("gate", GATE), ("daemon", DAEMON)])
def test_the_history_of_an_old_ledger_is_listed(
    tmp_path: Path, version: str, name: str, outcomes: dict[str, str]
) -> None:
    with SqliteReader(ledger_copy(tmp_path, version, name)) as reader:
        assert {record.id: record.outcome for record in reader.page()} == outcomes
        edited = [record.id for record in reader.every() if record.edited]
        assert edited == [id_ for id_ in outcomes if id_.endswith("edited")]
        found = reader.page(HistoryFilter("recipient" if name == "gate" else "500"))
        assert [record.id for record in found] == ["act-denied" if name == "gate" else "apr-edited"]


@each_ledger
def test_the_table_of_an_old_ledger_still_says_the_same(tmp_path: Path, version: str, name: str) -> None:
    text = (FIXTURES / version / f"{name}.csv").read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    with SqliteReader(ledger_copy(tmp_path, version, name)) as reader:
        records = list(reader.every())
        out = io.StringIO(newline="")
        HistoryCsvWriter(out).write(records)
    assert [row["id"] for row in rows] == [record.id for record in records]
    for row, record in zip(rows, records, strict=True):
        # What the first versions called the agent was the agent's own claim, which has a column of its own now.
        claimed = {} if "says" in row else {"agent": cell(record.says)}
        assert record.agent == ""
        assert row == {column: cell(getattr(record, column)) for column in row} | claimed
    assert text.splitlines()[0] in out.getvalue()


@each_ledger
def test_an_old_ledger_goes_on_and_its_index_can_be_rebuilt(tmp_path: Path, version: str, name: str) -> None:
    path = ledger_copy(tmp_path, version, name)
    with SqliteReader(path) as reader:
        before = list(reader.every())
    with closing(SqliteLedger(path)) as ledger:
        ledger.rebuild_index()
        ledger.append(EntryKind.REQUESTED, {"action": "send-draft"}, "act-new")
        ledger.append(EntryKind.EXPIRED, {}, "act-new")
    with SqliteReader(path) as reader:
        assert list(reader.every())[1:] == before
        found = reader.find("act-new")
        assert found is not None
        assert found.outcome == "expired"
        report = audit(reader, RecordedSigners(), [kept_head(version, name)])
        assert (report.fault, report.head.seq) == (None, kept_head(version, name).seq + 2)


@each_ledger
def test_an_old_ledger_is_upgraded_in_place_when_it_is_opened_for_writing(
    tmp_path: Path, version: str, name: str
) -> None:
    path = ledger_copy(tmp_path, version, name)
    with SqliteReader(path) as reader:
        stored = list(reader.rows())
    SqliteLedger(path).close()
    with SqliteReader(path) as reader:
        assert reader.indexed()
        assert reader.db.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
        assert list(reader.rows()) == stored, "no entry is ever changed"
        assert check_in_ranges(reader, 4, [kept_head(version, name)]).fault is None


@each_ledger
def test_a_backup_of_an_old_ledger_verifies(tmp_path: Path, version: str, name: str) -> None:
    path, out = ledger_copy(tmp_path, version, name), tmp_path / "backup.db"
    with SqliteReader(path) as reader:
        reader.copy_to(out)
    with SqliteReader(out) as copy:
        assert check_in_ranges(copy, 4, [kept_head(version, name)]).fault is None


def test_the_bytes_in_a_ledger_are_those_in_its_export(tmp_path: Path, version: str) -> None:
    with SqliteReader(ledger_copy(tmp_path, version, "gate")) as reader:
        stored = list(reader.rows())
    assert list(Exported(FIXTURES / version / "gate.jsonl").rows()) == stored
    assert [json.loads(data)["seq"] for _, data, _ in stored] == list(range(1, len(stored) + 1))
