"""The fake daemon replies as a real one does."""

import http.client
import json
import re
from pathlib import Path

import pytest

from tests.daemon.listener import Listener, answer
from tests.daemon.process import PATIENCE, FakeDaemon
from tests.daemon.samples import GOOGLE, PREVIEW, REQUESTS, SESSION

LIST = "/v1/action-approvals"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,8}[1-9])?\+02:00")


# Who may ask


@pytest.mark.parametrize("path", [LIST, f"{LIST}/watch", "/v1/status", "/v1/audit", "/v1/no-such-thing"])
def test_without_the_token_nothing_is_told(daemon: FakeDaemon, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer " + "0" * 64}, {"Authorization": daemon.token}):
        response, body = answer(daemon, "GET", path, headers)
        assert response.status == 401
        assert body == b'{"error":{"code":"unauthorized","message":"missing or invalid daemon token"}}'


def test_health_and_the_webapp_are_open(daemon: FakeDaemon) -> None:
    response, body = answer(daemon, "GET", "/v1/health", {})
    assert response.status == 200
    told = json.loads(body)
    assert (told["status"], told["service"]) == ("ok", "aileron")
    assert answer(daemon, "GET", "/approvals", {})[0].headers.get_content_type() == "text/html"


def test_the_handshake_gives_the_cookie_that_opens(daemon: FakeDaemon) -> None:
    response, _ = answer(daemon, "GET", "/v1/auth/handshake", {})
    cookie = response.headers["Set-Cookie"].split(";")[0]
    assert answer(daemon, "GET", LIST, {"Cookie": f"a=b; {cookie}"})[0].status == 200


def test_the_token_of_a_session_polls_and_nothing_more(daemon: FakeDaemon) -> None:
    id_ = daemon.register()
    bearer = {"Authorization": f"Bearer {daemon.caveat()}"}
    assert daemon.ask("GET", f"{LIST}/{id_}/result", headers=bearer)[0] == 200
    assert daemon.ask("GET", "/v1/actions", headers=bearer)[0] == 200
    for method, path in (
        ("GET", LIST),
        ("GET", f"{LIST}/watch"),
        ("POST", f"{LIST}/{id_}/decide"),
        ("GET", "/v1/audit"),
    ):
        status, said = daemon.ask(method, path, {"approved": True} if method == "POST" else None, bearer)
        assert (status, said["error"]["code"]) == (403, "forbidden")
    assert daemon.pending() == [id_]
    assert daemon.decisions(id_) == []


def test_a_new_session_brings_its_token(daemon: FakeDaemon) -> None:
    status, made = daemon.ask("POST", "/v1/sessions", {"agent": "claude", "working_dir": "/src"})
    assert status == 200
    bearer = {"Authorization": f"Bearer {made['caveat_token']}"}
    asked = {"service": "slack", "channel": "#x", "body": "hello"}
    assert daemon.ask("POST", f"/v1/sessions/{made['id']}/comms/send", asked, bearer)[0] == 202
    assert daemon.ask("POST", "/v1/sessions/another/comms/send", asked, bearer)[0] == 403
    assert daemon.items()[0]["kind"] == "comms_send"
    daemon.switch(listener=False)
    assert daemon.ask("POST", f"/v1/sessions/{made['id']}/comms/send", asked, bearer)[0] == 400


def test_what_the_daemon_fills_in_is_not_taken_from_the_agent(daemon: FakeDaemon) -> None:
    lie = {"service": "lie", "channel": "lie", "original_author": "lie", "original_body": "lie", "draft_body": "lie"}
    assert daemon.ask("POST", "/v1/sessions/s-1/comms/draft", lie | {"reply_to": "17", "body": "Yes."})[0] == 202
    headers = {"Authorization": "Bearer of-the-agent", "X-Else": "1"}
    asked = {"method": "GET", "url": "https://example.com/", "headers": headers, "secret_name": "lie"}
    assert daemon.ask("POST", "/v1/sessions/s-1/comms/http", asked)[0] == 202
    draft, call = daemon.items()
    assert draft["args"] == REQUESTS["comms_draft"]["args"] | {"reply_to": "17", "draft_body": "Yes."}
    assert call["args"] == {"method": "GET", "url": "https://example.com/", "body": "", "secret_name": "example-api"}
    assert daemon.headers_sent()[-1] == headers


def test_an_unprotected_daemon_has_no_token(home: Path) -> None:
    with FakeDaemon(home, unprotected=True) as daemon:
        assert "token" not in json.loads(daemon.file.read_bytes())
        assert answer(daemon, "GET", LIST, {})[0].status == 200
        assert answer(daemon, "GET", "/v1/auth/handshake", {})[0].status == 204


# The list


def test_a_request_on_the_wire(daemon: FakeDaemon) -> None:
    id_ = daemon.register(args={"z": 1, "draft_id": "r<1>", "big": 1e21, "whole": 2.0})
    response, body = answer(daemon, "GET", LIST, daemon.headers)
    assert response.headers["Content-Type"] == "application/json"
    at = json.loads(body)["items"][0]["requested_at"]
    assert TIME.fullmatch(at)
    preview = json.dumps(PREVIEW, separators=(",", ":"))
    assert body.decode() == (
        f'{{"items":[{{"id":"{id_}","kind":"action","action_name":"send-draft","connector_fqn":"{GOOGLE}",'
        f'"args":{{"big":1e+21,"draft_id":"r\\u003c1\\u003e","whole":2,"z":1}},"session_id":"{SESSION}",'
        f'"requested_at":"{at}","preview":{preview},"input_fields":[{{"label":"Draft id","value":"r\\u003c1\\u003e"}},'
        '{"label":"big","value":"1000000000000000000000"},{"label":"whole","value":"2"},{"label":"z","value":"1"}]}]}'
    )
    assert re.fullmatch(r"act-\d{8}T\d{6}-[0-9a-f]{16}", id_)


def test_an_empty_list_is_a_list(daemon: FakeDaemon) -> None:
    assert answer(daemon, "GET", LIST, daemon.headers)[1] == b'{"items":[]}'


def test_the_list_is_oldest_first_and_pending_only(daemon: FakeDaemon) -> None:
    newer = daemon.register_many(3, "shell")
    older = daemon.register(requested_at="2026-05-12T12:15:30.123456789+02:00")
    oldest = daemon.register(requested_at="2026-05-12T12:15:30.12+02:30")
    assert [one["id"] for one in daemon.items()] == [oldest, older, *newer]
    daemon.decide(older, approved=False)
    assert [one["id"] for one in daemon.items()] == [oldest, *newer] == daemon.pending()


def test_input_rows_are_go_text(daemon: FakeDaemon) -> None:
    args = {"guests": ["a", 2, {"k": None}], "where": {"b": 1.5, "a": True}, "note": "", "extra": 1000000, "gone": None}
    daemon.register(action_name="create-event", args=args)
    assert daemon.items()[0]["input_fields"] == [
        {"label": "title", "missing": True},
        {"label": "guests", "value": "[a 2 map[k:<nil>]]"},
        {"label": "where", "value": "map[a:true b:1.5]"},
        {"label": "note", "multiline": True},
        {"label": "extra", "value": "1000000"},
    ]


@pytest.mark.parametrize(
    ("kind", "name", "args"),
    [
        ("comms_send", "send_message", {"service", "channel", "body"}),
        (
            "comms_draft",
            "draft_reply",
            {"service", "channel", "original_author", "original_body", "draft_body", "reply_to"},
        ),
        ("http_request", "http_request", {"method", "url", "body", "secret_name"}),
        ("shell", "shell", {"command", "reason", "cwd"}),
        ("not-known-yet", "not-known-yet", set()),
    ],
)
def test_kinds(daemon: FakeDaemon, kind: str, name: str, args: set[str]) -> None:
    daemon.register(kind)
    (item,) = daemon.items()
    assert (item["kind"], item["action_name"], set(item["args"])) == (kind, name, args)
    assert "preview" not in item
    assert "input_fields" not in item


# The stream


def test_the_stream(daemon: FakeDaemon) -> None:
    first = daemon.register()
    with Listener(daemon) as one, Listener(daemon) as two:
        for name, value in {
            "Content-Type": "text/event-stream",
            "Cache-Control": "no-cache",
            "Connection": "keep-alive",
            "X-Accel-Buffering": "no",
        }.items():
            assert one.response.headers[name] == value
        for stream in (one, two):
            assert stream.event() == ("snapshot", {"items": daemon.items()})
        second = daemon.register("shell")
        for stream in (one, two):
            assert stream.event() == ("pending", daemon.items()[1])
        daemon.decide(first, approved=True)
        daemon.decide(second, approved=False, reason="not now")
        for stream in (one, two):
            name, said = stream.event()
            at = said.pop("decided_at")
            assert TIME.fullmatch(at)
            assert (name, said) == ("resolved", {"id": first, "kind": "action", "approved": True})
            name, said = stream.event()
            said.pop("decided_at")
            assert (name, said) == ("resolved", {"id": second, "kind": "shell", "approved": False, "reason": "not now"})


def test_a_stream_that_is_closed_is_forgotten(daemon: FakeDaemon) -> None:
    with Listener(daemon) as stream:
        stream.event()
        daemon.wait_for_watchers(1)
    daemon.wait_for_watchers(0)


# The edges of HTTP


def test_the_request_id_comes_back(daemon: FakeDaemon) -> None:
    assert answer(daemon, "GET", "/v1/health", {"X-Request-ID": "mine"})[0].headers["X-Request-ID"] == "mine"
    assert re.fullmatch(r"[0-9a-f]{16}", answer(daemon, "GET", "/v1/health", {})[0].headers["X-Request-ID"])


def test_unknown_paths_are_the_webapp(daemon: FakeDaemon) -> None:
    for path in ("/v1/no-such-thing", f"{LIST}/{daemon.register()}"):
        response, body = answer(daemon, "GET", path, daemon.headers)
        assert (response.status, response.headers.get_content_type()) == (200, "text/html")
        assert body.startswith(b"<!doctype html>")


def test_options_and_origins(daemon: FakeDaemon) -> None:
    response, _ = answer(daemon, "OPTIONS", LIST, {"Origin": "https://evil.example"})
    assert response.status == 204
    assert response.headers["Access-Control-Allow-Origin"] == "https://evil.example"


def test_one_connection_serves_many_requests(daemon: FakeDaemon) -> None:
    connection = http.client.HTTPConnection(*daemon.address, timeout=PATIENCE)
    connection.connect()
    socket_before = connection.sock
    for _ in range(3):
        connection.request("POST", f"{LIST}/unknown/decide", iter([b'{"approved"', b":true}"]), daemon.headers)
        response = connection.getresponse()
        assert response.status == 404
        response.read()
    assert connection.sock is socket_before
    connection.close()
