"""Listening to one source: what is heard, what silence is called, and whose name it bears."""

import threading
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import pytest

from aileron_tui.core.errors import AileronError
from aileron_tui.runtime.errors import NoReply, NotAllowed
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.surface import source_listener
from aileron_tui.surface.operator_key import TemporaryOperatorKey
from aileron_tui.surface.source import SourceSpec
from aileron_tui.surface.source_listener import ConnectionState, Reconnecting, SourceListener, SourceLost
from tests.console.scripted_gate import ScriptedGate, request


class Stubborn(ScriptedGate):
    """Does something else at each connection, the last thing for ever."""

    def __init__(self, *turns: Callable[[], Iterator[SourceEvent | None]]) -> None:
        super().__init__(name="work")
        self._turns = list(turns)

    def watch(self, after: int = 0) -> Iterator[SourceEvent | None]:
        self.connections += 1
        turn = self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]
        yield from turn()


def hears() -> Iterator[SourceEvent | None]:
    yield SourceEvent(1, "snapshot", {}, (request(1),), "work")


def breaks() -> Iterator[SourceEvent | None]:
    yield from hears()
    raise NoReply("the connection broke")


def raising(error: Exception) -> Iterator[SourceEvent | None]:
    raise error


def fails() -> Iterator[SourceEvent | None]:
    yield from raising(NoReply("nobody answers"))


def refuses() -> Iterator[SourceEvent | None]:
    yield from raising(NotAllowed(401, {}))


