"""Alerts of a gate: who gets them, what is recorded, and what a flood or a failure does to them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from aileron_tui.core import alert_routing
from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.files.config import SurfacesConfig
from aileron_tui.gate import alert_channels, alert_router, presence
from aileron_tui.gate.alert_router import AlertRouter
from aileron_tui.gate.event_feed import Subscription
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.ledger_recorder import LedgerRecorder
from aileron_tui.ledger.errors import LedgerUnusable
from aileron_tui.ledger.store import EntryDraft
from tests.gate.alerted_gate import FAST, RecordedChannel, kinds, setup_with, started, steps, until
from tests.gate.conftest import GateEnv, ask, previewed_request, run_async


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grace periods of a moment."""
    monkeypatch.setattr(alert_router, "START_SECONDS", 0.0)
    monkeypatch.setattr(presence, "GRACE_SECONDS", 0.05)


@asynccontextmanager
async def alerting(
    env: GateEnv, *channels: RecordedChannel, surfaces: SurfacesConfig = FAST, share: float = 0.2
) -> AsyncIterator[Gate]:
    """A running gate. Its share is shorter than the configuration allows."""
    fast: Any = share
    gate = await started(setup_with(env, replace(surfaces, share=fast)), *channels)
    try:
        yield gate
    finally:
        await gate.stop()


async def asked(gate: Gate, **args: Any) -> str:
    return str((await ask(gate, **args)).body["approval_id"])


def alerts(watcher: Subscription) -> list[tuple[str, str, int]]:
    """The alerts that a watcher has been sent by now."""
    found = []
    while watcher._events:
        event = watcher._pop()
        if event.name == "alert":
            data = json.loads(event.encoded)
            found.append((data["surface"], data["reason"], data["more"]))
    return found


def test_an_open_console_is_alerted_without_an_entry_of_its_own(env: GateEnv) -> None:
    notification = RecordedChannel()

    async def work() -> None:
        async with alerting(env, notification, share=30) as gate:
            watcher = gate.feed.subscribe()
            with gate.presence.watching("session", "tester", "console"):
                id_ = await asked(gate)
                await previewed_request(gate, id_)
                await until(lambda: steps(env, id_))
                assert alerts(watcher) == [("console", "", 0)]
                assert steps(env, id_) == [("", "console", "")]
                assert EntryKind.FELL_BACK not in kinds(env, id_)
                assert notification.alerts == []

    run_async(work())


def test_a_closed_console_makes_way_for_the_next(env: GateEnv) -> None:
    notification = RecordedChannel()

    async def work() -> None:
        async with alerting(env, notification, share=30) as gate:
            watcher = gate.feed.subscribe()
            with gate.presence.watching("session", "tester", "console"):
                id_ = await asked(gate)
                await previewed_request(gate, id_)
                await until(lambda: steps(env, id_))
            await until(lambda: len(steps(env, id_)) == 2)
            assert steps(env, id_) == [("", "console", ""), ("console", "notification", "no console is open")]
            await asyncio.sleep(0.3)  # events are collected for a moment
            assert [alert[0] for alert in alerts(watcher)] == ["console", "notification"]
            [alert] = notification.alerts
            assert (alert.id, alert.waiting, alert.url) == (id_, 1, "http://localhost:1/page")
            assert alert.summary.startswith("team@example.com · ")
            await gate.decide(id_, env.decision(await previewed_request(gate, id_), Verdict.DENY))
            await until(lambda: notification.cleared == [id_])
        assert notification.closed

    run_async(work())


def test_nobody_reacting_alerts_everybody_down_to_the_floor(env: GateEnv) -> None:
    notification, webhook = RecordedChannel(), RecordedChannel("webhook")

    async def work() -> None:
        async with alerting(env, notification, webhook) as gate:
            gate.feed.subscribe()
            gate.presence.has_terminal(True)
            with (
                gate.presence.watching("one", "tester", "console"),
                gate.presence.watching("two", "tester", "page"),
            ):
                id_ = await asked(gate)
                await previewed_request(gate, id_)
                await until(lambda: len(steps(env, id_)) == 5)
                assert [(before, to) for before, to, _ in steps(env, id_)] == [
                    ("", "console"),
                    ("console", "page"),
                    ("page", "notification"),
                    ("notification", "webhook"),
                    ("webhook", "prompt"),
                ]
                assert len(notification.alerts) == len(webhook.alerts) == 1

    run_async(work())


