"""Garbage, slowness, hostile words and sudden ends: nothing is lost, nothing hangs on, and no secret is told."""

import logging
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.daemon.daemon_client import LONGEST_ID, WrongPassphrase
from aileron_tui.runtime.daemon.daemon_discovery import Daemon, find
from aileron_tui.runtime.daemon.daemon_source import DaemonSource
from aileron_tui.runtime.errors import InvalidReply, NoReply, RuntimeFault
from aileron_tui.signing.key_store import for_this_run
from tests.daemon.garbage import KINDS as GARBAGE
from tests.daemon.process import FakeDaemon
from tests.runtime.daemon.consoles import Console

CANARY = "canary-7f3a9c1e5b2d8046"
PASSPHRASE = "canary-5c0ffee1"
SMALL = {"huge_bytes": 200_000}


def until_asked(console: Console, route: str, times: int) -> None:
    """Until the daemon was asked so often since its list of requests began; seldom looked at, so that it has time."""

    def is_asked() -> bool:
        time.sleep(0.1)
        return len(console.daemon.asked(route)) >= times

    console.until(is_asked)


# garbage


@pytest.mark.parametrize("how", GARBAGE)
def test_garbage_for_a_list_takes_nothing_away(daemon: FakeDaemon, folder: Path, how: str) -> None:
    ids = daemon.register_many(3)
    with Console(daemon, folder, list_every=0.05) as console:
        console.until_waiting(*ids)
        daemon.switch(garbage={"list": how}, **SMALL)
        daemon.forget_asked()
        more = daemon.register()  # the stream still tells
        until_asked(console, "list", 4)
        if how not in ("wrong_types", "huge"):  # those are lists, of a kind
            console.until(lambda: any(isinstance(fault, InvalidReply | NoReply) for fault in console.faults))
        daemon.reset()
        console.until_waiting(*ids, more)
        console.until(lambda: not console.stale and console.board.unreadable_count == 0)
        daemon.resolve(ids[0])
        console.until_state(ids[0], RequestState.EXECUTED)
        assert console.decide(ids[1]) is RequestState.RUNNING


@pytest.mark.parametrize("broken", [True, False], ids=["in a new connection", "in a list on the way"])
def test_requests_that_cannot_be_read_are_counted_and_come_back(daemon: FakeDaemon, folder: Path, broken: bool) -> None:
    ids = daemon.register_many(3)
    with Console(daemon, folder) as console:
        console.until_waiting(*ids)
        daemon.wait_for_watchers()
        daemon.switch(garbage={"list": "wrong_types", "watch": "wrong_types"})
        if broken:
            daemon.disconnect()
        console.until(lambda: console.board.unreadable_count >= 3)
        console.until(lambda: not console.waiting)  # what cannot be read cannot be answered
        daemon.switch(garbage={})
        console.until_waiting(*ids)
        console.until(lambda: console.board.unreadable_count == 0)
        assert console.decide(ids[0]) is RequestState.RUNNING


def test_a_list_that_was_wrong_once_is_asked_for_again(daemon: FakeDaemon, folder: Path) -> None:
    ids = daemon.register_many(2)
    with Console(daemon, folder, list_every=10_000.0) as console:
        console.until_waiting(*ids)
        daemon.wait_for_watchers()
        daemon.switch(answers={"list": {"status": 200, "body": {"items": []}, "times": 1}})
        daemon.frame("event: pending\ndata: not json\n\n")  # so the list is asked for
        console.until(lambda: sum(event.name == "snapshot" for event in console.heard) == 2)
        assert console.waiting == ids


@pytest.mark.parametrize("how", GARBAGE)
def test_garbage_for_events_leaves_the_list(daemon: FakeDaemon, folder: Path, how: str) -> None:
    daemon.switch(garbage={"watch": how}, **SMALL)
    with Console(daemon, folder) as console:
        id_ = daemon.register()
        console.until_waiting(id_)
        daemon.resolve(id_)
        console.until_state(id_, RequestState.EXECUTED)
        daemon.reset()
        console.until_waiting(daemon.register())


