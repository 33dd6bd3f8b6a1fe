"""Notifications on a real desktop: shown, pressed, forged, withdrawn, flooded, and with a bus that hangs or ends."""

import asyncio
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.alerts.notification import NotificationChannel
from aileron_tui.cli.exit_codes import DENIED
from tests.alerts.samples import sample_alert
from tests.notifications.desktop_session import DesktopSession, running_desktop, wait_until

MARKUP = '<b>approved</b> & <a href="http://evil.example/">link</a> <img src="x"/>'

FORGER = """
import asyncio
from dbus_fast import Message
from dbus_fast.aio import MessageBus
from dbus_fast.constants import MessageType

PATH, NAME = "/org/freedesktop/Notifications", "org.freedesktop.Notifications"


async def main():
    bus = await MessageBus().connect()

    async def forge(member, signature, body):
        await bus.send(Message(message_type=MessageType.SIGNAL, path=PATH, interface=NAME, member=member,
                               signature=signature, body=body))

    for number in range(1, 60):
        for key in ("default", "Deny", "Open"):
            await forge("ActionInvoked", "us", [number, key])
        await forge("NotificationClosed", "uu", [number, 2])
        await asyncio.sleep(0.005)
    bus.disconnect()


asyncio.run(main())
"""


class Operator:
    """What the buttons did."""

    def __init__(self) -> None:
        self.denied: list[str] = []
        self.opened = 0

    async def deny(self, id_: str) -> None:
        self.denied.append(id_)

    def open_page(self) -> None:
        self.opened += 1


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DesktopSession]:
    with running_desktop(tmp_path_factory.mktemp("desktop")) as session:
        yield session


@pytest.fixture
def session(programs: DesktopSession, monkeypatch: pytest.MonkeyPatch) -> DesktopSession:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", programs.address)
    monkeypatch.setattr("aileron_tui.alerts.notification._RETRY_SECONDS", 0.5)
    monkeypatch.setattr("aileron_tui.alerts.notification._PROBE_SECONDS", 0.0)
    return programs


@asynccontextmanager
async def opened(operator: Operator) -> AsyncIterator[NotificationChannel]:
    channel = NotificationChannel(operator.deny, operator.open_page)
    try:
        yield channel
    finally:
        await channel.close()


async def until(condition: Callable[[], object]) -> None:
    await asyncio.to_thread(wait_until, condition)


def ran(case: Callable[[Operator, NotificationChannel], Coroutine[Any, Any, None]]) -> Operator:
    operator = Operator()

    async def main() -> None:
        async with opened(operator) as channel:
            assert await channel.unavailable() == ""
            await case(operator, channel)

    asyncio.run(main())
    return operator


def test_what_is_shown_is_not_markup_and_is_withdrawn(session: DesktopSession) -> None:
    async def case(_: Operator, channel: NotificationChannel) -> None:
        await channel.alert(sample_alert(summary=MARKUP))
        await until(lambda: session.count() == 1)
        await channel.clear("act-1")
        await until(lambda: session.count() == 0)

    ran(case)
    body = session.bodies()[0]
    assert "&lt;b&gt;approved&lt;/b&gt; &amp; &lt;a href" in body
    assert "<" not in body


def test_deny_denies_and_nothing_is_left_on_the_screen(session: DesktopSession) -> None:
    async def case(operator: Operator, channel: NotificationChannel) -> None:
        await channel.alert(sample_alert())
        await until(lambda: session.count() == 1)
        await asyncio.to_thread(session.press, "Deny")
        await until(lambda: operator.denied == ["act-1"])
        await until(lambda: session.count() == 0)

    assert ran(case).opened == 0


@pytest.mark.parametrize("way", ["press", "click"])
def test_open_opens_the_page_and_denies_nothing(session: DesktopSession, way: str) -> None:
    async def case(operator: Operator, channel: NotificationChannel) -> None:
        await channel.alert(sample_alert())
        await until(lambda: session.count() == 1)
        await asyncio.to_thread(session.click if way == "click" else lambda: session.press("Open"))
        await until(lambda: operator.opened == 1)

    assert ran(case).denied == []
    assert session.count() == 0


