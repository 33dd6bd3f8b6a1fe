"""An answer is signed over what was shown, recorded before it is sent, sent once, and what came of it is the truth."""

import json
import sqlite3
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import RequestState
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.runtime.daemon import daemon_ledger
from aileron_tui.runtime.daemon.answer_sender import AnswerRefused
from aileron_tui.runtime.daemon.daemon_discovery import find
from aileron_tui.runtime.daemon.daemon_source import DaemonSource
from aileron_tui.runtime.daemon.request_reader import NotEditable
from aileron_tui.runtime.errors import (
    ApprovalsOff,
    InvalidReply,
    NoGate,
    NoReply,
    NotAllowed,
    NotFound,
    NotWaiting,
    Rejected,
    RuntimeFault,
)
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import verify
from aileron_tui.signing.key_store import for_this_run
from tests.daemon.process import ROOT, FakeDaemon
from tests.runtime.daemon.consoles import PATIENCE, Console, Deciding, story, verified

SEEN = ["asked", "preview", "shown"]
KINDS = ("action", "comms_send", "comms_draft", "http_request", "shell")
FAILURE = {"error": {"class": "binding_required", "message": "locked", "retriable": False, "boundary": "runtime"}}


# what is sent


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_carries_its_proof(daemon: FakeDaemon, folder: Path, kind: str, verdict: Verdict) -> None:
    id_ = daemon.register(kind)
    with Console(daemon, folder) as console:
        item = console.item(id_)
        state = console.decide(id_, verdict, reason="because")
        assert state is (RequestState.RUNNING if verdict is Verdict.APPROVE else RequestState.DENIED)
        [sent] = daemon.decisions(id_)
        said = sent["said"]
        assert said.keys() == {"approved", "reason", "envelope"}
        assert said["approved"] is (verdict is Verdict.APPROVE)
        assert said["reason"] == "because"
        with open_reader(folder / FILE) as reader:
            keys = Approvers.of(reader.key_changes())
        statement = verify(
            json.dumps(said["envelope"]).encode(),
            keys,
            now=datetime.now(UTC),
            instance=console.source.instance,
            request=id_,
            digest=item.prompt.digest,
            seen_nonce=lambda nonce: False,
        )
        assert (statement.verdict, statement.reason, statement.surface) == (verdict, "because", "console")
        assert console.signed(id_) == [statement]
        told = "told denied" if verdict is Verdict.DENY else "told running"
        seen = SEEN if kind == "action" else ["asked", "shown"]
        assert console.story(id_)[: len(seen) + 2] == [*seen, f"decided {verdict}", told]
        [shown] = [entry for entry in console.entries(id_) if entry.kind == "prompt.shown"]
        assert shown.body == {"digest": item.digest, "surface": "console"}