@pytest.mark.parametrize("how", GARBAGE)
def test_garbage_for_a_result_is_asked_for_again(daemon: FakeDaemon, folder: Path, how: str) -> None:
    daemon.switch(garbage={"result": how}, **SMALL)
    id_ = daemon.register()
    with Console(daemon, folder, list_every=0.1) as console:
        assert console.decide(id_) is RequestState.RUNNING
        daemon.forget_asked()
        until_asked(console, "result", 3)
        until_asked(console, "list", 1)  # not more: the pause between lists grows with the load
        assert not console.faults  # the rest of the daemon is well
        assert console.state(id_) is RequestState.RUNNING
        other = daemon.register()
        console.until_waiting(other)
        daemon.switch(garbage={})
        console.until_state(id_, RequestState.EXECUTED)


def test_a_bad_result_does_not_stand_between_us_and_the_list(daemon: FakeDaemon, folder: Path) -> None:
    ids = daemon.register_many(3)
    with Console(daemon, folder) as console:
        console.until_waiting(*ids)
        daemon.switch(garbage={"result": "not_json"}, answers={"list": {"status": 503, "body": {}}})
        console.until(lambda: console.stale)
        daemon.resolve(ids[0])
        daemon.switch(answers={})
        console.until(lambda: not console.stale)
        console.until_waiting(*ids[1:])
        daemon.switch(garbage={})
        console.until_state(ids[0], RequestState.EXECUTED)


@pytest.mark.parametrize("how", GARBAGE)
def test_garbage_for_the_rest_is_nobodys_end(daemon: FakeDaemon, folder: Path, how: str) -> None:
    daemon.switch(garbage={"audit": how, "vault_status": how}, **SMALL)
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        with suppress(NoReply):
            console.source.vault()
        page = console.source.history()
        assert isinstance(page["items"], list)
        assert any(isinstance(one, dict) and one["id"] == id_ for one in page["items"])


def test_a_packed_answer_that_cannot_be_unpacked(daemon: FakeDaemon, folder: Path) -> None:
    packed = {"status": 200, "body": "not packed", "headers": {"Content-Encoding": "gzip"}}
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(id_)
        daemon.switch(answers={"list": packed, "watch": packed | {"type": "text/event-stream"}})
        console.until(lambda: any(isinstance(fault, InvalidReply) for fault in console.faults))
        daemon.reset()
        console.until(lambda: not console.stale)
        console.until_waiting(id_)


def test_a_slow_daemon_is_waited_for(daemon: FakeDaemon, folder: Path) -> None:
    daemon.switch(delay={"*": 0.3}, reply_delay={"decide": 0.3})
    id_ = daemon.register()
    with Console(daemon, folder) as console:
        assert console.decide(id_) is RequestState.RUNNING
        console.until_state(id_, RequestState.EXECUTED)
        other = daemon.register()
        console.until_waiting(other)
        assert not console.faults


# the end


def running_threads() -> set[threading.Thread]:
    """The threads that were started with `threading`. The test runner starts its own in another way, at any time."""
    return {thread for thread in threading.enumerate() if not isinstance(thread, threading._DummyThread)}


def sockets() -> int:
    """How many this process has, where the system tells."""
    found = 0
    for place in Path("/proc/self/fd").iterdir() if Path("/proc/self/fd").exists() else ():
        with suppress(OSError):
            found += str(place.readlink()).startswith("socket:")
    return found


@pytest.mark.parametrize(
    "hanging", [{}, {"list": 60.0}, {"result": 60.0}, {"decide": 60.0}, {"session": 60.0}, {"watch": 60.0}], ids=str
)
def test_closing_ends_everything(daemon: FakeDaemon, folder: Path, hanging: dict[str, float]) -> None:
    before, open_before = running_threads(), sockets()
    ends, stays = daemon.register(), daemon.register()
    console = Console(daemon, folder, again=False)
    deciding: list[RuntimeFault] = []

    def decide() -> None:
        try:
            console.source.decide(item, Verdict.APPROVE)
        except RuntimeFault as error:
            deciding.append(error)

    if "watch" in hanging:
        daemon.switch(delay=hanging)
    with console:
        item = console.item(stays)
        asked = {route: len(daemon.asked(route)) for route in hanging}
        daemon.switch(delay=hanging)
        daemon.resolve(ends)
        answer = threading.Thread(target=decide)
        if "decide" in hanging:
            answer.start()
        if "session" in hanging:
            daemon.register(session_id="01JSLOW")
        if "watch" not in hanging:
            console.until(lambda: all(len(daemon.asked(route)) > count for route, count in asked.items()))
        console.source.close()
        if "decide" in hanging:
            answer.join()
            assert "not known" in deciding[0].title  # and not: it took too long
    console.until(lambda: running_threads() <= before)
    console.until(lambda: sockets() <= open_before)
    assert all("in time" not in fault.title for fault in console.faults)
    count = len(daemon.asked())
    daemon.switch(delay={})
    daemon.register()
    daemon.wait_for_watchers(0)
    assert len(daemon.asked()) == count


