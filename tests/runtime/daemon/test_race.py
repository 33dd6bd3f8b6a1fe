"""Two consoles, two more of one home, and the daemon's own command line answer the same requests at once."""

from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.daemon.answer_lock import FILE, AnswerLock, AnswerLockError
from aileron_tui.runtime.errors import NotWaiting
from tests.daemon.process import FakeDaemon
from tests.runtime.daemon.consoles import Console, Deciding
from tests.runtime.daemon.contest import contest


@pytest.mark.timeout(240)
@pytest.mark.parametrize("rounds", [30, pytest.param(120, marks=pytest.mark.slow)])
def test_each_request_is_decided_once_and_everybody_knows_how(tmp_path: Path, rounds: int) -> None:
    figures = contest(tmp_path, rounds, seed=7)
    assert figures.rounds == figures.won.total() == rounds


@pytest.mark.parametrize("verdict", Verdict)
def test_consoles_of_one_home_take_turns(daemon: FakeDaemon, folder: Path, verdict: Verdict) -> None:
    """While the answer of one is on its way, the other does not take it for lost."""
    id_ = daemon.register(outcome="running")
    daemon.switch(delay={"decide": 0.5})
    with Console(daemon, folder) as first, Console(daemon, folder) as second:
        item, other = first.item(id_), second.item(id_)
        with Deciding(first, item) as sent:
            first.until(lambda: bool(first.source._answer_sender.in_flight))
            with pytest.raises(NotWaiting) as late:
                second.source.decide(other, verdict)
        assert sent.state is RequestState.RUNNING
        assert late.value.state == "running"
        assert len(daemon.decisions(id_)) == 1
        for console in (first, second):
            console.until_state(id_, RequestState.RUNNING)
        assert first.story(id_) == ["asked", "preview", "shown", "decided approve", "told running"]


def test_a_console_that_hangs_does_not_hold_the_others_for_ever(tmp_path: Path) -> None:
    with AnswerLock(tmp_path).held(), pytest.raises(AnswerLockError), AnswerLock(tmp_path, timeout=0.05).held():
        pass
    with AnswerLock(tmp_path, timeout=0.05).held():
        assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_without_a_place_for_turns_nothing_is_answered(daemon: FakeDaemon, folder: Path, tmp_path: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        item = console.item(id_)
        (tmp_path / "elsewhere").touch()
        (folder / FILE).symlink_to(tmp_path / "elsewhere")
        with pytest.raises(AnswerLockError):
            console.source.decide(item, Verdict.APPROVE)
        assert daemon.decisions(id_) == []
