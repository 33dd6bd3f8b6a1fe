"""What an unreliable or hostile opencode can do: nothing is answered twice, lost or hidden by it."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.prompt import lines
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import InvalidReply, NoReply
from tests.hostile import HOSTILE
from tests.runtime.opencode.consoles import OpencodeConsole
from tests.runtime.opencode.fake_server import RECORDED, FakeOpencode

GARBAGE: Final = (
    b"data: {\n\n",
    b"data: []\n\n",
    b'data: {"payload":{"type":"permission.asked"}}\n\n',
    b'data: {"directory":1,"payload":{"type":"permission.asked","properties":[]}}\n\n',
    b'data: {"directory":"/x","payload":{"type":"permission.asked","properties":{"id":7}}}\n\n',
    b'data: {"directory":"/x","payload":{"type":"permission.replied","properties":{"requestID":{}}}}\n\n',
    b'data: {"directory":"/x","payload":{"properties":{"part":{"callID":[]}}}}\n\n',
    b": comment\n\n",
)


def problem(console: OpencodeConsole) -> str:
    return next((event.problem for event in reversed(console.heard) if event.problem is not None), "")


def test_a_cut_stream_is_opened_again_and_nothing_is_lost(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        one = server.ask("read")
        console.item(one)
        server.silent_events = True
        server.cut()
        other = server.ask("bash")
        console.until_waiting(one, other)


def test_what_the_events_left_out_is_found_in_the_list(server: FakeOpencode, folder: Path) -> None:
    server.silent_events = True
    with OpencodeConsole(server, folder) as console:
        id_ = server.ask()
        console.until_waiting(id_)
        server.end(id_, "once")
        console.until_waiting()


@pytest.mark.parametrize("data", GARBAGE)
def test_events_that_cannot_be_read_change_nothing(server: FakeOpencode, folder: Path, data: bytes) -> None:
    with OpencodeConsole(server, folder) as console:
        one = server.ask("read")
        console.until(lambda: server.listeners == 1)
        server.send_raw(data)
        other = server.ask("bash")
        console.until_waiting(one, other)


@pytest.mark.parametrize(
    "bad",
    [None, 7, [], {}, {"id": 7}, {"id": ""}, {"id": ".."}, {"id": "per_x"}, {"id": "per_x", "permission": []}],
)
def test_one_bad_request_does_not_hide_the_others(server: FakeOpencode, folder: Path, bad: Any) -> None:
    id_ = server.ask()
    server.raw_list = json.dumps([bad, server.requests[id_][1]]).encode()
    with OpencodeConsole(server, folder) as console:
        console.until(lambda: id_ in console.waiting)
        assert not console.item(id_).deny_only
        if bad and isinstance(bad, dict) and bad["id"] == "per_x":
            assert console.item("per_x").deny_only


def test_a_list_that_opencode_cannot_make_is_told_and_the_known_requests_stay(
    server: FakeOpencode, folder: Path
) -> None:
    with OpencodeConsole(server, folder) as console:
        console.until(lambda: server.listeners == 1)
        server.broken_list = True
        id_ = server.ask()
        console.until(lambda: "cannot list its requests" in problem(console))
        assert console.waiting == [id_]
        assert console.decide(id_) is RequestState.RUNNING
        console.until_state(id_, RequestState.EXECUTED)
        server.broken_list = False
        console.until(lambda: problem(console) == "")


def test_commands_say_that_opencode_cannot_list(server: FakeOpencode, folder: Path) -> None:
    id_ = server.ask()
    server.broken_list = True
    console = OpencodeConsole(server, folder)
    try:
        with pytest.raises(InvalidReply, match="cannot list"):
            console.source.waiting()
        with pytest.raises(InvalidReply, match="cannot list"):
            console.source.item(id_)
    finally:
        console.source.close()


def test_with_a_broken_list_and_no_call_nothing_is_approved(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        console.until(lambda: server.listeners == 1)
        server.broken_list = server.no_messages = True
        id_ = server.ask()
        with pytest.raises(InvalidReply, match="may have changed"):
            console.decide(id_)
    assert server.replies == []


def test_a_lost_reply_is_looked_up_and_not_sent_again(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        id_ = server.ask()
        console.item(id_)
        server.lose_reply = True
        assert console.decide(id_) in (RequestState.RUNNING, RequestState.EXECUTED)
        console.until_state(id_, RequestState.EXECUTED)
    assert len(server.replies) == 1


def test_an_answer_that_did_not_arrive_is_told_and_can_be_given_again(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        id_ = server.ask()
        console.item(id_)
        server.drop_reply = True
        with pytest.raises(NoReply, match="still waiting"):
            console.decide(id_)
        server.drop_reply = False
        assert console.decide(id_) is RequestState.RUNNING
    assert len(server.replies) == 2


def test_an_id_that_is_used_for_another_call_is_a_new_prompt(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        id_ = server.ask("read", id_="per_same")
        before = console.item(id_)
        server.ask("bash", id_="per_same")
        console.until(lambda: console.item(id_).prompt.action == "bash")
        assert console.item(id_).digest != before.digest


def test_two_different_requests_with_one_id_can_only_be_denied(server: FakeOpencode, folder: Path) -> None:
    server.ask("read", id_="per_same")
    first = server.requests["per_same"][1]
    server.ask("bash", id_="per_same")
    server.raw_list = json.dumps([first, server.requests["per_same"][1]]).encode()
    with OpencodeConsole(server, folder) as console:
        assert "two different requests" in console.item("per_same").deny_only


def test_a_restart_withdraws_what_waited(folder: Path) -> None:
    with FakeOpencode() as server, OpencodeConsole(server, folder) as console:
        id_ = server.ask()
        console.item(id_)
        port = server.port
        server.stop()
        console.until(lambda: console.stale)
        with FakeOpencode(port=port) as again:
            console.until_state(id_, RequestState.WITHDRAWN)
            assert again.replies == []


def test_a_huge_request_is_shown_whole(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        id_ = server.ask("write", metadata={"diff": "+x\n" * 100_000})
        assert str(console.item(id_).prompt.preview).count("+x") == 100_000
        assert console.decide(id_, Verdict.DENY) is RequestState.DENIED


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_made_visible(server: FakeOpencode, folder: Path, name: str) -> None:
    text = HOSTILE[name]
    request = dict(RECORDED["requests"]["read"]) | {"patterns": [text], "metadata": {text: text}}
    message = json.loads(json.dumps(RECORDED["messages"]["read"]))
    next(part for part in message["parts"] if part["type"] == "tool")["state"]["input"] = {"filePath": text}
    server.messages[message["info"]["id"]] = message
    server.requests[request["id"]] = ("/home/lin/project", request)
    console = OpencodeConsole(server, folder)
    try:
        shown = console.source.item(request["id"])
        assert all(line.isprintable() for line in lines(shown.prompt, daemon=True))
    finally:
        console.source.close()
