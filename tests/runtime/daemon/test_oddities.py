"""Whatever a daemon is known to do oddly, the operator sees what really waits and what became of the rest."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.daemon.daemon_client import LOCKED, UNKNOWN, WrongPassphrase
from aileron_tui.runtime.daemon.daemon_discovery import Daemon, find
from aileron_tui.runtime.daemon.daemon_source import DaemonSource
from aileron_tui.runtime.errors import ApprovalsOff, InvalidReply, NoReply, NotAllowed, RuntimeFault, VaultLocked
from aileron_tui.runtime.vault import VaultState
from aileron_tui.signing.key_store import for_this_run
from tests.daemon.process import FakeDaemon
from tests.runtime.daemon.consoles import Console

NEVER = 10_000.0
HTML = {"status": 200, "body": "<!doctype html><html></html>", "type": "text/html; charset=utf-8"}


# events


def test_an_arrival_that_nobody_told_is_found_by_the_list(daemon: FakeDaemon, folder: Path) -> None:
    with Console(daemon, folder) as console:
        daemon.wait_for_watchers()
        daemon.switch(drop_events=1)
        console.until_waiting(daemon.register())
        assert daemon.counters()["dropped"] >= 1


def test_an_answer_that_nobody_told_is_found_by_the_list(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.resolve(id_, approved=False, reason="not today", silently=True)
        console.until_state(id_, RequestState.DENIED)
        assert console.note(id_) == "not today"
        assert console.story(id_) == ["asked", "preview", "shown", "told denied +"]


def test_what_is_told_again_and_again_is_heard_once(daemon: FakeDaemon, folder: Path) -> None:
    first = daemon.register(outcome="running")
    daemon.switch(duplicate_events=3, repeat_snapshot=True)
    with Console(daemon, folder) as console:
        daemon.wait_for_watchers()
        second = daemon.register(outcome="running")
        console.until_waiting(first, second)
        daemon.resolve(first)
        console.until_state(first, RequestState.RUNNING)
        daemon.finish(first)
        console.until_state(first, RequestState.EXECUTED)
        told = [(event.name, item.id, item.state) for event in console.heard for item in event.requests]
        assert told == [
            ("snapshot", first, RequestState.PENDING),
            ("pending", second, RequestState.PENDING),
            ("updated", first, RequestState.RUNNING),
            ("updated", first, RequestState.EXECUTED),
        ]
        assert console.story(second) == ["asked", "preview", "shown"]


def test_an_old_answer_told_late_does_not_undo_the_end(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.wait_for_watchers()
        daemon.resolve(id_)
        console.until_state(id_, RequestState.EXECUTED)
        daemon.event("resolved", {"id": id_, "kind": "action", "approved": True, "decided_at": ""})
        console.until_waiting(daemon.register())
        told = [item.state for event in console.heard for item in event.requests if item.id == id_]
        assert told[-1] is RequestState.EXECUTED
        assert len(told) <= 3


def test_more_events_than_the_daemon_keeps_are_lost_and_found(daemon: FakeDaemon, folder: Path) -> None:
    with Console(daemon, folder) as console:
        daemon.wait_for_watchers()
        ids = daemon.register_many(100, burst=True)
        assert daemon.counters()["dropped"] > 0
        console.until_waiting(*ids)
        assert console.waiting == ids
        daemon.switch(stall_streams=True)
        for id_ in ids[:60]:
            daemon.resolve(id_)
        daemon.switch(stall_streams=False)
        console.until_waiting(*ids[60:])
        for id_ in ids[:60]:
            console.until_state(id_, RequestState.EXECUTED)


def test_heartbeats_without_end_and_without_news(daemon: FakeDaemon, folder: Path) -> None:
    daemon.switch(silent_streams=True, heartbeat=0.01)
    with Console(daemon, folder) as console:
        id_ = daemon.register()
        console.until(lambda: console.beats > 20)
        console.until_waiting(id_)
        daemon.resolve(id_)
        console.until_state(id_, RequestState.EXECUTED)
        assert not console.faults


def test_a_stream_that_says_nothing_at_all_is_dead(daemon: FakeDaemon, folder: Path) -> None:
    daemon.switch(silent_streams=True, heartbeat=0)
    with Console(daemon, folder, silence=0.2, list_every=NEVER) as console:
        id_ = daemon.register()
        console.until(lambda: bool(console.faults))
        assert isinstance(console.faults[0], NoReply)
        console.until_waiting(id_)  # the next connection has it
        daemon.reset()
        console.until(lambda: not console.stale)


def test_a_stream_with_heartbeats_outlives_the_longest_silence(daemon: FakeDaemon, folder: Path) -> None:
    daemon.switch(heartbeat=0.05)
    with Console(daemon, folder, silence=3.0) as console:
        console.until(lambda: console.beats > 70)
        assert not console.faults


def test_an_answer_between_the_list_and_the_stream_is_not_missed(daemon: FakeDaemon, folder: Path) -> None:
    first, second = daemon.register(), daemon.register()
    daemon.switch(delay={"watch": 0.5})
    with Console(daemon, folder, list_every=NEVER) as console:
        daemon.resolve(first, approved=False)
        assert daemon.counters()["watchers"] == 0
        console.until_state(first, RequestState.DENIED)
        console.until_waiting(second)


def test_a_stream_that_ends_is_opened_again(daemon: FakeDaemon, folder: Path) -> None:
    with Console(daemon, folder, list_every=NEVER) as console:
        for clean in (True, False):
            daemon.wait_for_watchers()
            daemon.disconnect(clean=clean)
            console.until_waiting(daemon.register())
            daemon.forget()
        assert all(isinstance(fault, NoReply) for fault in console.faults)
        assert console.faults


@pytest.mark.parametrize(
    "frame",
    [
        "event: something-new\ndata: {}\n\n",
        "event: pending\ndata: {}\n\n",
        'event: pending\ndata: {"id": 7}\n\n',
        "event: resolved\ndata: {}\n\n",
        'event: resolved\ndata: {"id": "act-never", "approved": "yes"}\n\n',
        'event: resolved\ndata: {"id": "act-never", "approved": true}\n\n',
        'event: snapshot\ndata: {"items": 7}\n\n',
        "event: pending\ndata: not json\n\n",
        "data: {}\n\n",
        "retry: 10\nid: 7\n\n",
        "nonsense\n\n",
        "event: pending\n\n",
    ],
)
def test_an_event_that_means_nothing_changes_nothing(daemon: FakeDaemon, folder: Path, frame: str) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.wait_for_watchers()
        daemon.frame(frame)
        after = daemon.register()
        console.until_waiting(id_, after)
        assert not console.faults
        assert console.board.unreadable_count == 0


def test_a_snapshot_in_the_middle_takes_nothing_that_came_after_the_first(daemon: FakeDaemon, folder: Path) -> None:
    with Console(daemon, folder, list_every=NEVER) as console:
        daemon.wait_for_watchers()
        id_ = daemon.register()
        console.until_waiting(id_)
        daemon.event("snapshot", {"items": []})
        after = daemon.register()
        console.until(lambda: after in console.waiting)
        assert console.waiting == [id_, after]


# requests


def test_a_request_without_a_kind_is_an_action(daemon: FakeDaemon, folder: Path) -> None:
    daemon.switch(omit_kind=True, omit_args=True)
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        prompt = console.item(id_).prompt
        assert (prompt.kind, prompt.action, prompt.args) == ("action", "send-draft", {})
        daemon.resolve(id_)
        console.until_state(id_, RequestState.EXECUTED)


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("2026-05-12T12:15:30.123456789+02:00", "2026-05-12T10:15:30.123456Z"),
        ("2026-05-12T12:15:30.5+05:30", "2026-05-12T06:45:30.500000Z"),
        ("2026-05-12T12:15:30-03:30", "2026-05-12T15:45:30.000000Z"),
        ("2026-05-12T12:15:30.000000001Z", "2026-05-12T12:15:30.000000Z"),
    ],
)
def test_times_of_any_offset_and_precision(daemon: FakeDaemon, folder: Path, told: str, meant: str) -> None:
    id_ = daemon.register(requested_at=told)
    with Console(daemon, folder) as console:
        assert console.item(id_).requested_at == meant
        assert console.entries(id_)[0].body["asked"] == meant


def test_a_kind_and_fields_nobody_knows_are_shown_whole(daemon: FakeDaemon, folder: Path) -> None:
    daemon.switch(extra_fields={"priority": 9})
    id_ = daemon.register("telepathy", args={"to": "bob", "thought": {"deep": [1]}}, session_id="", input_fields=[])
    with Console(daemon, folder) as console:
        prompt = console.item(id_).prompt
        assert prompt.kind == "telepathy"
        assert prompt.risk.level is RiskLevel.HIGH
        assert {row.label for row in prompt.inputs} == {"to", "thought"}
        assert console.decide(id_, Verdict.DENY) is RequestState.DENIED
        assert daemon.decisions(id_)[0]["applied"]


def test_a_status_nobody_knows_is_said_as_it_is(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register(outcome="running")
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.switch(result_status="paused_for_lunch")
        daemon.resolve(id_)
        console.until(lambda: "paused_for_lunch" in console.note(id_))
        assert console.state(id_) is RequestState.RUNNING
        daemon.switch(result_status="")
        daemon.finish(id_)
        console.until_state(id_, RequestState.EXECUTED)
        assert console.note(id_) == ""


def test_who_asks_is_shown_as_agent_and_folder(daemon: FakeDaemon, folder: Path) -> None:
    known, unknown = daemon.register(), daemon.register(session_id="01JNOBODY")
    with Console(daemon, folder) as console:
        asker = console.item(known).prompt.asker
        assert (asker.agent, asker.says, asker.folder) == ("", "claude", "/home/alice/projects/mail")
        asker = console.item(unknown).prompt.asker
        assert (asker.says, asker.session, asker.folder) == ("", "01JNOBODY", "")


@pytest.mark.parametrize(
    "switches",
    [
        {"sessions_disabled": True},
        {"answers": {"session": HTML, "action": HTML}},
        {"answers": {"session": {"status": 403, "body": {}}, "action": {"status": 401, "body": {}}}},
        {"answers": {"session": {"status": 412, "body": {"error": {"class": "binding_required", "message": "no"}}}}},
        {"garbage": {"session": "deep", "action": "binary"}},
        {"garbage": {"session": "wrong_types", "action": "wrong_types"}},
        {"hang_up": {"session": -1, "action": -1}},
    ],
    ids=str,
)
def test_labels_never_stand_in_the_way(daemon: FakeDaemon, folder: Path, switches: dict[str, Any]) -> None:
    daemon.switch(**switches)
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        item = console.item(id_)
        assert (item.prompt.action, item.prompt.asker.session) == ("send-draft", "01J0ABCDEFGHJKMNPQRSTVWXYZ")
        assert console.decide(id_) is RequestState.RUNNING
        console.until_state(id_, RequestState.EXECUTED)


def test_a_daemon_that_is_slow_to_tell_names_is_not_asked_for_each(daemon: FakeDaemon, folder: Path) -> None:
    daemon.switch(delay={"session": 1.2})
    ids = [daemon.register(session_id=f"01J{number:023d}") for number in range(30)]
    asked = len(daemon.asked("session"))
    with Console(daemon, folder) as console:
        console.until_waiting(*ids)
        assert len(daemon.asked("session")) == asked + 1


def test_names_that_an_agent_makes_up_do_not_hold_up_the_list(daemon: FakeDaemon, folder: Path) -> None:
    ids = [daemon.register(session_id=f"made-up-{number}", preview=None) for number in range(300)]
    asked = len(daemon.asked("session"))
    with Console(daemon, folder) as console:
        console.until_waiting(*ids)
        assert len(daemon.asked("session")) - asked < len(ids)
        assert console.item(ids[-1]).prompt.asker.session == "made-up-299"


def test_a_request_that_reads_differently_is_shown_anew(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register(args={"draft_id": "r-1"})
    with Console(daemon, folder) as console:
        before = console.item(id_)
        daemon.switch(extra_fields={"args": {"draft_id": "r-2"}})
        console.until(lambda: console.board.requests[id_].digest != before.digest)
        assert console.board.requests[id_].prompt.args == {"draft_id": "r-2"}
        assert console.waiting == [id_]
        assert console.story(id_) == ["asked", "preview", "shown", "shown"]


# what became of it


def test_an_answer_given_elsewhere_is_followed_to_its_end(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register(run_time=0.3)
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.wait_for_watchers()
        daemon.resolve(id_, reason="looks fine")
        console.until_state(id_, RequestState.EXECUTED)
        told = [
            (item.state, item.reason) for event in console.heard if event.name == "updated" for item in event.requests
        ]
        assert told == [
            (RequestState.RUNNING, ""),
            (RequestState.EXECUTED, ""),
        ]  # a reason to approve is not about how it goes
        assert console.board.pill(id_).words == "answered elsewhere: done ✓"
        assert console.story(id_)[-2:] == ["told running +", "told executed +"]


def test_a_failure_says_why(daemon: FakeDaemon, folder: Path) -> None:
    error = {"class": "external_api_error", "message": "Gmail said 404", "retriable": False, "boundary": "external"}
    first = daemon.register(outcome="failed", failure={"error": error})
    second = daemon.register(outcome="failed", error_message="it broke")
    with Console(daemon, folder) as console:
        console.until_waiting(first, second)
        for id_ in (first, second):
            console.decide(id_)
            console.until_state(id_, RequestState.FAILED)
        assert console.board.requests[first].fields["error"] == "external_api_error: Gmail said 404"
        assert console.board.requests[second].fields["error"] == "it broke"
        assert [entry.body.get("error") for entry in console.entries(first)][-1] == "external_api_error: Gmail said 404"


def test_a_request_that_is_gone_without_trace(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.forget(id_)
        console.until_state(id_, RequestState.WITHDRAWN)
        assert console.note(id_) == UNKNOWN
        assert console.story(id_)[-1] == "told withdrawn"


def test_what_we_answered_and_the_daemon_forgot_has_an_unknown_outcome(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register(outcome="running")
    with Console(daemon, folder) as console:
        console.decide(id_)
        console.until_state(id_, RequestState.RUNNING)
        daemon.forget(id_)
        console.until_state(id_, RequestState.INTERRUPTED)
        assert console.story(id_)[-2:] == ["told running", "told interrupted"]


def test_many_that_ended_while_nobody_listened_are_all_found_out(daemon: FakeDaemon, folder: Path) -> None:
    ids = daemon.register_many(50)
    with Console(daemon, folder) as console:
        console.until_waiting(*ids)
        daemon.switch(answers={"watch": {"status": 503, "body": {}}, "list": {"status": 503, "body": {}}})
        daemon.disconnect()
        console.until(lambda: console.stale)
        for number, id_ in enumerate(ids):
            daemon.resolve(id_, approved=number % 2 == 0)
        daemon.switch(answers={})
        for number, id_ in enumerate(ids):
            console.until_state(id_, RequestState.EXECUTED if number % 2 == 0 else RequestState.DENIED)


def test_what_runs_while_nobody_listens_is_followed_afterwards(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register(outcome="running")
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.resolve(id_, silently=True)
        daemon.disconnect()
        console.until_state(id_, RequestState.RUNNING)
        daemon.finish(id_)
        console.until_state(id_, RequestState.EXECUTED)


def test_a_shell_that_gave_up_takes_an_answer_that_changes_nothing(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register("shell", live=False)
    with Console(daemon, folder) as console:
        assert console.decide(id_) is RequestState.RUNNING
        console.until_state(id_, RequestState.RUNNING)
        console.until_waiting()
        assert daemon.decisions(id_)[0]["applied"]
        assert daemon.effects(id_) == []


# the vault


def test_what_waits_for_the_vault_says_so_and_goes_on(daemon: FakeDaemon, folder: Path) -> None:
    daemon.switch(vault="locked")
    id_ = daemon.register()
    unlocks = daemon.counters()["unlocks"]
    with Console(daemon, folder) as console:
        assert console.source.vault() is VaultState.LOCKED
        assert console.decide(id_) is RequestState.RUNNING
        console.until(lambda: LOCKED in console.note(id_))
        assert LOCKED in console.board.pill(id_).words
        with pytest.raises(WrongPassphrase):
            console.source.unlock_vault(bytearray(b"open barley"))
        assert console.source.vault() is VaultState.LOCKED
        console.source.unlock_vault(bytearray(b"open sesame"))
        console.until_state(id_, RequestState.EXECUTED)
        assert console.source.vault() is VaultState.UNLOCKED
        console.source.unlock_vault(bytearray(b"open sesame"))  # it is open already
        assert daemon.counters()["unlocks"] == unlocks + 3


def test_a_daemon_without_a_vault_says_so(daemon: FakeDaemon, folder: Path) -> None:
    daemon.switch(vault="missing")
    with Console(daemon, folder) as console:
        assert console.source.vault() is VaultState.MISSING
        with pytest.raises(WrongPassphrase, match="no vault"):
            console.source.unlock_vault(bytearray(b"open sesame"))


def test_an_answer_that_needs_the_vault_waits_on(daemon: FakeDaemon, folder: Path) -> None:
    body = {"error": {"code": "vault_locked", "message": "the vault is locked"}}
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.switch(answers={"decide": {"status": 423, "body": body, "times": 1}})
        with pytest.raises(VaultLocked):
            console.decide(id_)
        assert console.waiting == [id_]
        assert console.decide(id_) is RequestState.RUNNING
        assert console.story(id_)[3:6] == ["decided approve", "told pending", "decided approve"]


# coming and going


@pytest.mark.parametrize("clean", [True, False])
def test_a_daemon_that_comes_back_elsewhere_is_found(tmp_path: Path, folder: Path, clean: bool) -> None:
    with FakeDaemon(tmp_path / "home") as daemon, Console(daemon, folder) as console:
        stays, ends, runs = (daemon.register(outcome=how) for how in ("completed", "completed", "running"))
        console.until_waiting(stays, ends, runs)
        console.decide(runs)
        console.until_state(runs, RequestState.RUNNING)
        old = (daemon.url, daemon.token)
        instance = console.source.instance
        daemon.resolve(ends, silently=True)
        daemon.restart(clean=clean)
        assert daemon.token != old[1]
        console.until(lambda: not console.stale and console.source.instance != instance)
        console.until_waiting(stays)
        console.until_state(ends, RequestState.EXECUTED)
        console.until_state(runs, RequestState.FAILED)  # it died with the daemon
        assert console.item(stays).instance == console.source.instance
        assert console.decide(stays) is RequestState.RUNNING
        console.until_state(stays, RequestState.EXECUTED)
        assert console.story(runs)[3:] == ["decided approve", "told running", "told failed"]


def test_a_token_that_is_not_known_any_more_is_looked_up_again(tmp_path: Path, folder: Path) -> None:
    with FakeDaemon(tmp_path / "home") as daemon, Console(daemon, folder) as console:
        id_ = daemon.register()
        console.until_waiting(id_)
        held = console.source
        daemon.restart(same_port=True)
        with pytest.raises(RuntimeFault):
            held.waiting()
        console.until(lambda: not console.stale and console.source is not held)
        console.until_waiting(id_)


def test_a_wrong_token_is_told_as_that(daemon: FakeDaemon, folder: Path) -> None:
    wrong = Daemon(daemon.url, "wrong-token")
    with DaemonSource(wrong, for_this_run("alice"), folder) as source:
        for ask in (source.waiting, lambda: next(source.watch()), lambda: source.item("act-1")):
            with pytest.raises(NotAllowed) as refused:
                ask()
            assert refused.value.status == 401


def test_a_token_that_loses_its_right_ends_the_watch(daemon: FakeDaemon, folder: Path) -> None:
    with Console(daemon, folder) as console:
        daemon.switch(answers={"list": {"status": 401, "body": {"error": {"code": "unauthorized"}}}})
        console.until(lambda: bool(console.faults))
        assert isinstance(console.faults[0], NotAllowed)
        daemon.reset()
        console.until(lambda: not console.stale)


def test_an_agents_token_sees_nothing_and_answers_nothing(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    token = daemon.caveat(capabilities=("actions:list", "actions:run", "approvals:poll"))
    caveat = replace(find(env=daemon.environment), token=token)
    with Console(daemon, folder) as console, DaemonSource(caveat, console.key, folder) as source:
        item = console.item(id_)
        for ask in (source.waiting, lambda: next(source.watch())):
            with pytest.raises(NotAllowed) as refused:
                ask()
            assert refused.value.status == 403
        with pytest.raises(NotAllowed):
            source.decide(item, Verdict.APPROVE)
        assert daemon.decisions(id_) == []
        assert console.waiting == [id_]
        assert console.story(id_) == ["asked", "preview", "shown", "decided approve", "told pending"]


def test_a_daemon_without_a_queue_is_no_daemon_to_listen_to(daemon: FakeDaemon, folder: Path) -> None:
    daemon.switch(approvals_disabled=True)
    with Console(daemon, folder) as console:
        console.until(lambda: bool(console.faults))
        fault = console.faults[0]
        assert isinstance(fault, ApprovalsOff)
        assert "switched off" in str(fault)
        daemon.reset()
        console.until_waiting(daemon.register())


@pytest.mark.parametrize("cut", [True, False])
def test_what_waits_where_approvals_are_switched_off_was_not_answered_elsewhere(
    daemon: FakeDaemon, folder: Path, cut: bool
) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.switch(approvals_disabled=True)
        if cut:
            daemon.disconnect()
        console.until(lambda: any(isinstance(fault, ApprovalsOff) for fault in console.faults))
        console.until(lambda: console.stale)
        assert console.state(id_) is RequestState.PENDING
        assert console.board.pill(id_).words == ""
        with console.connect() as source, pytest.raises(ApprovalsOff):
            source.decide(console.item(id_), Verdict.APPROVE)
        assert console.story(id_) == ["asked", "preview", "shown", "decided approve", "told pending"]
        daemon.switch(approvals_disabled=False)
        console.until(lambda: not console.stale and console.waiting == [id_])


@pytest.mark.parametrize("route", ["list", "watch"])
def test_a_web_page_is_not_taken_for_an_answer(daemon: FakeDaemon, folder: Path, route: str) -> None:
    daemon.switch(answers={route: HTML})
    with Console(daemon, folder) as console:
        console.until(lambda: bool(console.faults))
        assert isinstance(console.faults[0], InvalidReply)
        daemon.reset()
        console.until_waiting(daemon.register())