def test_what_is_closed_says_so(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    source = DaemonSource(find(env=daemon.environment), for_this_run("alice"), folder)
    [item] = source.waiting()
    source.close()
    source.close()
    tries: list[Callable[[], object]] = [
        source.waiting,
        source.vault,
        lambda: source.item(id_),
        lambda: next(source.watch()),
        lambda: source.decide(item, Verdict.APPROVE),
    ]
    for ask in tries:
        with pytest.raises(AileronError):
            ask()
    assert daemon.decisions(id_) == []


def test_closing_again_and_again_while_it_is_busy(daemon: FakeDaemon, folder: Path) -> None:
    """Whatever a thread was just doing, it ends without a word to anybody."""
    before, open_before = running_threads(), sockets()
    daemon.register_many(20)
    for number in range(40):
        with Console(daemon, folder, again=False, list_every=0.0):
            time.sleep(number % 10 * 0.004)
            if number % 3 == 0:
                daemon.disconnect()
    try:
        daemon.wait_until(lambda: running_threads() <= before)
    except AssertionError:
        pytest.fail(f"still running: {running_threads() - before}")
    daemon.wait_until(lambda: sockets() <= open_before)


# secrets


def words(error: BaseException) -> str:
    detail = (getattr(error, "detail", ""), getattr(error, "hint", ""), getattr(error, "body", ""))
    return f"{error!r} {error} {detail} {''.join(traceback.format_exception(error))}"


def test_a_token_is_told_to_nobody(tmp_path: Path, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    key = for_this_run("alice")
    with FakeDaemon(tmp_path / "home") as daemon:
        daemon.stop()
        daemon.start(token=CANARY)
        said: list[str] = []
        with Console(daemon, folder, key=key) as console:
            id_ = daemon.register()
            item = console.item(id_)
            said += map(repr, (console.source, find(env=daemon.environment), item))
            echo = {"error": {"code": CANARY, "message": f"Bearer {CANARY}", "details": [{"token": CANARY}]}}
            for status in (400, 401, 403, 404, 409, 423, 500, 503):
                daemon.switch(answers={"*": {"status": status, "body": echo}})
                for ask in (
                    console.source.waiting,
                    console.source._client.vault,
                    lambda: console.source.decide(item, Verdict.APPROVE),
                    lambda: console.source.item(id_),
                    lambda: console.source.unlock_vault(bytearray(b"open sesame")),
                ):
                    try:
                        ask()
                    except AileronError as error:
                        said.append(words(error))
            daemon.reset()
            console.until(lambda: not console.stale)
            daemon.switch(vault="locked")
            with pytest.raises(WrongPassphrase) as wrong:
                console.source.unlock_vault(bytearray(PASSPHRASE.encode()))
            said.append(words(wrong.value))
            console.decide(id_)
            console.source.history()
            daemon.kill()
            console.until(lambda: console.stale)
            said += map(words, console.faults)
    assert len(said) > 20
    for place in (*said, caplog.text, *(str(record.args) for record in caplog.records)):
        assert CANARY not in place
        assert PASSPHRASE not in place
    for file in folder.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        assert CANARY.encode() not in content
        assert PASSPHRASE.encode() not in content


def test_a_token_that_is_none_is_not_repeated(daemon: FakeDaemon, folder: Path) -> None:
    bad = Daemon(daemon.url, f"{CANARY}\nX-Other: yes")
    with DaemonSource(bad, for_this_run("alice"), folder) as source, pytest.raises(RuntimeFault) as refused:
        source.waiting()
    assert CANARY not in words(refused.value) + repr(bad)


# hostile words

HOSTILE = [
    "../x",
    "a/b",
    "a/../../v1/vault/unlock",
    "%2e%2e/x",
    "a?b#c",
    " ",
    "a b\tc",
    "a\nb\r\nX-Other: yes",
    "\x1b[2J\x07",
    "\u202eevil\u2066",
    "ünïcode-🜁",
    "watch",
    "x" * LONGEST_ID,
]
UNUSABLE = ["..", ".", "x" * (LONGEST_ID + 1), "x" * 1_000_000]


@pytest.mark.parametrize("id_", HOSTILE, ids=lambda id_: repr(id_)[:30])
def test_an_odd_id_is_only_an_id(daemon: FakeDaemon, folder: Path, id_: str) -> None:
    other = daemon.register()
    daemon.register(id=id_)
    asked = len(daemon.asked())
    with Console(daemon, folder) as console:
        console.until_waiting(other, id_)
        assert console.decide(id_) is RequestState.RUNNING
        assert [one["applied"] for one in daemon.decisions(id_)] == [True]
        console.until_state(id_, RequestState.EXECUTED)
        assert console.source.item(id_).state is RequestState.EXECUTED
        assert console.source.past(id_)
        assert console.waiting == [other]
        assert not console.faults
    routes = {one["route"] for one in daemon.asked()[asked:]}
    assert routes <= {"list", "watch", "decide", "result", "action", "session"}


@pytest.mark.parametrize("id_", UNUSABLE, ids=lambda id_: repr(id_)[:30])
def test_an_id_that_cannot_be_asked_for_is_not_shown(daemon: FakeDaemon, folder: Path, id_: str) -> None:
    other = daemon.register()
    with Console(daemon, folder) as console:
        console.until_waiting(other)
        daemon.wait_for_watchers()
        daemon.register(id=id_)
        console.until(lambda: console.board.unreadable_count == 1)
        daemon.resolve(id_)
        console.until(lambda: console.board.unreadable_count == 0)
        with pytest.raises(AileronError):
            console.source.item(id_)
        assert console.waiting == [other]
        assert not console.faults


@pytest.mark.parametrize("name", [*HOSTILE, *UNUSABLE], ids=lambda name: repr(name)[:30])
def test_odd_names_are_asked_for_nowhere_else(daemon: FakeDaemon, folder: Path, name: str) -> None:
    asked = len(daemon.asked())
    id_ = daemon.register(session_id=name, action_name=name, connector_fqn=name, input_fields=[])
    with Console(daemon, folder) as console:
        item = console.item(id_)
        assert (item.prompt.action, item.prompt.asker.session) == (name, name)
        assert console.decide(id_) is RequestState.RUNNING
        assert not console.faults
    targets = {one["target"] for one in daemon.asked()[asked:]}
    plain = name.replace("-", "").replace("_", "").isascii() and name.isalnum() and len(name) <= 200
    allowed = {"/v1/action-approvals", "/v1/action-approvals/watch"}
    allowed |= {f"/v1/action-approvals/{id_}/{verb}" for verb in ("decide", "result")}
    allowed.add("/v1/action-approvals/act-none/result")  # whether an empty list means that approvals are switched off
    allowed |= {f"/v1/actions/{name}", f"/v1/sessions/{name}"} if plain else set()
    assert targets <= allowed


def test_what_is_very_large_is_shown_and_answered(daemon: FakeDaemon, folder: Path) -> None:
    rows = [{"label": f"row {number}", "value": "x"} for number in range(3_000)]
    args: dict[str, Any] = {"body": "x" * 6_000_000, "list": list(range(10_000))}
    id_ = daemon.register(args=args, preview={"fields": rows}, input_fields=rows)
    with Console(daemon, folder) as console:
        item = console.item(id_)
        assert item.prompt.args["body"] == args["body"]
        assert item.prompt.preview is not None
        assert len(item.prompt.preview.rows) == 3_000
        assert console.decide(id_, Verdict.DENY) is RequestState.DENIED
        assert console.signed(id_)[0].digest == item.digest
