"""opencode as a source: what is shown, how it is answered, and what is said about the outcome."""

import copy
from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.prompt import lines
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.core.summary import summary
from aileron_tui.runtime.errors import NotAllowed, NotFound, NotWaiting, PromptChanged, RuntimeFault
from aileron_tui.runtime.opencode.opencode_client import REJECTED_TOGETHER
from aileron_tui.runtime.opencode.request_reader import NO_PASSWORD, OTHERS_REJECTED
from aileron_tui.signing.key_store import for_this_run
from tests.runtime.opencode.consoles import OpencodeConsole
from tests.runtime.opencode.fake_server import FOLDER, RECORDED, FakeOpencode


def cautions(request: Request) -> list[str]:
    return [caution.text for caution in request.cautions]


def test_a_request_shows_the_stored_arguments_and_what_opencode_tells(server: FakeOpencode, folder: Path) -> None:
    id_ = server.ask("write")
    with OpencodeConsole(server, folder) as console:
        request = console.item(id_)
        text = [str(line) for line in lines(request.prompt, daemon=True)]
    assert request.prompt.args == {"filePath": "new.txt", "content": "hello\nworld\n"}
    assert request.prompt.action == "write"
    assert text.index("agent sent") < text.index("told by opencode")
    assert any("+hello" in line for line in text[text.index("told by opencode") :])
    assert request.prompt.asker.folder == FOLDER
    assert "+hello" not in " ".join(summary(request.prompt))
    assert cautions(request) == []


@pytest.mark.parametrize("name", ["bash", "read", "edit", "outside", "grep", "task"])
def test_every_recorded_request_can_be_read(server: FakeOpencode, folder: Path, name: str) -> None:
    id_ = server.ask(name)
    with OpencodeConsole(server, folder) as console:
        request = console.item(id_)
    assert not request.deny_only
    assert request.prompt.args == server.part(id_)["state"]["input"]