def test_a_reader_holds_the_next_alert_back(env: GateEnv) -> None:
    notification = RecordedChannel()

    async def work() -> None:
        async with alerting(env, notification, share=0.3) as gate:
            gate.feed.subscribe()
            with gate.presence.watching("session", "tester", "console"):
                id_ = await asked(gate)
                gate.report_presence("session", "tester", "console", awake=True, reading=id_)
                await asyncio.sleep(0.6)
                assert notification.alerts == []
                await until(lambda: notification.alerts)
                await until(lambda: len(steps(env, id_)) == 2)
                assert steps(env, id_)[1][2].startswith("nobody answered for")

    run_async(work())


def test_without_anybody_a_channel_is_first_and_that_is_recorded(env: GateEnv) -> None:
    notification = RecordedChannel()

    async def work() -> None:
        async with alerting(env, notification, share=30) as gate:
            id_ = await asked(gate)
            await until(lambda: steps(env, id_))
            assert steps(env, id_) == [("", "notification", "no console is open; no page is open")]

    run_async(work())


def test_nothing_is_recorded_about_alerts_that_nobody_got(env: GateEnv) -> None:
    async def work() -> None:
        async with alerting(env) as gate:
            id_ = await asked(gate)
            await previewed_request(gate, id_)
            await asyncio.sleep(0.3)
            assert steps(env, id_) == []
            gate.presence.arriving("session", "tester", "console")
            gate.record_watch("console")
            await until(lambda: steps(env, id_))
            assert steps(env, id_) == [("", "console", "")]

    run_async(work())


def test_a_sleeping_console_is_passed_over_until_it_wakes(env: GateEnv) -> None:
    notification = RecordedChannel()

    async def work() -> None:
        async with alerting(env, notification, share=30) as gate:
            watcher = gate.feed.subscribe()
            with gate.presence.watching("session", "tester", "console"):
                gate.report_presence("session", "tester", "console", awake=False)
                id_ = await asked(gate)
                await until(lambda: steps(env, id_))
                assert steps(env, id_)[0] == ("", "notification", "nobody is at the console; no page is open")
                assert [alert[0] for alert in alerts(watcher)] == ["notification"]

    run_async(work())


def test_what_is_left_out_is_not_alerted(env: GateEnv) -> None:
    notification, webhook = RecordedChannel(), RecordedChannel("webhook")

    async def work() -> None:
        async with alerting(env, notification, webhook, surfaces=SurfacesConfig(("webhook",))) as gate:
            gate.feed.subscribe()
            with gate.presence.watching("session", "tester", "console"):
                id_ = await asked(gate)
                await until(lambda: webhook.alerts)
                await until(lambda: steps(env, id_))
                assert [to for _, to, _ in steps(env, id_)] == ["webhook"]
                assert notification.alerts == []

    run_async(work())


def test_a_channel_that_cannot_be_used_is_passed_over(env: GateEnv) -> None:
    broken, webhook = RecordedChannel(why="no desktop"), RecordedChannel("webhook")

    async def work() -> None:
        async with alerting(env, broken, webhook, share=30) as gate:
            id_ = await asked(gate)
            await until(lambda: steps(env, id_))
            reason = "no console is open; no page is open; no desktop"
            assert steps(env, id_) == [("", "webhook", reason)]

    run_async(work())


def test_a_channel_that_works_again_is_used(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alert_channels, "RECHECK_SECONDS", 0.1)
    monkeypatch.setattr(alert_channels, "_TRUST_SECONDS", 0.0)
    rounds = []
    ordinary = AlertRouter.work

    async def counted(router: AlertRouter) -> None:
        await ordinary(router)
        rounds.append(router)

    monkeypatch.setattr(AlertRouter, "work", counted)
    channel = RecordedChannel(why="no desktop")

    async def work() -> None:
        async with alerting(env, channel, share=30) as gate:
            await asked(gate)
            await asyncio.sleep(0.5)
            assert channel.alerts == []
            channel.why = ""
            await until(lambda: channel.alerts)
            channel.why = "no desktop again"
            await asked(gate, draft_id="r-2")
            rounds.clear()
            await asyncio.sleep(1)
            assert len(rounds) < 25  # it looks again now and then, and not all the time

    run_async(work())


