"""The list and the stream."""

import pytest

from tests.conformance.wire import Wire, body_of, check_request, moment


def test_the_list(wire: Wire) -> None:
    items = wire.waiting()
    for item in items:
        check_request(item)
    ids = [item["id"] for item in items]
    assert len(set(ids)) == len(ids)


def test_the_list_is_oldest_first(wire: Wire) -> None:
    items = wire.waiting()
    if len(items) < 2:
        pytest.skip("fewer than two requests are waiting: start the daemon with --dev-seed-approvals")
    asked = [moment(item["requested_at"]) for item in items]
    assert asked == sorted(asked)


def test_what_is_listed_waits(wire: Wire) -> None:
    for item in wire.waiting()[:5]:
        assert wire.result(item["id"]) == {"status": "pending_approval"}


def test_args_by_kind(wire: Wire) -> None:
    expected = {
        "comms_send": {"service", "channel", "body"},
        "comms_draft": {"service", "channel", "draft_body"},
        "http_request": {"method", "url", "secret_name"},
        "shell": {"command"},
    }
    found = [item for item in wire.waiting() if item.get("kind") in expected and "args" in item]
    if not found:
        pytest.skip("only actions are waiting: start the daemon with --dev-seed-approvals")
    for item in found:
        assert expected[item["kind"]] <= item["args"].keys()


def test_the_stream_begins_with_what_waits(wire: Wire) -> None:
    before = wire.waiting()
    with wire.stream() as stream:
        assert stream.response.headers["content-type"].split(";")[0] == "text/event-stream"
        assert stream.snapshot() == before


def test_the_stream_is_kept_alive(wire: Wire) -> None:
    # 30 seconds on a real daemon; the console gives up after 75.
    with wire.stream(patience=45) as stream:
        stream.snapshot()
        assert stream.frame()[0].startswith((":", "event:"))


def test_everybody_hears_of_an_answer(wire: Wire) -> None:
    """Uses up one request: it is denied."""
    item = wire.spare()
    with wire.stream() as one, wire.stream() as two:
        one.snapshot()
        two.snapshot()
        wire.deny(item["id"], reason="conformance: stream")
        for stream in (one, two):
            said = stream.about("resolved", item["id"])
            assert said["approved"] is False
            assert said["reason"] == "conformance: stream"
            assert said.get("kind", item.get("kind")) == item.get("kind", said.get("kind"))
            assert moment(said["decided_at"]) >= moment(item["requested_at"])
    with wire.stream() as later:
        assert item["id"] not in [one["id"] for one in later.snapshot()]


def test_everybody_hears_of_a_new_request(wire: Wire) -> None:
    """Asks for a gated action and denies it."""
    if not wire.may_approve:
        pytest.skip("asks for something as an agent would: needs --may-approve")
    gated = [
        action
        for action in wire.get("/v1/actions")["items"]
        if action.get("enabled", True) and (action.get("approval") or {}).get("required")
    ]
    if not gated:
        pytest.skip("this daemon has no action that needs approval")
    values = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
    args = {one["name"]: values[one["type"]] for one in gated[0].get("inputs", [])}
    with wire.stream(patience=30) as one, wire.stream(patience=30) as two:
        one.snapshot()
        two.snapshot()
        answer = wire.http.post(f"/v1/actions/{gated[0]['name']}/run", json={"args": args}, timeout=30)
        if answer.status_code == 412:
            pytest.skip("the vault is locked, so no action can be asked for")
        assert wire.http.post(f"/v1/actions/{gated[0]['name']}/run").status_code == 400
        assert answer.status_code == 202, answer.text
        told = body_of(answer)
        assert told["status"] == "pending_approval"
        for stream in (one, two):
            item = stream.about("pending", told["approval_id"])
            check_request(item)
            assert item["action_name"] == gated[0]["name"]
            assert item.get("args", args) == args
        assert wire.waiting()[-1] == item
        wire.deny(item["id"])


def test_a_draft_is_filled_in_by_the_daemon(wire: Wire) -> None:
    """Asks for a reply as an agent would, and denies it."""
    if not wire.may_approve:
        pytest.skip("asks for something as an agent would: needs --may-approve")
    made = wire.http.post("/v1/sessions", json={"agent": "conformance", "working_dir": "/"})
    if not made.is_success:
        pytest.skip(f"this daemon opened no session: {made.status_code}")
    lie = {"service": "lie", "channel": "lie", "original_author": "lie", "draft_body": "lie"}
    asked = lie | {"reply_to": "1", "body": "Yes."}
    answer = wire.http.post(f"/v1/sessions/{made.json()['id']}/comms/draft", json=asked)
    if answer.status_code != 202:
        pytest.skip(f"there is nothing to reply to on this daemon: {answer.status_code}")
    (item,) = [one for one in wire.waiting() if one["id"] == body_of(answer)["approval_id"]]
    assert item["args"]["draft_body"] == "Yes."
    assert "lie" not in item["args"].values()
    wire.deny(item["id"])
