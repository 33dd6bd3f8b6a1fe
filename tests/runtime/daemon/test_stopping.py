"""A daemon that is stopping refuses connections, while its event stream stays open."""

from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.runtime.errors import NoGate
from tests.daemon.process import PATIENCE, FakeDaemon
from tests.runtime.daemon.consoles import Console


def test_a_refused_connection_is_offline_even_if_the_stream_is_open(tmp_path: Path, folder: Path) -> None:
    with (
        FakeDaemon(tmp_path / "home", heartbeat=0.05, linger=PATIENCE) as daemon,
        Console(daemon, folder, list_every=10_000.0, again=False) as console,
    ):
        id_ = daemon.register()
        console.until_waiting(id_)
        daemon.end()
        console.until(lambda: bool(console.faults))
        assert isinstance(console.faults[0], NoGate)
        assert "cannot connect" in str(console.faults[0])
        assert "the connection was closed" not in str(console.faults[0])


def test_an_answer_that_is_refused_takes_the_source_offline(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aileron_tui.runtime.daemon.daemon_client._CHECK_HERE", 10_000.0)
    with (
        FakeDaemon(tmp_path / "home", heartbeat=0.05, linger=PATIENCE) as daemon,
        Console(daemon, folder, list_every=10_000.0, again=False) as console,
    ):
        id_ = daemon.register()
        item, beats = console.item(id_), console.beats
        daemon.wait_for_watchers()
        daemon.end()
        console.until(lambda: console.beats > beats + 5)
        with pytest.raises(NoGate, match="cannot connect"):
            console.source.decide(item, Verdict.APPROVE)
        console.until(lambda: bool(console.faults))
        assert isinstance(console.faults[0], NoGate)
        assert console.story(id_)[-2:] == ["decided approve", "told pending"]
    assert daemon.decisions(id_) == []