def test_an_approval_is_sent_once_and_never_as_always(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        id_ = server.ask()
        assert console.decide(id_) is RequestState.RUNNING
        console.until_state(id_, RequestState.EXECUTED)
        assert [one.verdict for one in console.signed(id_)] == [Verdict.APPROVE]
        assert console.signed(id_)[0].digest == console.board.requests[id_].digest
    assert server.replies == [(id_, FOLDER, {"reply": "once"})]
    assert console.story(id_)[:3] == ["asked", "preview", "shown"]


def test_a_denial_carries_the_reason(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        id_ = server.ask()
        assert console.decide(id_, Verdict.DENY, "not now") is RequestState.DENIED
        console.until_state(id_, RequestState.DENIED)
    assert server.replies == [(id_, FOLDER, {"reply": "reject", "message": "not now"})]


def test_a_denial_withdraws_the_other_requests_of_the_session(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        one, other = server.ask_two()
        console.until(lambda: OTHERS_REJECTED in cautions(console.item(one)))
        assert OTHERS_REJECTED in cautions(console.item(other))
        console.decide(one, Verdict.DENY)
        console.until_state(other, RequestState.WITHDRAWN)
        assert console.note(other) == REJECTED_TOGETHER
        console.until_state(one, RequestState.DENIED)
    assert console.story(other)[-1] == "told withdrawn"


def test_a_caution_about_others_goes_with_them(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        one, other = server.ask_two()
        console.until(lambda: OTHERS_REJECTED in cautions(console.item(one)))
        server.end(other, "once")
        console.until(lambda: OTHERS_REJECTED not in cautions(console.item(one)))


def test_a_second_denial_in_a_session_is_not_taken_for_somebody_elses(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        one, other = server.ask_two()
        first, second = console.item(one), console.item(other)
        console.source.decide(first, Verdict.DENY)
        console.until_state(other, RequestState.WITHDRAWN)
        with pytest.raises(NotFound, match=REJECTED_TOGETHER):
            console.source.decide(second, Verdict.DENY)


@pytest.mark.parametrize(("reply", "state"), [("once", RequestState.EXECUTED), ("reject", RequestState.DENIED)])
def test_an_answer_in_opencode_itself_is_told(
    server: FakeOpencode, folder: Path, reply: str, state: RequestState
) -> None:
    with OpencodeConsole(server, folder) as console:
        id_ = server.ask()
        item = console.item(id_)
        server.end(id_, reply)
        console.until_state(id_, state)
        assert "elsewhere" in console.board.pill(id_).words
        with pytest.raises(RuntimeFault):
            console.source.decide(item, Verdict.APPROVE)
    assert server.replies == [] or server.replies[-1][2] == {"reply": "once"}


def test_arguments_that_come_later_make_a_new_prompt(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        pending = copy.deepcopy(RECORDED["messages"]["bash"])
        server.messages[pending["info"]["id"]] = pending
        tool = next(part for part in pending["parts"] if part["type"] == "tool")
        stored, tool["state"] = tool["state"], dict(RECORDED["pending"])
        id_ = server.ask()
        before = console.item(id_)
        assert "not stored the arguments" in cautions(before)[0]
        assert before.prompt.risk.level is RiskLevel.HIGH
        server.change(id_, **stored)
        console.until(lambda: console.item(id_).digest != before.digest)
        assert console.item(id_).prompt.args == stored["input"]
        with pytest.raises(PromptChanged):
            console.source.decide(before, Verdict.APPROVE)
    assert server.replies == []


def test_unknown_arguments_are_a_warning_and_can_be_decided(server: FakeOpencode, folder: Path) -> None:
    server.no_messages = True
    with OpencodeConsole(server, folder) as console:
        id_ = server.ask()
        request = console.item(id_)
        assert "arguments of this call are not known" in cautions(request)[0]
        assert console.decide(id_) is RequestState.RUNNING


def test_a_call_that_changed_since_it_was_shown_is_not_approved(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        id_ = server.ask("read")
        request = console.item(id_)
        server.silent_events = True
        server.change(id_, input={"filePath": "/etc/shadow"})
        with pytest.raises(PromptChanged):
            console.source.decide(request, Verdict.APPROVE)
        assert console.story(id_) == ["asked", "preview", "shown"]
        console.until(lambda: console.item(id_).prompt.args == {"filePath": "/etc/shadow"})
    assert server.replies == []


def test_a_stored_command_that_opencode_does_not_ask_about_can_only_be_denied(
    server: FakeOpencode, folder: Path
) -> None:
    with OpencodeConsole(server, folder) as console:
        id_ = server.ask()
        console.item(id_)
        server.change(id_, input={"command": "ls", "description": "marker"})
        console.until(lambda: bool(console.item(id_).deny_only))
        assert '"command"' in console.item(id_).deny_only
        with pytest.raises(RuntimeFault):
            console.decide(id_)
    assert server.replies == []


def test_an_aborted_call_can_only_be_denied(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        id_ = server.ask()
        console.item(id_)
        server.change(id_, **{key: value for key, value in RECORDED["aborted"].items() if key != "input"})
        console.until(lambda: "already ended" in console.item(id_).deny_only)
        assert console.decide(id_, Verdict.DENY) is RequestState.DENIED


def test_without_a_password_every_request_has_a_caution(folder: Path) -> None:
    with FakeOpencode() as server, OpencodeConsole(server, folder) as console:
        assert NO_PASSWORD in cautions(console.item(server.ask()))


def test_a_wrong_password_is_told_without_repeating_it(server: FakeOpencode, folder: Path) -> None:
    console = OpencodeConsole(server, folder)
    server.password = "another"
    with pytest.raises(NotAllowed) as refused:
        next(console.source.watch())
    assert "correct" not in str(refused.value)
    console.source.close()


def test_requests_of_other_folders_are_answered_there(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        console.until(lambda: server.listeners == 1)
        id_ = server.ask(folder="/home/lin/other project")
        assert console.item(id_).prompt.asker.folder == "/home/lin/other project"
        console.decide(id_)
    assert server.replies[0][1] == "/home/lin/other project"


def test_a_request_cannot_be_edited_extended_or_made_a_rule(server: FakeOpencode, folder: Path) -> None:
    with OpencodeConsole(server, folder) as console:
        request = console.item(server.ask())
        with pytest.raises(RuntimeFault, match="unchanged"):
            console.source.refresh(request.id, {"command": "ls"})
        with pytest.raises(RuntimeFault, match="unchanged"):
            console.source.decide(request, Verdict.APPROVE, edits={"command": "ls"})
        with pytest.raises(RuntimeFault, match="opencode has no rules"):
            console.source.rules()
        assert request.why_not_extendable == "opencode sets no deadline"
        assert request.why_no_rules == "opencode has no rules: it decides itself what it asks about"
        assert request.why_not_refreshable.startswith("opencode reports changes by itself")


def test_commands_list_and_answer_without_watching(server: FakeOpencode, folder: Path) -> None:
    id_ = server.ask()
    console = OpencodeConsole(server, folder, key=for_this_run("bob"))
    try:
        assert [request.id for request in console.source.waiting()] == [id_]
        request = console.source.item(id_)
        assert console.source.decide(request, Verdict.APPROVE) is RequestState.RUNNING
        assert console.source.item(id_).state is RequestState.EXECUTED
        with pytest.raises(NotWaiting):
            console.source.decide(request, Verdict.DENY)
    finally:
        console.source.close()
    assert server.replies[0][2] == {"reply": "once"}
