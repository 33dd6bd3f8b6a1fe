"""Whom the console alerts to the requests of a daemon, and what is recorded about it."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

import pytest

from aileron_tui.console.app import Console
from aileron_tui.core.alert_routing import AlertOrder
from aileron_tui.core.alerts import Alert, AlertChannel
from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import QUICK, ScriptedGate, console, request
from tests.console.test_handing_over import LOUD
from tests.console.test_lock import Lockable

SOON = replace(LOUD, alert_order=AlertOrder(share=0.2))
Deny = Callable[[str], Coroutine[Any, Any, None]]


class Daemon(ScriptedGate):
    """Alerts nobody, and keeps what is recorded."""

    def __init__(self, *items: Request, name: str = "") -> None:
        super().__init__(*items, name=name)
        self.first_alert: Callable[[], JsonObject] = dict
        self.recorded: list[tuple[str, str, str, str]] = []

    def record_alert(self, id_: str, *, before: str, to: str, reason: str) -> None:
        self.recorded.append((id_, before, to, reason))


class Channel:
    """A channel that keeps what it is sent."""

    def __init__(self, name: str = "notification", why: str = "") -> None:
        self.name = name
        self.why = why
        self.alerts: list[Alert] = []
        self.cleared: list[str] = []
        self.closed = False
        self.deny: Deny | None = None

    async def unavailable(self) -> str:
        return self.why

    async def alert(self, alert: Alert) -> None:
        self.alerts.append(alert)

    async def clear(self, id_: str) -> None:
        self.cleared.append(id_)

    async def close(self) -> None:
        self.closed = True


def made(*channels: Channel) -> Callable[[Deny], Sequence[AlertChannel]]:
    """What makes the channels of a console."""

    def make(deny: Deny) -> Sequence[AlertChannel]:
        for channel in channels:
            channel.deny = deny
        return channels

    return make


def asked(number: int) -> Request:
    """A request of a daemon."""
    return replace(request(number), daemon=True, expires_at="")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the console writes to the terminal besides the screen, and `bell` for each bell."""
    found: list[str] = []
    monkeypatch.setattr(Console, "write_sequence", lambda _, sequence: found.append(sequence))
    monkeypatch.setattr(Console, "bell", lambda _: found.append("bell"))
    return found


@async_test
async def test_somebody_at_the_console_is_alerted_there_and_nobody_else(written: list[str]) -> None:
    daemon, channel = Daemon(), Channel()
    async with console(daemon, LOUD, channels=made(channel)) as (_, pilot):
        assert daemon.first_alert() == {"alerted": "console"}
        daemon.tell("pending", asked(1))
        await wait_until(pilot, lambda: "bell" in written and bool(daemon.recorded))
        assert any("(1) aileron" in text for text in written)
        assert daemon.recorded == [("act-1", "", "console", "")]
        assert channel.alerts == []
    assert channel.closed


@async_test
async def test_if_nobody_reacts_the_next_one_is_alerted_too(written: list[str]) -> None:
    daemon, channel, webhook = Daemon(), Channel(why="there is no bus"), Channel("webhook")
    async with console(daemon, SOON, channels=made(channel, webhook)) as (app, pilot):
        app.presence._last_input -= 60  # nobody has pressed anything since it appeared
        daemon.tell("pending", asked(1))
        await wait_until(pilot, lambda: len(daemon.recorded) == 2)
        assert daemon.recorded[1] == ("act-1", "console", "webhook", "nobody reacted for 0 s")
        assert [alert.id for alert in webhook.alerts] == ["act-1"]
        assert channel.alerts == []
        daemon.tell("updated", replace(asked(1), state=RequestState.WITHDRAWN, revision=5))
        await wait_until(pilot, lambda: webhook.cleared == ["act-1"])


@async_test
async def test_a_request_that_is_read_here_is_left_to_its_reader(written: list[str]) -> None:
    daemon, channel = Daemon(asked(1)), Channel()
    settings = replace(LOUD, alert_order=AlertOrder(share=60))
    async with console(daemon, settings, channels=made(channel)) as (app, pilot):
        await pilot.press("down")
        alerts = app.daemon_alerts
        assert alerts
        await wait_until(pilot, lambda: alerts._routes["act-1"].route.is_read)
        assert channel.alerts == []


@async_test
async def test_behind_a_lock_a_notification_goes_out_at_once_and_can_deny(written: list[str]) -> None:
    daemon, channel = Daemon(), Channel()
    async with console(daemon, LOUD, keys=Lockable(), channels=made(channel)) as (app, pilot):
        await pilot.press("L")
        await wait_until(pilot, lambda: daemon.first_alert() == {})
        written.clear()
        daemon.tell("pending", asked(1))
        await wait_until(pilot, lambda: bool(channel.alerts) and bool(daemon.recorded))
        assert daemon.recorded == [("act-1", "", "notification", "nobody is at the console")]
        assert "bell" not in written
        assert channel.deny is not None
        await channel.deny("act-1")
        assert daemon.decided == []
        await pilot.press(*"secret", "enter")
        await wait_until(pilot, lambda: not app.is_locked)
        daemon.hang_up()
        daemon.down = False
        await wait_until(pilot, lambda: app.source("") is not None and not app.answer_problem(asked(1)))
        await channel.deny("act-1")
        await wait_until(pilot, lambda: bool(daemon.decided))
        assert daemon.decided == [("act-1", Verdict.DENY, "denied in a notification", None)]


@async_test
async def test_it_rings_if_nobody_can_be_alerted(written: list[str]) -> None:
    daemon = Daemon()
    async with console(daemon, LOUD, keys=Lockable()) as (app, pilot):
        await pilot.press("L")
        await wait_until(pilot, lambda: app.is_locked)
        written.clear()
        daemon.tell("pending", asked(1))
        await wait_until(pilot, lambda: "bell" in written)
        assert daemon.recorded == []


@async_test
async def test_a_channel_that_fails_stops_nothing(written: list[str]) -> None:
    class Broken(Channel):
        async def unavailable(self) -> str:
            raise RuntimeError("no")

        async def close(self) -> None:
            raise RuntimeError("no")

    daemon, webhook = Daemon(), Channel("webhook")
    async with console(daemon, QUICK, keys=Lockable(), channels=made(Broken(), webhook)) as (app, pilot):
        await pilot.press("L")
        await wait_until(pilot, lambda: app.is_locked)
        daemon.tell("pending", asked(1))
        await wait_until(pilot, lambda: bool(webhook.alerts) and bool(daemon.recorded))
        assert daemon.recorded[0][1:3] == ("", "webhook")


@async_test
async def test_it_is_announced_again_at_half_time(written: list[str]) -> None:
    daemon = Daemon()
    async with console(daemon, LOUD) as (app, pilot):
        daemon.tell("pending", asked(1))
        await wait_until(pilot, lambda: "bell" in written)
        written.clear()
        assert app.daemon_alerts
        routed = app.daemon_alerts._routes["act-1"]
        routed.remind_at = 0.0
        app.daemon_alerts._look_at([routed], 600.0)
        await wait_until(pilot, lambda: "bell" in written)
        assert routed.due > 0
