"""Each switch does what it says, and undoing it undoes it."""

import http.client
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.garbage import KINDS
from tests.daemon.listener import Listener, answer
from tests.daemon.process import PATIENCE, FakeDaemon

LIST = "/v1/action-approvals"


# What requests look like


def test_no_kind(daemon: FakeDaemon) -> None:
    daemon.switch(omit_kind=True)
    with Listener(daemon) as stream:
        id_ = daemon.register("shell")
        daemon.resolve(id_)
        assert all("kind" not in said for _, said in stream.events(3)[1:])
    daemon.register()
    assert "kind" not in daemon.items()[0]


def test_no_args(daemon: FakeDaemon) -> None:
    daemon.register()
    daemon.switch(omit_args=True)
    assert "args" not in daemon.items()[0]


def test_resolved_without_kind(daemon: FakeDaemon) -> None:
    daemon.switch(resolved_without_kind=True)
    with Listener(daemon) as stream:
        daemon.resolve(daemon.register())
        _, pending, resolved = (said for _, said in stream.events(3))
        assert "kind" in pending
        assert "kind" not in resolved


def test_fields_of_a_newer_daemon(daemon: FakeDaemon) -> None:
    daemon.switch(extra_fields={"priority": 7})
    daemon.register(extra={"action_name": 9, "risk": {"level": "high"}})
    (item,) = daemon.items()
    assert (item["priority"], item["action_name"], item["risk"]) == (7, 9, {"level": "high"})


@pytest.mark.parametrize("offset", ["Z", "+05:30", "-11:00"])
def test_where_the_clock_is(daemon: FakeDaemon, offset: str) -> None:
    daemon.switch(offset=offset)
    daemon.register()
    assert daemon.items()[0]["requested_at"].endswith(offset)


def test_an_unknown_status(daemon: FakeDaemon) -> None:
    daemon.switch(result_status="hibernating")
    assert daemon.result(daemon.register()) == {"status": "hibernating"}


def test_previews(daemon: FakeDaemon) -> None:
    daemon.register(preview={"unavailable": "preview unavailable: timeout"})
    daemon.register(preview=None)
    one, two = daemon.items()
    assert one["preview"] == {"unavailable": "preview unavailable: timeout"}
    assert "preview" not in two


# Deciding


def test_200_instead_of_204(daemon: FakeDaemon) -> None:
    daemon.switch(decide_code=200)
    id_ = daemon.register()
    response, body = answer(daemon, "POST", f"{LIST}/{id_}/decide", daemon.headers, b'{"approved":true}')
    assert (response.status, body) == (200, b"")


def test_a_decision_that_fails(daemon: FakeDaemon) -> None:
    daemon.switch(decide_error=1)
    id_ = daemon.register()
    status, said = daemon.decide(id_, approved=True)
    assert (status, said["error"]["code"]) == (500, "decide_error")
    assert daemon.pending() == [id_]
    assert daemon.decide(id_, approved=True)[0] == 204


def test_a_lost_reply(daemon: FakeDaemon) -> None:
    daemon.switch(lose_reply={"decide": 1})
    one, two = daemon.register_many(2)
    with pytest.raises(http.client.RemoteDisconnected):
        daemon.decide(one, approved=True)
    assert daemon.pending() == [two]
    assert [(said["applied"], said["status"]) for said in daemon.decisions(one)] == [(True, 204)]
    assert len(daemon.effects(one)) == 1
    assert daemon.decide(two, approved=True)[0] == 204


def test_a_lost_decision(daemon: FakeDaemon) -> None:
    daemon.switch(hang_up={"decide": 1})
    id_ = daemon.register()
    with pytest.raises(http.client.RemoteDisconnected):
        daemon.decide(id_, approved=True)
    assert daemon.pending() == [id_]
    assert daemon.effects(id_) == []
    assert daemon.decide(id_, approved=True)[0] == 204


def test_a_stale_shell(daemon: FakeDaemon) -> None:
    daemon.switch(shell_wait=0.01)
    body = {"command": "ls"}
    assert daemon.ask("POST", "/v1/sessions/s/approvals/shell", body) == (200, {"decision": "deny"})
    waited = daemon.pending()
    for id_ in (*waited, daemon.register("shell", live=False)):
        assert daemon.decide(id_, approved=True)[0] == 204
        assert daemon.effects(id_) == []
    assert len(waited) == 1
    assert daemon.pending() == []


def test_no_queue(daemon: FakeDaemon) -> None:
    id_ = daemon.register()
    daemon.switch(approvals_disabled=True)
    assert daemon.items() == []
    for method, path in (("GET", f"{LIST}/watch"), ("POST", f"{LIST}/{id_}/decide"), ("GET", f"{LIST}/{id_}/result")):
        status, said = daemon.ask(method, path, {"approved": True} if method == "POST" else None)
        assert (status, said["error"]["code"]) == (503, "action_approvals_disabled")
    daemon.switch(approvals_disabled=False)
    assert len(daemon.items()) == 1


def test_no_sessions(daemon: FakeDaemon) -> None:
    daemon.switch(sessions_disabled=True)
    for path in ("/v1/sessions", "/v1/sessions/s"):
        status, said = daemon.ask("GET", path)
        assert (status, said["error"]["code"]) == (503, "sessions_disabled")


def test_no_webapp(daemon: FakeDaemon) -> None:
    daemon.switch(webapp=False)
    assert daemon.ask("GET", "/v1/no-such-thing") == (404, "404 page not found\n")


