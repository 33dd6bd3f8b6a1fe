"""Deadlines and clocks: the ledger refuses what comes too late, and stays good whatever the clock does."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.files.boot_clock import OF_PROCESS, BootClock
from aileron_tui.ledger.errors import DeadlinePassed, EntryRefused
from aileron_tui.ledger.request_deadline import RequestDeadline
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.signing.envelope import sign
from tests.ledger.scenes import Scene, check


class FakeBoot:
    """A machine whose clock since its start, and whose start, a test can set."""

    def __init__(self, boot: str = "boot-1") -> None:
        self.now = 1000.0
        self.boot = boot

    @property
    def clock(self) -> BootClock:
        return BootClock(self.boot, lambda: self.now)


def ask_until(ledger: SqliteLedger, request: str, seconds: int, boot: BootClock, now: datetime) -> None:
    """Records a request with a deadline, as the gate does."""
    deadline = RequestDeadline(now + timedelta(seconds=seconds), boot.boot, int((boot.seconds() + seconds) * 1000))
    ledger.append(EntryKind.REQUESTED, {"action": "send-draft", "args": {}, **deadline.body()}, request)


def _advance_wall(scene: Scene, boot: FakeBoot) -> None:
    scene.clock.now += timedelta(seconds=301)


def _advance_boot(scene: Scene, boot: FakeBoot) -> None:
    boot.now += 301


def _advance_boot_and_set_wall_back(scene: Scene, boot: FakeBoot) -> None:
    boot.now += 301
    scene.clock.now -= timedelta(hours=2)


@pytest.mark.parametrize("late", [_advance_wall, _advance_boot, _advance_boot_and_set_wall_back])
def test_an_approval_after_the_deadline_is_refused_where_it_would_be_written(
    scene: Scene, late: Callable[[Scene, FakeBoot], object], boot: str
) -> None:
    machine = FakeBoot(boot)
    scene.reopen(machine.clock)
    ask_until(scene.ledger, "act-1", 300, machine.clock, scene.clock.now)
    late(scene, machine)
    with pytest.raises(DeadlinePassed, match="can no longer be approved"):
        scene.decide("act-1")
    scene.decide("act-1", Verdict.DENY)
    assert check(scene.close(), noted=True).fault is None


def test_a_clock_that_is_set_back_after_a_later_entry_extends_no_deadline(scene: Scene) -> None:
    unknown = BootClock("", lambda: 0.0)
    scene.reopen(unknown)
    ask_until(scene.ledger, "act-1", 300, unknown, scene.clock.now)
    scene.clock.now += timedelta(seconds=400)
    scene.ask("act-2")
    scene.clock.now -= timedelta(seconds=400)
    scene.reopen(unknown)
    with pytest.raises(DeadlinePassed):
        scene.decide("act-1")


def test_nothing_that_waited_can_be_approved_after_the_machine_was_restarted(scene: Scene, boot: str) -> None:
    machine = FakeBoot(boot)
    scene.reopen(machine.clock)
    ask_until(scene.ledger, "act-1", 300, machine.clock, scene.clock.now)
    machine.boot, machine.now = "boot-2", 1.0
    scene.reopen(machine.clock)
    restarted = "the gate was restarted" if boot.startswith(OF_PROCESS) else "the machine was restarted"
    with pytest.raises(DeadlinePassed, match=restarted):
        scene.decide("act-1")


def test_a_decision_that_expires_before_it_is_written_is_refused_so_that_the_ledger_stays_good(scene: Scene) -> None:
    scene.ask("act-1")
    statement = scene.statement("act-1")
    scene.clock.now += timedelta(hours=1)
    envelope = sign(statement, scene.key)
    with pytest.raises(EntryRefused, match="has expired"):
        scene.ledger.append(EntryKind.DECIDED, {"envelope": envelope.fields()}, "act-1")
    assert check(scene.close(), noted=True).fault is None


def test_a_past_decision_stays_good_whatever_the_clock_does_later(scene: Scene) -> None:
    scene.approved("act-1")
    scene.clock.now -= timedelta(days=400)
    scene.approved("act-2")
    scene.clock.now += timedelta(days=4000)
    scene.approved("act-3")
    report = check(scene.close(), noted=True)
    assert report.fault is None
    assert sum(report.decisions.values()) == 3
