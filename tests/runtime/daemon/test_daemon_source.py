"""What the console needs of a daemon: what waits, one request, its past; and in a storm, that it is all true."""

from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.risk import RiskLevel, RiskRule
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.daemon.daemon_discovery import Daemon, find
from aileron_tui.runtime.daemon.daemon_source import DaemonSource
from aileron_tui.runtime.errors import NotFound
from aileron_tui.signing.key_store import for_this_run
from aileron_tui.surface.source import LeavesAlerts, Source
from tests.daemon.process import FakeDaemon
from tests.runtime.daemon.consoles import Console, story, verified
from tests.runtime.daemon.storm import storm

KINDS = ("action", "comms_send", "comms_draft", "http_request", "shell")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("seed", [1, pytest.param(20260512, marks=pytest.mark.slow)])
def test_after_a_storm_the_operator_sees_what_the_daemon_has(tmp_path: Path, seed: int) -> None:
    figures = storm(tmp_path, 800, seed)
    assert figures.events >= 800
    assert figures.lost > 0
    assert figures.restarts == 1


def test_a_daemon_is_a_source(daemon: FakeDaemon, folder: Path) -> None:
    found = find(env=daemon.environment)
    source: Source = DaemonSource(found, for_this_run("alice"), folder, name="here")
    assert source.name == "here"
    assert source.instance == f"{daemon.url} {found.started_at}"
    source.close()


def test_what_waits_is_listed_oldest_first_and_recorded_as_shown(daemon: FakeDaemon, folder: Path) -> None:
    ids = [daemon.register(kind) for kind in KINDS]
    with DaemonSource(
        find(env=daemon.environment), for_this_run("alice"), folder, name="here", surface="cli"
    ) as source:
        items = source.waiting()
        assert [item.id for item in items] == ids
        assert [item.prompt.kind for item in items] == list(KINDS)
        assert {(item.source, item.key) for item in items} == {("here", f"here {id_}") for id_ in ids}
        assert all(item.daemon and item.instance == source.instance for item in items)
        source.waiting()
    assert story(folder, ids[1]) == ["asked", "shown"]
    verified(folder)


def test_every_event_bears_the_name_of_its_source(daemon: FakeDaemon, folder: Path) -> None:
    first = daemon.register()
    with Console(daemon, folder, name="here") as console:
        second = daemon.register()
        console.until(lambda: len(console.waiting) == 2)
        daemon.resolve(first)
        console.until(lambda: console.state(f"here {first}") is RequestState.EXECUTED)
        assert {event.source for event in console.heard} == {"here"}
        assert {item.source for event in console.heard for item in event.requests} == {"here"}
        assert console.waiting == [f"here {second}"]


def test_one_request_as_it_is_now(daemon: FakeDaemon, folder: Path) -> None:
    waits, ended = daemon.register(), daemon.register(outcome="failed", error_message="it broke")
    with Console(daemon, folder) as console:
        console.until_waiting(waits, ended)
        assert console.source.item(waits).state is RequestState.PENDING
        assert console.source.item(waits).digest == console.board.requests[waits].digest
        daemon.resolve(ended)
        assert console.source.item(ended).state is RequestState.FAILED
        with pytest.raises(NotFound):
            console.source.item("act-never")


def test_a_preview_is_fetched_only_by_the_daemon(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        assert not console.item(id_).refreshable
        with pytest.raises(AileronError, match="only once"):
            console.source.refresh(id_)


def test_the_users_rules_say_how_risky_it_is(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    rules = (RiskRule(RiskLevel.LOW, action="send-draft"),)
    with Console(daemon, folder, rules=rules) as console:
        assert console.item(id_).prompt.risk.level is RiskLevel.LOW


def test_a_daemon_that_needs_no_token_gets_none(tmp_path: Path, folder: Path) -> None:
    with FakeDaemon(tmp_path / "home", unprotected=True) as daemon, Console(daemon, folder) as console:
        assert find(env=daemon.environment).token == ""
        assert console.decide(daemon.register()) is RequestState.RUNNING


def test_the_past_has_answers_of_everybody(tmp_path: Path, folder: Path) -> None:
    with FakeDaemon(tmp_path / "home") as daemon:
        before = daemon.register()
        daemon.resolve(before, approved=False, reason="no")  # while no console was there
        mine, theirs = daemon.register(), daemon.register()
        with Console(daemon, folder) as console:
            console.decide(mine, reason="yes")
            console.until_waiting(theirs)
            daemon.resolve(theirs)
            console.until_state(mine, RequestState.EXECUTED)
            console.until_state(theirs, RequestState.EXECUTED)
            page = console.source.history()
            assert isinstance(page["items"], list)
            found = {one["id"]: one for one in page["items"] if isinstance(one, dict)}
            assert found[before]["outcome"] == "denied"
            assert found[mine]["outcome"] == found[theirs]["outcome"] == "executed"
            assert found[before]["surface"] == found[theirs]["surface"] == "elsewhere"
            assert found[mine]["surface"] == "console"
            assert console.source.past(mine)
            with pytest.raises(NotFound):
                console.source.past("act-never")


def test_the_past_can_be_read_when_the_daemon_cannot(tmp_path: Path, folder: Path) -> None:
    with FakeDaemon(tmp_path / "home") as daemon, Console(daemon, folder, again=False) as console:
        id_ = daemon.register()
        console.decide(id_, Verdict.DENY)
        with console.connect() as source:
            daemon.kill()
            page = source.history()
        assert isinstance(page["items"], list)
        assert [one["id"] for one in page["items"] if isinstance(one, dict)] == [id_]


def test_a_source_that_cannot_begin_leaves_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AileronError):
        DaemonSource(Daemon("http://127.0.0.1:1"), for_this_run("alice"), tmp_path / "file" / "record")


def test_its_surface_records_whom_it_alerts(daemon: FakeDaemon, folder: Path) -> None:
    with Console(daemon, folder, name="here") as console:
        source = console.source
        assert isinstance(source, LeavesAlerts)
        source.first_alert = lambda: {"alerted": "console"}
        id_ = daemon.register()
        console.until(lambda: len(console.waiting) == 1)
        source.record_alert(id_, before="console", to="webhook", reason="nobody reacted for 60 s")
        entries = source.past(id_)["entries"]
        assert isinstance(entries, list)
        bodies = [entry["body"] for entry in entries if isinstance(entry, dict)]
        assert {"from": "console", "to": "webhook", "reason": "nobody reacted for 60 s"} in bodies
        assert [body["alerted"] for body in bodies if isinstance(body, dict) and "alerted" in body] == ["console"]
    verified(folder)