def test_an_answer_without_a_reason_says_so(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.decide(id_, Verdict.DENY)
        assert daemon.decisions(id_)[0]["said"]["reason"] == ""
        assert daemon.decisions(id_)[0]["said"]["approved"] is False


def test_our_own_answer_is_not_taken_for_another(daemon: FakeDaemon, folder: Path) -> None:
    """The event that tells of it is quicker than the reply to it."""
    id_ = daemon.register(outcome="running")
    daemon.switch(reply_delay={"decide": 0.4})
    with Console(daemon, folder) as console:
        daemon.wait_for_watchers()
        assert console.decide(id_) is RequestState.RUNNING
        console.until_state(id_, RequestState.RUNNING)
        daemon.finish(id_)
        console.until_state(id_, RequestState.EXECUTED)
        assert console.story(id_) == [*SEEN, "decided approve", "told running", "told executed"]


def test_our_own_answer_is_not_taken_for_another_by_the_list(daemon: FakeDaemon, folder: Path) -> None:
    """The request is gone from the list before the reply comes."""
    id_ = daemon.register()
    daemon.switch(reply_delay={"decide": 0.8}, silent_streams=True, heartbeat=0.1)
    with Console(daemon, folder, list_every=0.02) as console:
        item = console.item(id_)
        with Deciding(console, item) as deciding:
            console.until(lambda: id_ in console.tracker.stopped_waiting)
        assert deciding.state is RequestState.RUNNING
        console.until_state(id_, RequestState.EXECUTED)
        assert console.story(id_) == [*SEEN, "decided approve", "told running", "told executed"]


def test_an_answer_that_outlives_its_connection_is_ours(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        item = console.item(id_)
        daemon.switch(delay={"decide": 3.0})
        source = console.source
        with Deciding(console, item) as deciding:
            console.until(lambda: bool(source._answer_sender.in_flight))
            time.sleep(1.0)  # by now it is on its way
            source.close()
        assert isinstance(deciding.fault, NoReply)
        console.until_state(id_, RequestState.EXECUTED)
        assert console.source is not source
        assert len(daemon.decisions(id_)) == 1
        assert not any("+" in words for words in console.story(id_))


class _SlowNetwork(httpx.HTTPTransport):
    """Breaks the connection that carries an answer, and delivers the answer when `delivery` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.delivery = threading.Event()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/decide"):
            return super().handle_request(request)
        threading.Thread(target=self._deliver, args=(request.url, request.headers, request.read())).start()
        raise httpx.ReadError("the connection broke")

    def _deliver(self, url: httpx.URL, headers: httpx.Headers, body: bytes) -> None:
        assert self.delivery.wait(PATIENCE)
        httpx.post(url, headers=headers, content=body, trust_env=False).raise_for_status()


def test_an_answer_that_arrives_after_a_reconnect_is_ours(daemon: FakeDaemon, folder: Path) -> None:
    """The first connection records that the request still waits; the answer arrives during the second one."""
    id_ = daemon.register()
    network = _SlowNetwork()
    with Console(daemon, folder, transport=network) as console:
        first = console.source
        with pytest.raises(NoReply, match="still waiting"):
            console.decide(id_)
        assert console.story(id_) == [*SEEN, "decided approve", "told pending"]
        first.close()
        console.until(lambda: console.source is not first)
        console.until_waiting(id_)
        network.delivery.set()
        console.until_state(id_, RequestState.EXECUTED)
        assert len(daemon.decisions(id_)) == 1
        assert console.story(id_)[-1] == "told executed"
        assert not any("+" in words for words in console.story(id_))


def test_any_success_is_success(daemon: FakeDaemon, folder: Path) -> None:
    daemon.switch(decide_code=200)
    with Console(daemon, folder) as console:
        for how in ("", "not_json", "truncated", "cut", "wrong_shape", "empty", "null", "deep", "binary", "huge"):
            daemon.switch(garbage={"decide": how} if how else {}, huge_bytes=1_000_000)
            id_ = daemon.register()
            assert console.decide(id_) is RequestState.RUNNING
            assert len(daemon.decisions(id_)) == 1
            console.until_state(id_, RequestState.EXECUTED)
            assert console.story(id_) == [*SEEN, "decided approve", "told running", "told executed"]


# edits


def test_an_edited_draft_is_what_is_sent(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register("comms_draft")
    with Console(daemon, folder) as console:
        shown = console.item(id_)
        assert console.decide(id_, edits={"draft_body": "No.\nNot yet."}) is RequestState.RUNNING
        [sent] = daemon.decisions(id_)
        assert sent["said"]["edited_payload"] == {"body": "No.\nNot yet."}
        assert daemon.effects(id_)[0]["args"]["draft_body"] == "No.\nNot yet."
        [statement] = console.signed(id_)
        assert statement.edits == {"draft_body": "No.\nNot yet."}
        assert statement.digest != shown.digest
        digests = [entry.body["digest"] for entry in console.entries(id_) if entry.kind == "prompt.shown"]
        assert digests == [shown.digest, statement.digest]
        asked = console.entries(id_)[0].body["args"]
        assert isinstance(asked, dict)
        assert asked["draft_body"] == "Yes.\nSince noon."  # as the agent asked


@pytest.mark.parametrize(
    ("policy", "decision"), [("", "allow_once"), ("project", "allow_project"), ("user", "allow_user")]
)
def test_a_shell_may_be_allowed_for_longer(daemon: FakeDaemon, folder: Path, policy: str, decision: str) -> None:
    id_ = daemon.register("shell")
    with Console(daemon, folder) as console:
        console.decide(id_, edits={"save_policy": policy})
        assert daemon.decisions(id_)[0]["said"]["edited_payload"] == {"save_policy": policy}
        assert [effect["decision"] for effect in daemon.effects(id_)] == [decision]


@pytest.mark.parametrize(
    ("kind", "edits"),
    [
        ("action", {"draft_id": "r-2"}),
        ("comms_send", {"body": "other"}),
        ("http_request", {"url": "https://example.org/"}),
        ("comms_draft", {"channel": "#other"}),
        ("comms_draft", {"draft_body": "  "}),
        ("comms_draft", {"draft_body": 7}),
        ("shell", {"save_policy": "everybody"}),
        ("shell", {"command": "ls"}),
    ],
)
def test_an_edit_the_daemon_would_not_follow_is_not_sent(
    daemon: FakeDaemon, folder: Path, kind: str, edits: dict[str, Any]
) -> None:
    id_ = daemon.register(kind)
    with Console(daemon, folder) as console:
        with pytest.raises(NotEditable):
            console.source.refresh(id_, edits)
        with pytest.raises(NotEditable):
            console.source.decide(console.item(id_), Verdict.APPROVE, edits=edits)
        assert daemon.decisions(id_) == []


def test_an_edit_that_was_not_shown_is_not_sent(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register("comms_draft")
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        edited = console.source.refresh(id_, {"draft_body": "shown"})
        with pytest.raises(NotEditable):
            console.source.decide(edited, Verdict.APPROVE, edits={"draft_body": "sent"})
        assert daemon.decisions(id_) == []
        assert console.story(id_) == ["asked", "shown", "shown"]


def test_a_denial_carries_no_edit(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register("comms_draft")
    with Console(daemon, folder) as console:
        console.decide(id_, Verdict.DENY, edits={"draft_body": "other"})
        assert "edited_payload" not in daemon.decisions(id_)[0]["said"]
        assert console.signed(id_)[0].edits is None


def test_what_cannot_be_shown_exactly_can_only_be_denied(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register(extra={"args": ["r-1"]})
    with Console(daemon, folder) as console:
        assert console.item(id_).deny_only
        with pytest.raises(AnswerRefused):
            console.decide(id_)
        assert daemon.decisions(id_) == []
        assert console.story(id_) == SEEN
        assert console.decide(id_, Verdict.DENY) is RequestState.DENIED


# replies that do not come


@pytest.mark.parametrize("verdict", Verdict)
def test_a_lost_reply_to_an_answer_that_was_taken(daemon: FakeDaemon, folder: Path, verdict: Verdict) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.switch(lose_reply={"decide": 1})
        state = RequestState.EXECUTED if verdict is Verdict.APPROVE else RequestState.DENIED
        assert console.decide(id_, verdict) is state
        console.until_state(id_, state)
        assert len(daemon.decisions(id_)) == 1
        assert console.story(id_) == [*SEEN, f"decided {verdict}", f"told {state}"]
        assert not any("+" in words for words in console.story(id_))


def test_a_lost_answer_is_not_sent_again_by_itself(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.switch(hang_up={"decide": 1})
        with pytest.raises(NoReply, match="still waiting"):
            console.decide(id_)
        assert daemon.decisions(id_) == []
        assert console.waiting == [id_]
        assert console.story(id_) == [*SEEN, "decided approve", "told pending"]
        assert console.decide(id_, Verdict.DENY) is RequestState.DENIED
        assert len(daemon.decisions(id_)) == 1
        assert console.story(id_)[5:] == ["decided deny", "told denied"]


def test_an_answer_that_arrives_late_counts_when_it_is_given_again(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder, list_every=10_000.0) as console:
        console.until_waiting(id_)
        daemon.wait_for_watchers()
        daemon.switch(hang_up={"decide": 1})
        with pytest.raises(NoReply):
            console.decide(id_)
        item = console.item(id_)
        daemon.resolve(id_, silently=True)  # it was on its way
        assert console.source.decide(item, Verdict.APPROVE) is RequestState.EXECUTED
        assert [one["applied"] for one in daemon.decisions(id_)] == [False]
        console.until_state(id_, RequestState.EXECUTED)
        assert not any("+" in words for words in console.story(id_))


def test_an_answer_that_arrives_late_is_ours_also_when_nobody_asks(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register(outcome="running")
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.wait_for_watchers()
        daemon.switch(hang_up={"decide": 1})
        with pytest.raises(NoReply):
            console.decide(id_)
        daemon.resolve(id_)  # it was on its way
        console.until_state(id_, RequestState.RUNNING)
        assert console.story(id_)[3:] == ["decided approve", "told pending", "told running"]


def test_the_opposite_of_an_answer_that_was_lost_is_not_ours(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.wait_for_watchers()
        daemon.switch(hang_up={"decide": 1})
        with pytest.raises(NoReply):
            console.decide(id_)
        daemon.resolve(id_, approved=False)
        console.until_state(id_, RequestState.DENIED)
        assert console.story(id_)[-1] == "told denied +"


def test_a_lost_reply_and_nobody_left_to_ask(tmp_path: Path, folder: Path) -> None:
    """The daemon takes the answer and dies before it replies; what it did is found out when it is back."""
    with FakeDaemon(tmp_path / "home") as daemon, Console(daemon, folder) as console:
        taken, lost = daemon.register(outcome="running"), daemon.register()
        console.until_waiting(taken, lost)
        daemon.switch(lose_reply={"decide": 1}, answers={"list": {"status": 503, "body": {}}})
        with pytest.raises(NoReply, match="not known"):
            console.decide(taken)
        daemon.kill()
        item = console.board.requests[lost]
        with pytest.raises(AileronError):
            console.source.decide(item, Verdict.APPROVE)
        daemon.start()
        console.until_waiting(lost)
        console.until_state(taken, RequestState.FAILED)  # it was running when the daemon died
        assert console.decide(lost) is RequestState.RUNNING
        console.until_state(lost, RequestState.EXECUTED)
        assert len(daemon.decisions(taken)) == len(daemon.decisions(lost)) == 1
        assert "told failed" in console.story(taken)


def test_a_lost_reply_and_a_request_that_is_gone(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.switch(
            lose_reply={"decide": 1},
            answers={
                "list": {"status": 200, "body": {"items": []}},
                "result": {"status": 404, "body": {"error": {"code": "not_found"}}},
            },
        )
        with pytest.raises(NoReply):
            console.decide(id_)
        console.until_state(id_, RequestState.INTERRUPTED)
        assert console.story(id_)[3:] == ["decided approve", "told interrupted"]


@pytest.mark.parametrize(
    ("class_", "fault", "state"),
    [
        ("approval_timeout", NotWaiting, "expired"),
        ("withdrawn", NotWaiting, "withdrawn"),
        ("network_error", NoReply, ""),
    ],
)
def test_a_lost_reply_and_a_request_that_failed(
    daemon: FakeDaemon, folder: Path, class_: str, fault: type[RuntimeFault], state: str
) -> None:
    """A failure does not show that the answer was taken: a daemon also fails requests that nobody answered."""
    id_ = daemon.register()
    with Console(daemon, folder, list_every=10_000.0) as console:
        item = console.item(id_)
        daemon.wait_for_watchers()
        failure = {"error": {"class": class_, "message": "it ended"}}
        answers = {
            "list": {"status": 200, "body": {"items": []}},
            "result": {"status": 200, "body": {"id": id_, "status": "failed", "failure": failure}},
        }
        daemon.switch(hang_up={"decide": 1}, answers=answers)
        with pytest.raises(fault) as error:
            console.source.decide(item, Verdict.APPROVE)
        assert not isinstance(error.value, NotWaiting) or error.value.state == state
        console.until_state(id_, RequestState.FAILED)
        assert console.tracker.is_unconfirmed(id_)
        assert console.story(id_) == [*SEEN, "decided approve", "told failed"]


def test_a_request_that_nobody_answered_is_not_recorded_as_answered_elsewhere(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        failure = {"error": {"class": "approval_timeout", "message": "nobody answered"}}
        answers = {
            "list": {"status": 200, "body": {"items": []}},
            "result": {"status": 200, "body": {"id": id_, "status": "failed", "failure": failure}},
        }
        daemon.switch(answers=answers)
        console.until_state(id_, RequestState.FAILED)
        assert console.story(id_) == [*SEEN, "told failed"]


# refusals


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"status": 400, "body": {"error": {"code": "invalid_request", "message": "no"}}}, Rejected),
        ({"status": 401, "body": {"error": {"code": "unauthorized"}}}, NotAllowed),
        ({"status": 403, "body": {"error": {"code": "forbidden"}}}, NotAllowed),
        ({"status": 412, "body": FAILURE}, Rejected),
        ({"status": 500, "body": {"error": {"code": "decide_error", "message": "disk full"}}}, Rejected),
        ({"status": 500, "body": FAILURE}, Rejected),
        ({"status": 500, "body": "{"}, InvalidReply),
        ({"status": 502, "body": "<html>", "type": "text/html"}, Rejected),
        ({"status": 503, "body": {"error": {"code": "action_approvals_disabled"}}}, ApprovalsOff),
        ({"status": 302, "body": "", "headers": {"Location": "/v1/elsewhere"}}, Rejected),
        ({"status": 404, "body": "404 page not found", "type": "text/plain"}, InvalidReply),
    ],
    ids=str,
)
def test_a_refused_answer_was_not_taken(
    daemon: FakeDaemon, folder: Path, answer: dict[str, Any], fault: type[RuntimeFault]
) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.switch(answers={"decide": answer | {"times": 1}})
        with pytest.raises(fault):
            console.decide(id_)
        assert console.waiting == [id_]
        assert daemon.decisions(id_) == []
        assert console.story(id_) == [*SEEN, "decided approve", "told pending"]
        assert console.decide(id_, Verdict.DENY) is RequestState.DENIED


def test_a_daemon_that_cannot_keep_the_answer(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.switch(decide_error=1)
        with pytest.raises(Rejected, match="could not be kept"):
            console.decide(id_)
        assert console.decide(id_) is RequestState.RUNNING
        assert [one["applied"] for one in daemon.decisions(id_)] == [False, True]


def test_an_error_after_the_answer_was_taken(daemon: FakeDaemon, folder: Path) -> None:
    """A daemon, or something before it, that says 500 may have taken the answer all the same."""
    id_ = daemon.register(outcome="running")
    with Console(daemon, folder) as console:
        item = console.item(id_)
        daemon.wait_for_watchers()
        daemon.switch(answers={"decide": {"status": 500, "body": {}, "times": 1}})
        daemon.resolve(id_, silently=True)
        assert console.source.decide(item, Verdict.APPROVE) is RequestState.RUNNING
        assert console.story(id_)[3:5] == ["decided approve", "told running"]


def test_an_answer_given_elsewhere_while_ours_is_refused(daemon: FakeDaemon, folder: Path) -> None:
    """The event that tells of it comes while our own answer is on its way, which then fails for another reason."""
    id_ = daemon.register()
    daemon.switch(delay={"decide": 0.5}, answers={"decide": {"status": 400, "body": {}, "times": 1}})
    with Console(daemon, folder, list_every=10_000.0) as console:
        item = console.item(id_)
        daemon.wait_for_watchers()
        with Deciding(console, item) as deciding:
            console.until(lambda: bool(console.source._answer_sender.in_flight))
            daemon.resolve(id_, approved=False)
        assert isinstance(deciding.fault, Rejected)
        console.until_state(id_, RequestState.DENIED)
        assert console.story(id_)[-1] == "told denied +"


def test_nobody_to_answer(tmp_path: Path, folder: Path) -> None:
    with FakeDaemon(tmp_path / "home") as daemon, Console(daemon, folder, again=False) as console:
        id_ = daemon.register()
        item = console.item(id_)
        source = console.connect()
        daemon.kill()
        with source, pytest.raises(NoGate):
            source.decide(item, Verdict.APPROVE)
        assert console.story(id_) == [*SEEN, "decided approve", "told pending"]


# somebody else was first


@pytest.mark.parametrize(
    ("approved", "outcome", "state"),
    [(True, "running", "running"), (True, "completed", "executed"), (True, "failed", "failed"), (False, "", "denied")],
)
def test_too_late_says_how(daemon: FakeDaemon, folder: Path, approved: bool, outcome: str, state: str) -> None:
    id_ = daemon.register(outcome=outcome or "completed")
    with Console(daemon, folder, list_every=10_000.0) as console:
        item = console.item(id_)
        daemon.wait_for_watchers()
        daemon.resolve(id_, approved=approved, reason="mine", silently=True)
        for verdict in Verdict:
            with pytest.raises(NotWaiting) as late:
                console.source.decide(item, verdict)
            assert late.value.state == state
        console.until_state(id_, RequestState(state))
        assert console.story(id_)[-1] == f"told {state} +"
        assert not any(one["applied"] for one in daemon.decisions(id_))


DRAFT = {"service": "slack", "channel": "#team", "draft_body": "ok"}


def test_an_approval_elsewhere_of_another_call_under_the_same_id(daemon: FakeDaemon, folder: Path) -> None:
    """The console shows the call that ran, not the edited one that was approved here before."""
    id_ = daemon.register("comms_draft", args=DRAFT, outcome="running")
    with Console(daemon, folder, list_every=0.1) as console:
        daemon.wait_for_watchers()
        console.decide(id_, edits={"draft_body": "my text"})
        console.until_state(id_, RequestState.RUNNING)
        daemon.register("comms_draft", id=id_, args=DRAFT | {"channel": "#public"})
        console.until_waiting(id_)
        assert console.story(id_)[-2:] == ["told pending", "shown"]
        daemon.resolve(id_)
        console.until_state(id_, RequestState.EXECUTED)
        assert console.story(id_)[-1] == "told executed +"
        assert console.board.requests[id_].prompt.args == DRAFT | {"channel": "#public"}
        assert console.board.pill(id_).words == "answered elsewhere: done ✓"


@pytest.mark.parametrize("approved", [True, False])
def test_an_answer_elsewhere_after_the_daemon_lost_ours(daemon: FakeDaemon, folder: Path, approved: bool) -> None:
    """The daemon takes our edited approval, then lists the same call again, and somebody else answers it."""
    asked = {"args": DRAFT, "requested_at": "2099-05-12T10:15:30Z"}
    id_ = daemon.register("comms_draft", outcome="running", **asked)
    with Console(daemon, folder, list_every=0.1) as console:
        daemon.wait_for_watchers()
        console.decide(id_, edits={"draft_body": "my text"})
        console.until_state(id_, RequestState.RUNNING)
        daemon.register("comms_draft", id=id_, **asked)
        console.until_waiting(id_)
        daemon.resolve(id_, approved=approved)
        console.until_state(id_, RequestState.EXECUTED if approved else RequestState.DENIED)
        assert console.board.requests[id_].prompt.args == DRAFT


def test_a_call_that_waits_again_is_recorded_after_a_while(
    daemon: FakeDaemon, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"args": DRAFT, "requested_at": "2099-05-12T10:15:30Z"}
    id_ = daemon.register("comms_draft", outcome="running", **asked)
    with Console(daemon, folder, list_every=0.1) as console:
        daemon.wait_for_watchers()
        console.decide(id_)
        console.until_state(id_, RequestState.RUNNING)
        daemon.register("comms_draft", id=id_, **asked)
        console.until_waiting(id_)
        assert console.story(id_)[-1] == "told running"
        monkeypatch.setattr(daemon_ledger, "DELIVERY_TIME", timedelta(0))
        console.until(lambda: console.story(id_)[-1] == "told pending")


def test_too_late_for_a_request_that_is_gone(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder, list_every=10_000.0) as console:
        item = console.item(id_)
        daemon.forget(id_)
        with pytest.raises(NotFound):
            console.source.decide(item, Verdict.APPROVE)
        console.until_state(id_, RequestState.WITHDRAWN)
        assert console.story(id_)[3:] == ["decided approve", "told withdrawn"]


def test_two_answers_to_one_request_from_one_console(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register(outcome="running")
    with Console(daemon, folder) as console:
        item = console.item(id_)
        assert console.source.decide(item, Verdict.APPROVE) is RequestState.RUNNING
        with pytest.raises(NotWaiting) as late:
            console.source.decide(item, Verdict.DENY)
        assert late.value.state == "running"
        assert len(daemon.decisions(id_)) == 1


# the record


def test_what_cannot_be_recorded_is_not_sent(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        item = console.item(id_)
        with sqlite3.connect(folder / FILE) as db:
            db.execute("CREATE TRIGGER full BEFORE INSERT ON entries BEGIN SELECT RAISE(ABORT, 'full'); END")
        db.close()
        with pytest.raises(LedgerError):
            console.source.decide(item, Verdict.APPROVE)
        assert daemon.decisions(id_) == []
        assert console.waiting == [id_]
        with sqlite3.connect(folder / FILE) as db:
            db.execute("DROP TRIGGER full")
        db.close()
        assert console.decide(id_) is RequestState.RUNNING


def test_an_answer_that_was_taken_is_that_whatever_becomes_of_the_record(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    refuse = """CREATE TRIGGER full BEFORE INSERT ON entries WHEN instr(NEW.data, 'runtime.told')
        BEGIN SELECT RAISE(ABORT, 'full'); END"""
    with Console(daemon, folder) as console:
        item = console.item(id_)
        with sqlite3.connect(folder / FILE) as db:
            db.execute(refuse)
        db.close()
        assert console.source.decide(item, Verdict.APPROVE) is RequestState.RUNNING
        console.until(lambda: any(isinstance(fault, LedgerError) for fault in console.faults))  # and it is said
        with sqlite3.connect(folder / FILE) as db:
            db.execute("DROP TRIGGER full")
        db.close()
        console.until(lambda: not console.stale)


def test_a_key_that_is_locked_signs_nothing(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        item = console.item(id_)
        console.key.lock()
        with pytest.raises(AileronError):
            console.source.decide(item, Verdict.APPROVE)
        assert daemon.decisions(id_) == []
        assert console.story(id_) == SEEN


def test_what_was_never_shown_here_cannot_be_answered(daemon: FakeDaemon, folder: Path, tmp_path: Path) -> None:
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        item = console.item(id_)
        found = find(env=daemon.environment)
        with DaemonSource(found, for_this_run("bob"), tmp_path / "other") as other:
            with pytest.raises(AileronError):
                other.decide(item, Verdict.APPROVE)
            assert daemon.decisions(id_) == []
            assert other.decide(other.item(id_), Verdict.APPROVE) is RequestState.RUNNING
        assert story(tmp_path / "other", id_) == [*SEEN, "decided approve", "told running"]


CRASH = """
import os, sys
from pathlib import Path
from aileron_tui.core.decision import Verdict
from aileron_tui.runtime.daemon.daemon_client import DaemonClient
from aileron_tui.runtime.daemon.daemon_discovery import find
from aileron_tui.runtime.daemon.daemon_source import DaemonSource
from aileron_tui.signing.key_store import for_this_run

home, folder, id_, when = sys.argv[1:]
send = DaemonClient.decide

def die(self, *told):
    if when == "after":
        send(self, *told)
    os.kill(os.getpid(), 9)

DaemonClient.decide = die
source = DaemonSource(find(env={"HOME": home}), for_this_run("alice"), Path(folder))
[item] = [item for item in source.waiting() if item.id == id_]
source.decide(item, Verdict.APPROVE)
"""


def crashed(daemon: FakeDaemon, folder: Path, id_: str, when: str) -> None:
    words = [sys.executable, "-c", CRASH, str(daemon.home), str(folder), id_, when]
    ended = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, timeout=60)
    assert ended.returncode == -9, ended.stderr.decode()


@pytest.mark.parametrize("verdict", Verdict)
def test_a_console_that_dies_before_it_sends(daemon: FakeDaemon, folder: Path, verdict: Verdict) -> None:
    id_ = daemon.register()
    crashed(daemon, folder, id_, "before")
    assert daemon.decisions(id_) == []
    assert story(folder, id_) == [*SEEN, "decided approve"]
    verified(folder)
    with Console(daemon, folder) as console:
        assert console.decide(id_, verdict) in (RequestState.RUNNING, RequestState.DENIED)
        assert [one["applied"] for one in daemon.decisions(id_)] == [True]
        assert console.story(id_)[4:6] == ["told pending", f"decided {verdict}"]


def test_a_console_that_dies_after_it_sent(tmp_path: Path, folder: Path) -> None:
    with FakeDaemon(tmp_path / "home") as daemon:
        id_ = daemon.register()
        crashed(daemon, folder, id_, "after")
        assert story(folder, id_) == [*SEEN, "decided approve"]
        with Console(daemon, folder, clock=lambda: datetime(2100, 1, 1, tzinfo=UTC)) as console:
            assert console.waiting == []
            console.source.history()
            assert console.story(id_)[-1] == "told executed"  # ours, as the record knows
        assert len(daemon.decisions(id_)) == 1
