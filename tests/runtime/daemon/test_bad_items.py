"""One request that cannot be read never hides the others, and no exception ends the threads that listen."""

import json
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import utc_now
from aileron_tui.runtime.daemon import request_reader
from aileron_tui.runtime.daemon.daemon_client import DaemonClient
from aileron_tui.runtime.daemon.tracker import Tracker
from tests.daemon.process import FakeDaemon
from tests.runtime.daemon.consoles import Console

DEEP = "[" * 200 + "]" * 200
UNREADABLE = {
    "a number of many digits": f'{{"id": "bad", "args": {{"n": {"9" * 5000}}}}}',
    "a number out of range": '{"id": "bad", "args": {"n": 1e400}}',
    "deep nesting": f'{{"id": "bad", "args": {{"n": {DEEP}}}}}',
    "very deep nesting": f'{{"args": {{"n": {"[" * 5000}{"]" * 5000}}}, "id": "bad"}}',
    "a key twice": '{"id": "bad", "args": {"to": "alice", "to": "eve"}}',
    "half a character": '{"id": "bad", "args": {"to": "\\ud800"}}',
    "a constant": '{"args": {"id": "worse", "n": NaN}, "id": "bad"}',
}
ODD = {
    "kind": [],
    "action_name": {"a": 1},
    "args": "text",
    "requested_at": 10**300,
    "session_id": [None],
    "connector_fqn": 7,
    "preview": "no",
    "input_fields": {"label": 1},
}


def listed(*items: str) -> dict[str, Any]:
    body = f'{{"items": [{", ".join(items)}]}}'
    return {"list": {"status": 200, "body": body}}


def good(id_: str) -> str:
    return json.dumps({"id": id_, "kind": "action", "action_name": "send-draft", "args": {"draft_id": "r-1"}})


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_request_is_listed_by_its_id(daemon: FakeDaemon, folder: Path, text: str) -> None:
    daemon.switch(answers=listed(good("first"), text, good("last")), silent_streams=True)
    with Console(daemon, folder) as console:
        console.until_waiting("first", "bad", "last")
        item = console.item("bad")
        assert "cannot be read" in item.cautions_at(utc_now())[0]
        assert not console.item("first").deny_only
        with pytest.raises(AileronError, match="can only be denied"):
            console.source.decide(item, Verdict.APPROVE)
    assert daemon.decisions() == []


def test_an_unreadable_request_can_be_denied(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register()
    text = UNREADABLE["a key twice"].replace("bad", id_)
    daemon.switch(answers=listed(text), silent_streams=True)
    with Console(daemon, folder) as console:
        assert console.decide(id_, Verdict.DENY, "what is this?") is RequestState.DENIED
    assert daemon.result(id_) == {"status": "denied", "reason": "what is this?"}


@pytest.mark.parametrize("name", ODD)
def test_a_field_of_the_wrong_type_hides_nothing(daemon: FakeDaemon, folder: Path, name: str) -> None:
    odd = json.loads(good("odd")) | {name: ODD[name]}
    daemon.switch(answers=listed(good("first"), json.dumps(odd), good("last")), silent_streams=True)
    with Console(daemon, folder) as console:
        console.until_waiting("first", "odd", "last")


@pytest.mark.parametrize("id_", ['"id": 7', '"id": ""', '"id": ".."', '"id": "a", "id": "b"', '"no": 1'])
def test_a_request_without_a_usable_id_is_counted(daemon: FakeDaemon, folder: Path, id_: str) -> None:
    daemon.switch(answers=listed(good("first"), f'{{{id_}, "args": {{}}}}', good("last")), silent_streams=True)
    with Console(daemon, folder) as console:
        console.until_waiting("first", "last")
        console.until(lambda: console.board.unreadable_count == 1)


@pytest.mark.parametrize("error", [RecursionError, MemoryError, OverflowError, KeyError])
def test_any_error_in_reading_one_request_is_contained(
    daemon: FakeDaemon, folder: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(value: Any, **options: Any) -> Any:
        if value["id"] == bad:
            raise error("no")
        return read(value, **options)

    first, bad, last = daemon.register_many(3)
    read = request_reader.read_daemon_request
    monkeypatch.setattr(request_reader, "read_daemon_request", fail)
    with Console(daemon, folder) as console:
        console.until_waiting(first, bad, last)
        assert error.__name__ in console.item(bad).deny_only
        assert console.decide(last) is RequestState.RUNNING
        console.until_state(last, RequestState.EXECUTED)
        assert console.faults == []


def test_any_error_in_applying_an_event_is_contained(
    daemon: FakeDaemon, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(tracker: Tracker, id_: str) -> None:
        raise KeyError(id_)

    first, second = daemon.register_many(2)
    with Console(daemon, folder, list_every=0.1) as console:
        daemon.wait_for_watchers()
        console.until_waiting(first, second)
        monkeypatch.setattr(Tracker, "apply_answer", fail)
        daemon.resolve(first)
        console.until(lambda: any(event.name == "unreadable" for event in console.heard))
        console.until_waiting(second)  # from the list
        assert console.faults == []


def test_an_error_in_one_list_does_not_end_the_polling(
    daemon: FakeDaemon, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.switch(silent_streams=True)
    with Console(daemon, folder, list_every=0.1) as console:
        daemon.wait_for_watchers()
        waiting, failures = DaemonClient.waiting, iter((KeyError("no"), RecursionError("no")))

        def fail(client: DaemonClient) -> Any:
            if error := next(failures, None):
                raise error
            return waiting(client)

        monkeypatch.setattr(DaemonClient, "waiting", fail)
        id_ = daemon.register()
        console.until_waiting(id_)
        assert console.faults == []


def test_an_error_that_stays_takes_the_source_offline(
    daemon: FakeDaemon, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Console(daemon, folder, list_every=0.05, again=False) as console:
        daemon.wait_for_watchers()

        def fail(client: DaemonClient) -> Any:
            raise KeyError("no")

        monkeypatch.setattr(DaemonClient, "waiting", fail)
        console.until(lambda: bool(console.faults))
        assert "the daemon cannot be polled" in str(console.faults[0])
        assert console.stale or not console.waiting
