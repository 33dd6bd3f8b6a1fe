"""Each switch of the streams does what it says."""

import http.client

import pytest

from tests.daemon.listener import Listener
from tests.daemon.process import FakeDaemon

LIST = "/v1/action-approvals"


def names(stream: Listener, count: int) -> list[str]:
    return [name for name, _ in stream.events(count)]


def ids(stream: Listener, count: int) -> list[str]:
    return [said["id"] for _, said in stream.events(count)]


def test_dropped_events(daemon: FakeDaemon) -> None:
    with Listener(daemon) as stream:
        stream.event()
        daemon.switch(drop_events=2)
        lost = daemon.register_many(2)
        seen = daemon.register()
        assert ids(stream, 1) == [seen]
        assert daemon.pending() == [*lost, seen]
        daemon.switch(drop_events=-1)
        daemon.register_many(5)
        daemon.switch(drop_events=0)
        last = daemon.register()
        assert ids(stream, 1) == [last]


def test_duplicate_events(daemon: FakeDaemon) -> None:
    with Listener(daemon) as stream:
        stream.event()
        daemon.switch(duplicate_events=2)
        id_ = daemon.register()
        assert ids(stream, 3) == [id_] * 3
        daemon.decide(id_, approved=True)
        assert names(stream, 3) == ["resolved"] * 3


def test_what_the_snapshot_holds_comes_again(daemon: FakeDaemon) -> None:
    waiting = daemon.register_many(2)
    daemon.switch(repeat_snapshot=True)
    with Listener(daemon) as stream:
        assert [one["id"] for one in stream.event()[1]["items"]] == waiting
        assert ids(stream, 2) == waiting


def test_chance(daemon: FakeDaemon) -> None:
    def heard() -> list[str]:
        with Listener(daemon) as stream:
            stream.event()
            daemon.switch(drop_chance=0.4, duplicate_chance=0.4, chance_seed=7)
            asked = daemon.register_many(30)
            daemon.switch(drop_chance=0, duplicate_chance=0, chance_seed=0)
            last = daemon.register()
            found = []
            while (said := stream.event()[1]["id"]) != last:
                found.append(asked.index(said))
            daemon.forget()
            return list(map(str, found))

    first = heard()
    assert 0 < len(set(first)) < 30
    assert len(first) > len(set(first))


def test_a_burst_overflows_the_buffer(daemon: FakeDaemon) -> None:
    with Listener(daemon) as stream:
        stream.event()
        many = daemon.register_many(40, burst=True)
        last = daemon.register()
        assert ids(stream, 33) == [*many[:32], last]
        assert daemon.pending() == [*many, last]


def test_a_burst_within_the_buffer_arrives_whole(daemon: FakeDaemon) -> None:
    with Listener(daemon) as stream:
        stream.event()
        many = daemon.register_many(32, burst=True)
        assert ids(stream, 32) == many


def test_without_a_burst_nothing_is_lost(daemon: FakeDaemon) -> None:
    with Listener(daemon) as stream:
        stream.event()
        many = daemon.register_many(300, "shell")
        assert ids(stream, 300) == many


def test_a_stalled_stream_overflows(daemon: FakeDaemon) -> None:
    with Listener(daemon) as stream:
        stream.event()
        daemon.switch(stall_streams=True, buffer=3)
        before = daemon.counters()["dropped"]
        many = daemon.register_many(5)
        assert daemon.counters()["dropped"] == before + 2
        daemon.switch(stall_streams=False)
        last = daemon.register()
        assert ids(stream, 4) == [*many[:3], last]


def test_a_silent_stream_is_heartbeats_only(daemon: FakeDaemon) -> None:
    daemon.switch(silent_streams=True, heartbeat=0.01)
    with Listener(daemon) as stream:
        daemon.register()
        assert [stream.frame() for _ in range(5)] == [b": heartbeat"] * 5


def test_heartbeats_between_events(daemon: FakeDaemon) -> None:
    daemon.switch(heartbeat=0.01)
    with Listener(daemon) as stream:
        assert stream.event()[0] == "snapshot"
        assert stream.frame() == b": heartbeat"
        daemon.switch(heartbeat=0)
        id_ = daemon.register()
        while (frame := stream.frame()) == b": heartbeat":
            pass
        assert id_.encode() in frame


def test_dead_silence(daemon: FakeDaemon) -> None:
    daemon.switch(silent_streams=True, heartbeat=0)
    with Listener(daemon, timeout=0.2) as stream:
        daemon.register()
        with pytest.raises(TimeoutError):
            stream.frame()


def test_streams_are_cut_or_ended(daemon: FakeDaemon) -> None:
    for clean in (False, True):
        with Listener(daemon) as stream:
            stream.event()
            daemon.frame('event: pending\ndata: {"id":"half')
            assert daemon.disconnect(clean=clean) == 1
            if clean:
                assert stream.response.read().endswith(b"half")
            else:
                with pytest.raises(http.client.IncompleteRead) as cut:
                    stream.response.read()
                assert cut.value.partial.endswith(b"half")
    daemon.wait_for_watchers(0)


def test_unknown_events(daemon: FakeDaemon) -> None:
    with Listener(daemon) as stream:
        stream.event()
        daemon.event("expired", {"id": "x"})
        assert stream.event() == ("expired", {"id": "x"})
        daemon.frame("retry: 5\nid: 7\n\n")
        assert stream.frame() == b"retry: 5\nid: 7"


def test_a_decision_without_an_event(daemon: FakeDaemon) -> None:
    with Listener(daemon) as stream:
        one, two = daemon.register_many(2)
        stream.events(3)
        daemon.resolve(one, approved=False, reason="elsewhere", silently=True)
        daemon.resolve(two)
        assert stream.event()[1]["id"] == two
        assert daemon.result(one) == {"status": "denied", "reason": "elsewhere"}
        assert daemon.decisions(one) == []


def test_a_request_without_a_trace(daemon: FakeDaemon) -> None:
    gone, stays = daemon.register_many(2)
    daemon.forget(gone)
    assert daemon.pending() == [stays]
    assert daemon.decide(gone, approved=True)[0] == 404
    assert daemon.ask("GET", f"{LIST}/{gone}/result")[0] == 404