def bursts() -> Iterator[SourceEvent | None]:
    yield from raising(ZeroDivisionError("a fault nobody foresaw"))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries again at once."""
    monkeypatch.setattr(source_listener, "FOREVER", Reconnecting(0.001, 0.01))


class Latch(TemporaryOperatorKey):
    """A key that can be unlocked again."""

    def unlock(self, passphrase: bytearray) -> None:
        self._key = for_this_run()


def listening(gate: ScriptedGate) -> tuple[SourceListener, threading.Event]:
    news = threading.Event()

    def connect(_: UnlockedKey) -> ScriptedGate:
        return gate

    made = SourceListener(SourceSpec("work", connect, "gate"), TemporaryOperatorKey(for_this_run()), news.set)
    made.start()
    return made, news


def until(link: SourceListener, true: Callable[[], bool]) -> list[SourceEvent]:
    taken: list[SourceEvent] = []
    end = monotonic() + 10
    while monotonic() < end:
        taken += link.take_events()
        if true():
            return taken
        threading.Event().wait(0.005)
    raise AssertionError(f"it did not come to that: {link.status}")


@pytest.mark.parametrize(
    ("turns", "reach", "why"),
    [
        ((fails,), ConnectionState.OFFLINE, "nobody answers"),
        ((refuses,), ConnectionState.OFFLINE, "refused"),
        ((breaks, fails), ConnectionState.STALE, "nobody answers"),
        ((breaks, refuses), ConnectionState.OFFLINE, "refused"),
        ((hears, fails), ConnectionState.STALE, "nobody answers"),
        ((bursts,), ConnectionState.OFFLINE, "ZeroDivisionError"),
        ((breaks, bursts), ConnectionState.STALE, "ZeroDivisionError"),
    ],
    ids=["never heard", "refused", "broke", "refused later", "hung up", "fault", "fault later"],
)
def test_silence_is_called_what_it_is_and_it_is_tried_again(
    turns: tuple[Callable[[], Iterator[SourceEvent | None]], ...], reach: ConnectionState, why: str
) -> None:
    gate = Stubborn(*turns)
    link, _ = listening(gate)
    try:
        until(link, lambda: link.status.state is reach and why in link.status.why)
        since, connections = link.status.since, gate.connections
        until(link, lambda: gate.connections > connections + 2)
        assert link.status.since == since != ""
    finally:
        link.stop()


def test_it_is_heard_again_after_a_break() -> None:
    gate = ScriptedGate(request(1), name="work")
    link, news = listening(gate)
    try:
        assert link.status.state is ConnectionState.CONNECTING
        taken = until(link, lambda: link.status.state is ConnectionState.LIVE)
        assert news.is_set()
        assert [event.name for event in taken] == ["snapshot"]
        gate.hang_up()
        until(link, lambda: link.status.state is ConnectionState.STALE)
        assert link.source is None
        gate.down = False
        until(link, lambda: link.status.state is ConnectionState.LIVE)
        assert (link.status.since, link.status.why) == ("", "")
    finally:
        link.stop()


def test_what_is_heard_bears_the_name_of_the_source_whatever_it_says() -> None:
    def lies() -> Iterator[SourceEvent | None]:
        yield SourceEvent(1, "snapshot", {}, (request(1),), "home")
        yield from iter([None])
        threading.Event().wait(5)

    link, _ = listening(Stubborn(lies))
    try:
        taken = until(link, lambda: link.status.state is ConnectionState.LIVE)
        assert [(event.source, event.requests[0].key) for event in taken] == [("work", "work act-1")]
    finally:
        link.stop()


def test_without_a_key_nothing_is_asked() -> None:
    keys = TemporaryOperatorKey(for_this_run())
    keys.lock()

    def connect(_: UnlockedKey) -> ScriptedGate:
        raise AileronError("it was asked")

    link = SourceListener(SourceSpec("work", connect), keys, lambda: None)
    link.start()
    threading.Event().wait(0.1)
    assert link.take_events() == []
    assert link.status.state is ConnectionState.CONNECTING
    link.stop()


def test_a_connection_lost_while_locked_is_made_again_after_unlocking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate, keys, pauses = ScriptedGate(request(1), name="work"), Latch(for_this_run()), list[float]()
    link = SourceListener(SourceSpec("work", lambda _: gate, "gate"), keys, lambda: None)

    def paused(seconds: float) -> bool:
        pauses.append(seconds)
        return threading.Event().wait(0.001)

    monkeypatch.setattr(link._stop, "wait", paused)
    link.start()
    try:
        until(link, lambda: link.status.state is ConnectionState.LIVE)
        keys.lock()
        gate.hang_up()
        until(link, lambda: len(pauses) > 20)
        assert link.status.state is ConnectionState.STALE
        assert link.status.why == "the connection was closed; unlock the console to reconnect"
        assert max(pauses) < 0.0014
        gate.down = False
        keys.unlock(bytearray())
        until(link, lambda: link.status.state is ConnectionState.LIVE)
    finally:
        link.stop()


def reports(gate: ScriptedGate, **options: Any) -> list[SourceEvent | SourceLost]:
    """Everything a listener reports that gives up."""
    news = threading.Event()
    reconnecting = Reconnecting(0.001, 0.001, **options)
    made = SourceListener(
        SourceSpec("work", lambda _: gate, "gate"), TemporaryOperatorKey(for_this_run()), news.set, reconnecting
    )
    made.start()
    found: list[SourceEvent | SourceLost] = []
    while not (found and isinstance(found[-1], SourceLost) and found[-1].final):
        assert news.wait(10)
        news.clear()
        found += made.take_reports()
    return found


@pytest.mark.parametrize(
    ("turns", "connections", "error"),
    [
        ((fails,), 3, NoReply),
        ((breaks, fails), 3, NoReply),
        ((fails, breaks, fails), 4, NoReply),
        ((refuses,), 1, NotAllowed),
        ((bursts,), 1, AileronError),
        ((hears,), 1, type(None)),
    ],
    ids=["no answer", "lost", "lost twice", "refused", "fault", "closed"],
)
def test_a_listener_with_limited_tries_gives_up(
    turns: tuple[Callable[[], Iterator[SourceEvent | None]], ...], connections: int, error: type
) -> None:
    gate = Stubborn(*turns)
    found = reports(gate, tries=3)
    assert gate.connections == connections
    lost = [report for report in found if isinstance(report, SourceLost)]
    assert [report.final for report in lost] == [*[False] * (connections - 1), True]
    assert isinstance(lost[-1].error, error)


@pytest.mark.parametrize(("resume", "after"), [(True, [0, 1, 1]), (False, [0, 0, 0])])
def test_a_listener_can_resume_after_the_last_event(resume: bool, after: list[int]) -> None:
    asked: list[int] = []

    class Resumed(Stubborn):
        def watch(self, after: int = 0) -> Iterator[SourceEvent | None]:
            asked.append(after)
            yield from super().watch(after)

    reports(Resumed(breaks, fails), tries=3, resume=resume)
    assert asked == after