def test_signals_of_other_programs_on_the_bus_press_nothing(session: DesktopSession) -> None:
    async def case(operator: Operator, channel: NotificationChannel) -> None:
        await channel.alert(sample_alert())
        await until(lambda: session.count() == 1)
        forger = [sys.executable, "-c", FORGER]
        await asyncio.to_thread(lambda: subprocess.run(forger, env=session.env, check=True))
        await asyncio.sleep(0.5)
        assert (operator.denied, operator.opened) == ([], 0)
        await asyncio.to_thread(session.press, "Deny")  # and the real button still works
        await until(lambda: operator.denied == ["act-1"])

    ran(case)


def test_a_flood_covers_nothing_and_goes_away(session: DesktopSession) -> None:
    async def case(_: Operator, channel: NotificationChannel) -> None:
        most = 0
        for number in range(10_000):
            await channel.alert(sample_alert(f"act-{number}", waiting=number + 1))
            if number % 2000 == 0:
                most = max(most, await asyncio.to_thread(session.count))
        await asyncio.sleep(1)
        assert 1 <= max(most, await asyncio.to_thread(session.count)) <= 4
        for number in range(10_000):
            await channel.clear(f"act-{number}")
        await until(lambda: session.count() == 0)

    ran(case)


def test_everything_is_withdrawn_at_the_end(session: DesktopSession) -> None:
    async def case(_: Operator, channel: NotificationChannel) -> None:
        await channel.alert(sample_alert("act-1", "one"))
        await channel.alert(sample_alert("act-2", "another"))  # dunst shows equal ones as one
        await until(lambda: session.count() == 2)

    ran(case)
    assert session.count() == 0


def test_a_bus_that_hangs_holds_up_nobody(session: DesktopSession) -> None:
    async def case(operator: Operator, channel: NotificationChannel) -> None:
        session.bus.send_signal(signal.SIGSTOP)
        try:
            started = time.monotonic()
            for number in range(100):
                await channel.alert(sample_alert(f"act-{number}"))
                await channel.clear(f"act-{number}")
            assert time.monotonic() - started < 0.5
            assert "does not answer" in await channel.unavailable()
            assert time.monotonic() - started < 5
        finally:
            session.bus.send_signal(signal.SIGCONT)
        await channel.alert(sample_alert())
        await until(lambda: session.count() >= 1)

    ran(case)
    wait_until(lambda: session.count() == 0)


def test_a_service_that_ends_is_noticed_and_used_again(session: DesktopSession) -> None:
    async def case(operator: Operator, channel: NotificationChannel) -> None:
        session.dunst.terminate()
        await asyncio.to_thread(session.dunst.wait, 10)
        assert await channel.unavailable() == "no notification service runs on the session bus"
        await channel.alert(sample_alert())
        await asyncio.sleep(0.3)
        session.dunst = await asyncio.to_thread(session.start_dunst)
        await until(lambda: session.count() == 1)
        assert await channel.unavailable() == ""
        await asyncio.to_thread(session.press, "Deny")
        await until(lambda: operator.denied == ["act-1"])

    ran(case)


def test_deny_ends_a_request_of_a_gate_and_is_in_its_history(session: DesktopSession, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    env = {**session.env, "AILERON_TUI_HOME": str(home)}
    program = [sys.executable, "-m", "aileron_tui"]
    call = [*program, "run", "send-draft", "--arg", "draft_id=r-12345", "--wait", "120"]

    def said(*words: str) -> str:
        return subprocess.run([*program, *words], env=env, capture_output=True, text=True, check=True).stdout

    with ExitStack() as stack:
        gate = stack.enter_context(ended([*program, "gate", "--port", "0"], env))
        assert gate.stdout
        assert gate.stdout.readline()
        agent = stack.enter_context(ended(call, env))
        wait_until(lambda: session.count() == 1, 60)
        session.press("Deny")
        assert agent.wait(30) == DENIED
        wait_until(lambda: session.count() == 0)
        (id_,) = set(re.findall(r"act-[0-9a-zA-Z-]+", said("history", "--json")))
        shown = said("history", "show", id_)
    assert "notification" in shown
    assert "without a signature" in shown
    assert said("history", "verify")


@contextmanager
def ended(command: list[str], env: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """Runs a program until the block ends."""
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()
