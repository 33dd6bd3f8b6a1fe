"""What is edited before it is approved stays visible as such; what a daemon does not tell is not made up."""

import random
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import NotWaiting
from aileron_tui.surface.history_records import shown_in_ledger
from tests.daemon.process import FakeDaemon
from tests.runtime.daemon.consoles import Console

ASKED, EDITED = "Yes.\nSince noon.", "No.\nNot yet, zebra."


def record(console: Console, id_: str) -> dict[str, Any]:
    items = console.source.history()["items"]
    assert isinstance(items, list)
    return next(one for one in items if isinstance(one, dict) and one["id"] == id_)


def test_an_edited_draft_is_shown_as_asked_and_as_approved_to_the_end_and_after(
    daemon: FakeDaemon, folder: Path
) -> None:
    id_ = daemon.register("comms_draft", outcome="running")
    with Console(daemon, folder) as console:
        asked = console.item(id_).prompt
        console.decide(id_, edits={"draft_body": EDITED})
        for state in (RequestState.RUNNING, RequestState.EXECUTED):
            console.until_state(id_, state)
            for item in (console.board.requests[id_], console.source.item(id_)):
                assert item.edited_from == asked
                assert item.prompt.args["draft_body"] == EDITED
                assert item.edit is not None
                assert item.edit["changed"] == ["draft_body"]
            assert "(edited)" in console.board.pill(id_).words
            if state is RequestState.RUNNING:
                daemon.finish(id_)
        assert record(console, id_)["edited"] is True
        past = console.source.past(id_)
        approved = asked.args | {"draft_body": EDITED}
        assert past["edit"] == {"asked": asked.args, "approved": approved, "changed": ["draft_body"]}
        shown = shown_in_ledger(past)
        assert EDITED in [row.value for row in shown.inputs]
        assert ASKED in [row.value for row in shown.asked or ()]
        assert console.source.history(text="zebra")["items"]


def test_an_edit_that_came_too_late_is_not_what_was_approved(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register("comms_draft")
    with Console(daemon, folder) as console:
        item = console.source.refresh(id_, {"draft_body": EDITED})
        daemon.switch(lose_reply={"decide": 1})
        daemon.resolve(id_, approved=False, silently=True)
        with pytest.raises(NotWaiting):
            console.source.decide(item, Verdict.APPROVE, edits={"draft_body": EDITED})
        console.until_state(id_, RequestState.DENIED)
        assert console.board.requests[id_].edited_from is None
        assert record(console, id_)["edited"] is False


@pytest.mark.parametrize("watched", [True, False])
def test_an_edit_made_elsewhere_is_said_once_it_is_known(daemon: FakeDaemon, folder: Path, watched: bool) -> None:
    id_, plain = daemon.register("comms_draft"), daemon.register("comms_draft")
    if not watched:
        daemon.resolve(id_, payload={"body": "Later."})
        daemon.resolve(plain)
    with Console(daemon, folder) as console:
        if watched:
            console.until_waiting(id_, plain)
            daemon.resolve(id_, payload={"body": "Later."})
            daemon.resolve(plain)
            console.until_state(id_, RequestState.EXECUTED)
            console.until_state(plain, RequestState.EXECUTED)
        found = record(console, id_)
        assert (found["edited"], found["surface"]) == (True, "elsewhere")
        assert console.source.past(id_)["edit"] is None
        assert record(console, plain)["edited"] is False
        assert console.story(id_).count("edited elsewhere") == 1


def test_our_own_edit_is_not_taken_for_one_from_elsewhere(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register("comms_draft")
    with Console(daemon, folder) as console:
        console.decide(id_, edits={"draft_body": EDITED})
        console.until_state(id_, RequestState.EXECUTED)
        found = record(console, id_)
        assert (found["edited"], found["surface"]) == (True, "console")
        assert "edited elsewhere" not in console.story(id_)


def test_a_shell_has_its_answer_and_nothing_more_is_claimed(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register("shell")
    with Console(daemon, folder) as console:
        console.decide(id_)
        console.board.record_answer(console.board.requests[id_])
        console.until_state(id_, RequestState.RUNNING)
        assert console.board.pill(id_).words == "allowed ✓, outcome not reported"
        found = record(console, id_)
        assert (found["kind"], found["outcome"]) == ("shell", "running")
        assert found["daemon"]


@pytest.mark.parametrize("approved", [True, False])
def test_what_is_told_to_have_ended_and_still_listed_waits_on(daemon: FakeDaemon, folder: Path, approved: bool) -> None:
    id_, other = daemon.register(), daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_, other)
        daemon.wait_for_watchers()
        daemon.event("resolved", {"id": id_, "kind": "action", "approved": approved, "decided_at": ""})
        state = RequestState.RUNNING if approved else RequestState.DENIED
        console.until(
            lambda: any(item.id == id_ and item.state is state for one in console.heard for item in one.requests)
        )
        console.until_waiting(id_, other)
        assert console.board.pill(id_).words == ""
        if approved:
            assert console.decide(id_) is RequestState.RUNNING
            console.until_state(id_, RequestState.EXECUTED)


@pytest.mark.parametrize("seed", range(3))
def test_in_the_end_the_list_is_the_daemons_whatever_it_told(daemon: FakeDaemon, folder: Path, seed: int) -> None:
    dice = random.Random(seed)
    with Console(daemon, folder) as console:
        daemon.wait_for_watchers()
        for _ in range(30):
            waiting = daemon.pending()
            match dice.choice(("register", "resolve", "lie", "look")):
                case "register":
                    daemon.register(outcome=dice.choice(("completed", "running")))
                case "resolve" if waiting:
                    daemon.resolve(dice.choice(waiting), approved=dice.random() < 0.5, silently=dice.random() < 0.3)
                case "lie" if waiting:
                    daemon.event("resolved", {"id": dice.choice(waiting), "approved": dice.random() < 0.5})
                case "look":
                    assert len(console.waiting) <= 30
        console.until_waiting(*daemon.pending())