def test_a_channel_that_fails_does_not_stop_the_others(env: GateEnv) -> None:
    broken, webhook = RecordedChannel(), RecordedChannel("webhook")
    broken.fails = True

    async def work() -> None:
        async with alerting(env, broken, webhook, share=30) as gate:
            await asked(gate)
            await until(lambda: webhook.alerts)
            assert gate.problem == ""

    run_async(work())


def test_alerting_goes_on_after_any_exception(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    notification, ordinary = RecordedChannel(), alert_routing.next_step
    failures = iter([ZeroDivisionError("once"), RuntimeError("twice")])

    def failing(*args: Any) -> Any:
        if error := next(failures, None):
            raise error
        return ordinary(*args)

    monkeypatch.setattr(alert_router, "_RETRY_SECONDS", 0.1)
    monkeypatch.setattr("aileron_tui.gate.gate_state._PAUSE_AFTER_FAILURE", 0.05)

    async def work() -> None:
        async with alerting(env, notification, share=30) as gate:
            first = await asked(gate)
            await until(lambda: len(notification.alerts) == 1)
            monkeypatch.setattr(alert_router, "next_step", failing)
            gate.presence.changed()
            await asyncio.sleep(0.5)
            second = await asked(gate, draft_id="r-2")
            await until(lambda: len(notification.alerts) == 2)
            assert [alert.id for alert in notification.alerts] == [first, second]
            await until(lambda: gate.problem == "")

    run_async(work())


def test_a_step_that_cannot_be_recorded_is_recorded_later(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary, failures = LedgerRecorder.record, iter([True, True])

    def failing(recorder: LedgerRecorder, *drafts: EntryDraft) -> Any:
        if drafts and drafts[0].kind == EntryKind.FELL_BACK and next(failures, False):
            raise LedgerUnusable("the disk is full")
        return ordinary(recorder, *drafts)

    monkeypatch.setattr(LedgerRecorder, "record", failing)
    monkeypatch.setattr(alert_router, "_RETRY_SECONDS", 0.1)

    async def work() -> None:
        async with alerting(env, RecordedChannel(), share=30) as gate:
            id_ = await asked(gate)
            await until(lambda: steps(env, id_))
            assert [to for _, to, _ in steps(env, id_)] == ["notification"]

    run_async(work())


def test_a_flood_is_one_event_and_few_commits(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    notification = RecordedChannel()
    monkeypatch.setattr(alert_channels, "MOST_SENT", 50)

    async def work() -> None:
        async with alerting(env, notification, share=1) as gate:
            watcher = gate.feed.subscribe()
            with gate.presence.watching("session", "tester", "console"):
                await asyncio.gather(*(ask(gate, draft_id=f"r-{number}") for number in range(120)))
                await asyncio.sleep(0.5)
                told = alerts(watcher)
                assert len(told) < 20
                assert sum(1 + more for _, _, more in told) == 120
                await until(lambda: len(notification.alerts) == 50, 10)
                await asyncio.sleep(0.5)
                assert len(notification.alerts) == 50

    run_async(work())


def test_a_restarted_gate_alerts_again(env: GateEnv) -> None:
    notification = RecordedChannel()

    async def work() -> None:
        async with alerting(env, share=30) as gate:
            gate.feed.subscribe()
            with gate.presence.watching("session", "tester", "console"):
                id_ = await asked(gate)
                await previewed_request(gate, id_)
                await until(lambda: steps(env, id_))
        async with alerting(env, notification, share=30) as gate:
            await until(lambda: len(steps(env, id_)) == 2)
            assert steps(env, id_) == [
                ("", "console", ""),
                ("", "notification", "no console is open; no page is open"),
            ]

    run_async(work())


def test_a_gate_that_just_started_gives_consoles_time_to_come_back(
    env: GateEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    notification = RecordedChannel()
    monkeypatch.setattr(alert_router, "START_SECONDS", 0.4)

    async def work() -> None:
        async with alerting(env, notification, share=30) as gate:
            await asked(gate)
            await asyncio.sleep(0.1)
            assert notification.alerts == []
            await until(lambda: notification.alerts)

    run_async(work())