def test_held_starts(daemon: FakeDaemon) -> None:
    daemon.switch(hold_start=True)
    id_ = daemon.register()
    daemon.decide(id_, approved=True)
    assert daemon.result(id_) == {"status": "running"}
    assert daemon.entry(id_)["status"] == "approved_not_started"
    assert daemon.effects(id_) == []
    daemon.switch(hold_start=False)
    assert daemon.result(id_)["status"] == "completed"


def test_opening_the_vault_from_elsewhere(daemon: FakeDaemon) -> None:
    daemon.switch(vault="locked", run_time=0.01)
    id_ = daemon.register()
    daemon.decide(id_, approved=True)
    daemon.switch(vault="unlocked")
    daemon.wait_until(lambda: daemon.result(id_)["status"] == "completed")
    assert daemon.counters()["unlocks"] == 0
    daemon.switch(vault="dev")
    assert daemon.ask("GET", "/v1/status")[1]["vault_state"] == "dev"


# The wire


def test_slow_routes(daemon: FakeDaemon) -> None:
    id_ = daemon.register()
    for switch, applied in (("delay", False), ("reply_delay", True)):
        daemon.reset()
        daemon.switch(**{switch: {"decide": 60}})
        connection = socket.create_connection(daemon.address, PATIENCE)
        body = b'{"approved":false}'
        head = (
            f"POST {LIST}/{id_}/decide HTTP/1.1\r\nAuthorization: Bearer {daemon.token}\r\nContent-Length: {len(body)}"
        )
        connection.sendall(head.encode() + b"\r\n\r\n" + body)
        daemon.wait_until(lambda: bool(daemon.asked("decide")))
        assert (daemon.pending() == []) is applied
        connection.close()


def test_a_slow_answer_still_comes(daemon: FakeDaemon) -> None:
    daemon.switch(delay={"*": 0.05})
    before = time.monotonic()
    assert daemon.ask("GET", "/v1/status")[0] == 200
    assert time.monotonic() - before >= 0.05


def spoilt(daemon: FakeDaemon, how: str, path: str) -> bytes:
    daemon.switch(huge_bytes=1_000_000)
    daemon.switch(garbage={"*": how})
    response, body = answer(daemon, "GET", path, daemon.headers)
    assert response.status == 200
    return body


@pytest.mark.parametrize("how", ["not_json", "truncated", "empty", "deep", "binary"])
def test_garbage_that_is_no_json(daemon: FakeDaemon, how: str) -> None:
    daemon.register()
    with pytest.raises((ValueError, RecursionError)):
        json.loads(spoilt(daemon, how, LIST))


def test_garbage_that_is_json(daemon: FakeDaemon) -> None:
    id_ = daemon.register()
    twisted = json.loads(spoilt(daemon, "wrong_types", LIST))["items"]
    assert twisted[0]["id"] == [id_]
    assert twisted[1:] == [None, 7, "x", []]
    assert spoilt(daemon, "wrong_shape", LIST) == b'["items"]'
    assert spoilt(daemon, "null", LIST) == b"null"
    assert len(spoilt(daemon, "huge", LIST)) > 1_000_000


def test_an_answer_cut_off(daemon: FakeDaemon) -> None:
    daemon.register()
    daemon.switch(garbage={"list": "cut"})
    with pytest.raises(http.client.IncompleteRead):
        daemon.items()
    assert daemon.ask("GET", "/v1/status")[0] == 200


@pytest.mark.parametrize("how", sorted(set(KINDS) - {"cut", "wrong_shape", "null", "wrong_types", "huge"}))
def test_garbage_on_the_stream(daemon: FakeDaemon, how: str) -> None:
    daemon.switch(garbage={"watch": how})
    with Listener(daemon) as stream:
        name, data = stream.frame().split(b"\n", 1)
        assert name == b"event: snapshot"
        with pytest.raises((ValueError, RecursionError)):
            json.loads(data.removeprefix(b"data: "))
        daemon.switch(garbage={})
        id_ = daemon.register()
        assert stream.event()[1]["id"] == id_


def test_laid_answers(daemon: FakeDaemon) -> None:
    id_ = daemon.register()
    locked = {"status": 423, "body": {"error": {"code": "vault_locked", "message": "locked"}}, "times": 1}
    moved = {"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}}
    daemon.switch(
        answers={"decide": locked, "list": moved, "status": {"status": 502, "body": "x", "type": "text/plain"}}
    )
    assert daemon.decide(id_, approved=True) == (423, {"error": {"code": "vault_locked", "message": "locked"}})
    assert daemon.pending() == [id_]
    assert daemon.decide(id_, approved=True)[0] == 204
    for _ in range(2):
        assert answer(daemon, "GET", LIST, daemon.headers)[0].headers["Location"] == "http://127.0.0.1:1/"
        assert daemon.ask("GET", "/v1/status") == (502, "x")


def test_unknown_switches_and_routes_are_refused(daemon: FakeDaemon, tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [{"no_such_switch": 1}, {"delay": {"lst": 1}}, {"garbage": {"decied": "null"}}]
    for changes in wrong:
        with pytest.raises(AssertionError, match="no such"):
            daemon.switch(**changes)
    with pytest.raises(AssertionError, match="no such switch"):
        FakeDaemon(tmp_path / "home", no_such_switch=1)


def test_what_was_asked(daemon: FakeDaemon) -> None:
    before = len(daemon.asked())
    threads = [threading.Thread(target=daemon.ask, args=("GET", f"/v1/sessions?limit={n}")) for n in (1, 2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE)
    asked = daemon.asked()[before:]
    assert {one["target"] for one in asked} == {"/v1/sessions?limit=1", "/v1/sessions?limit=2"}
    assert {(one["method"], one["route"]) for one in asked} == {("GET", "sessions")}
