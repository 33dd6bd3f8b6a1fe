"""How a chosen source is reached: found anew each time, and a key for this run decides no more after it."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.files.config import Config
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.runtime.daemon.daemon_discovery import Daemon, NamedDaemon, find
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.key_store import for_this_run
from aileron_tui.surface.source_choice import DaemonChoice
from aileron_tui.surface.source_connection import connection, daemon_ledger_folder
from tests.daemon.process import FakeDaemon


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "tui"))
    return tmp_path


def test_a_key_for_this_run_is_enrolled_once_and_decides_no_more_after_it(home: Path) -> None:
    with FakeDaemon(home / "home") as daemon, for_this_run("alice") as key:
        choice = DaemonChoice("here", partial(find, env=daemon.environment))
        with ExitStack() as leaving:
            connect = connection(choice, Config(), surface="console", at_exit=leaving)
            for id_ in daemon.register_many(2):
                source = connect(key)
                item = next(item for item in source.waiting() if item.id == id_)
                source.decide(item, Verdict.DENY)
                source.close()
                daemon.restart()
        assert [len(daemon.decisions(id_)) for id_ in daemon.pending()] == []
    with open_reader(daemon_ledger_folder("here", Daemon("http://127.0.0.1:1")) / FILE) as reader:
        approvers = Approvers.of(reader.key_changes())
        assert len(list(reader.key_changes())) == 2
    assert not list(approvers.active)


def test_daemons_without_a_name_do_not_share_a_ledger(home: Path) -> None:
    """Answers wait for a lock beside the ledger, so a shared one would let a stuck daemon block the others."""
    one, two = FakeDaemon(home / "one"), FakeDaemon(home / "two")
    with one, two, for_this_run("alice") as key:
        for daemon, named in ((one, False), (two, True)):
            wanted = NamedDaemon(daemon.url, token_env="T") if named else NamedDaemon()
            env = {"HOME": str(home if named else daemon.home), "T": daemon.token}
            connect = connection(DaemonChoice("", partial(find, wanted, env)), Config(), surface="console")
            daemon.register()
            source = connect(key)
            source.waiting()
            source.close()
        host, port = two.address
        assert sorted(path.name for path in (home / "tui" / "data" / "daemons").iterdir()) == [
            f"{host}:{port}",
            "daemon",
        ]
