"""The store that the program opens keeps the contract, and its users see nothing of the database behind it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.open_store import is_ledger, open_id_set, open_ledger, open_reader, open_results
from aileron_tui.ledger.store import IdSet, ResultStore
from tests.ledger.store_contract import ContractIdSet, ContractLedger, ContractResults, OpenLedger, OpenReader


class TestLedger(ContractLedger):
    """The ledger."""

    @pytest.fixture
    def opener(self) -> OpenLedger:
        return open_ledger

    @pytest.fixture
    def reading(self) -> OpenReader:
        return open_reader

    def test_a_ledger_is_told_from_another_file(self, opener: OpenLedger, path: Path, tmp_path: Path) -> None:
        opener(path).close()
        export = tmp_path / "export.jsonl"
        export.write_text("{}\n")
        assert (is_ledger(path), is_ledger(export)) == (True, False)
        with pytest.raises(LedgerError):
            is_ledger(tmp_path / "missing")


class TestResults(ContractResults):
    """The results."""

    @pytest.fixture
    def results(self, tmp_path: Path) -> Iterator[ResultStore]:
        with closing(open_results(tmp_path / "data" / "answers.db")) as results:
            yield results

    def test_results_survive_a_restart_and_failures_come_in_words(self, tmp_path: Path) -> None:
        path = tmp_path / "data" / "answers.db"
        with closing(open_results(path)):
            pass
        path.write_bytes(b"not a database" * 100)
        with pytest.raises(LedgerError, match="results cannot be stored or read"):
            open_results(path)


class TestIdSet(ContractIdSet):
    """The set of ids."""

    @pytest.fixture
    def ids(self) -> Iterator[IdSet]:
        with closing(open_id_set()) as ids:
            yield ids


def test_the_protocols_are_there_without_the_database() -> None:
    code = "import sys, aileron_tui.ledger.store, aileron_tui.ledger.entry_check, aileron_tui.ledger.history_pages\n"
    code += "sys.exit('sqlite3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
