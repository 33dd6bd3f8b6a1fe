"""Requests that are older than their daemon: after a restart it lists them all, but only actions still run."""

from pathlib import Path

import pytest

from aileron_tui.core.daemon_kinds import NO_EFFECT
from aileron_tui.core.decision import Verdict
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import utc_now
from aileron_tui.runtime.errors import PromptChanged
from tests.daemon.process import FakeDaemon
from tests.runtime.daemon.consoles import Console

BEFORE = "2026-05-12T10:15:30Z"
OTHERS = ("shell", "comms_send", "comms_draft", "http_request")


@pytest.mark.parametrize("kind", OTHERS)
def test_an_approval_that_nobody_waits_for_is_not_said_to_have_run(tmp_path: Path, folder: Path, kind: str) -> None:
    with FakeDaemon(tmp_path / "home") as daemon:
        id_ = daemon.register(kind, requested_at=BEFORE)
        daemon.restart()
        with Console(daemon, folder) as console:
            assert console.item(id_).cautions_at(utc_now())[0] == NO_EFFECT
            assert console.decide(id_) is RequestState.UNKNOWN
            console.until_state(id_, RequestState.UNKNOWN)
            assert console.board.pill(id_).words == "no effect: nobody was waiting for the answer"
            assert console.story(id_)[-2:] == ["decided approve", "told unknown"]
            assert console.entries(id_)[-1].body["error"] == NO_EFFECT
            assert console.source.item(id_).state is RequestState.UNKNOWN
        assert daemon.effects(id_) == []


def test_an_approval_elsewhere_that_nobody_waits_for(tmp_path: Path, folder: Path) -> None:
    with FakeDaemon(tmp_path / "home") as daemon:
        id_ = daemon.register("shell", requested_at=BEFORE)
        daemon.restart()
        with Console(daemon, folder) as console:
            console.item(id_)
            daemon.wait_for_watchers()
            daemon.resolve(id_)
            console.until_state(id_, RequestState.UNKNOWN)
            assert "no effect" in console.board.pill(id_).words


def test_a_denial_of_an_old_request_is_a_denial(tmp_path: Path, folder: Path) -> None:
    with FakeDaemon(tmp_path / "home") as daemon:
        id_ = daemon.register("comms_send", requested_at=BEFORE)
        daemon.restart()
        with Console(daemon, folder) as console:
            assert console.decide(id_, Verdict.DENY) is RequestState.DENIED
            console.until_state(id_, RequestState.DENIED)


def test_an_action_still_runs_after_a_restart(tmp_path: Path, folder: Path) -> None:
    with FakeDaemon(tmp_path / "home") as daemon:
        id_ = daemon.register(requested_at=BEFORE)
        daemon.restart()
        with Console(daemon, folder) as console:
            assert console.item(id_).cautions_at(utc_now()) == ()
            assert console.decide(id_) is RequestState.RUNNING
            console.until_state(id_, RequestState.EXECUTED)
        assert len(daemon.effects(id_)) == 1


def test_a_clock_that_was_set_back_does_not_hide_a_restart(tmp_path: Path, folder: Path) -> None:
    """The console saw the request before the restart, so it must be older, whatever time it claims."""
    with FakeDaemon(tmp_path / "home") as daemon:
        id_ = daemon.register("shell", requested_at="2099-01-01T00:00:00Z")
        with Console(daemon, folder) as console:
            assert not console.item(id_).abandoned
            first = console.item(id_).instance
            while console.item(id_).instance.rpartition(" ")[2] == first.rpartition(" ")[2]:
                daemon.restart()
                console.until(lambda: console.source.instance != first and not console.stale)
                console.until_waiting(id_)
            assert console.item(id_).abandoned
            assert NO_EFFECT in console.item(id_).cautions_at(utc_now())


@pytest.mark.parametrize("verdict", list(Verdict))
def test_an_answer_for_the_old_daemon_does_not_go_to_the_new_one(
    tmp_path: Path, folder: Path, verdict: Verdict
) -> None:
    """The new daemon has the same port and token, and another call under the same id."""
    with FakeDaemon(tmp_path / "home") as daemon:
        id_ = daemon.register(args={"draft_id": "harmless"})
        with Console(daemon, folder, again=False) as console:
            item, source = console.item(id_), console.source
            told = daemon.file.read_text()
            daemon.forget(id_)
            daemon.file.write_text(told.replace('"started_at":"20', '"started_at":"19'))
            daemon.register(id=id_, args={"draft_id": "everything"})
            with pytest.raises(PromptChanged, match="the daemon has restarted"):
                source.decide(item, verdict)
        assert daemon.decisions(id_) == []
