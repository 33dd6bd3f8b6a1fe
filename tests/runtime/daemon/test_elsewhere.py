"""Answers that were given elsewhere."""

from pathlib import Path

from aileron_tui.core.states import RequestState
from tests.daemon.process import FakeDaemon
from tests.runtime.daemon.consoles import Console


def test_the_reason_of_a_denial_elsewhere_is_shown(daemon: FakeDaemon, folder: Path) -> None:
    told, silent = daemon.register_many(2)
    with Console(daemon, folder, list_every=0.1) as console:
        daemon.wait_for_watchers()
        console.until_waiting(told, silent)
        daemon.resolve(told, approved=False, reason="Not on a Friday.")
        daemon.resolve(silent, approved=False, reason="Not \x1b[31mtoday.", silently=True)
        for id_ in (told, silent):
            console.until_state(id_, RequestState.DENIED)
        assert console.board.pill(told).words == "answered elsewhere: denied: Not on a Friday."
        assert console.board.pill(silent).words == "answered elsewhere: denied: Not ⟨ESC⟩[31mtoday."
