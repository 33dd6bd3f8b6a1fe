"""Desktop notifications with a service in this process, and with buses that are missing, broken or silent."""

import asyncio
import html
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from aileron_tui.alerts.desktop import Desktop, NoDesktop
from aileron_tui.alerts.notification import MOST_KEPT, NotificationChannel
from aileron_tui.alerts.notification_plan import GROUP_SECONDS, NotificationPlan, ShowGroup
from aileron_tui.alerts.notification_text import NotificationText, one_waits
from aileron_tui.core.errors import AileronError
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import visible
from tests.alerts.receiver import until
from tests.alerts.samples import sample_alert
from tests.hostile import HOSTILE


class Shown:
    """A notification on the screen."""

    def __init__(self, text: NotificationText, buttons: Mapping[str, Callable[[], None]], clicked: object) -> None:
        self.text = text
        self.buttons = dict(buttons)
        self.clicked = clicked


class Screen:
    """What a person sees, and how the service behaves."""

    def __init__(self) -> None:
        self.shown: dict[str, Shown] = {}
        self.sent = 0
        self.most = 0
        self.fails = ""
        self.hangs = False

    def desktop(self) -> Desktop:
        return ScreenDesktop(self)

    @property
    def titles(self) -> list[str]:
        return [each.text.title for each in tuple(self.shown.values())]


class ScreenDesktop(Desktop):
    """A notification service in this process."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self.screen = screen
        self.buttons = True

    async def connect(self) -> None:
        if self.screen.hangs:
            await asyncio.sleep(60)
        if self.screen.fails:
            raise NoDesktop(self.screen.fails)

    async def show(
        self,
        text: NotificationText,
        buttons: Mapping[str, Callable[[], None]],
        clicked: Callable[[], None] | None = None,
    ) -> str:
        await self.connect()
        self.screen.sent += 1
        id_ = f"n-{self.screen.sent}"
        self.screen.shown[id_] = Shown(text, buttons, clicked)
        self.screen.most = max(self.screen.most, len(self.screen.shown))
        return id_

    async def withdraw(self, id_: str) -> None:
        self.screen.shown.pop(id_, None)


class Operator:
    """What the buttons did."""

    def __init__(self) -> None:
        self.denied: list[str] = []
        self.opened = 0
        self.refuses = False

    async def deny(self, id_: str) -> None:
        self.denied.append(id_)
        if self.refuses:
            raise AileronError("already answered")

    def open_page(self) -> None:
        self.opened += 1


@asynccontextmanager
async def opened(
    screen: Screen, operator: Operator | None = None, *, content: bool = True
) -> AsyncIterator[NotificationChannel]:
    person = operator or Operator()
    channel = NotificationChannel(
        person.deny, person.open_page, content=content, desktop=screen.desktop, call_seconds=0.5
    )
    try:
        yield channel
    finally:
        await channel.close()


async def eventually(condition: Callable[[], object]) -> None:
    await asyncio.to_thread(until, condition)


async def test_a_request_is_shown_with_open_and_deny_and_nothing_that_approves() -> None:
    screen = Screen()
    async with opened(screen) as channel:
        assert await channel.unavailable() == ""
        await channel.alert(sample_alert())
        await eventually(lambda: screen.shown)
        (shown,) = screen.shown.values()
        assert list(shown.buttons) == ["Open", "Deny"]
        assert shown.clicked == shown.buttons["Open"]
        assert shown.text.title == "A request is waiting"
        for words in ("High risk", "laptop-claude", "send-draft", "bob@example.com"):
            assert words in shown.text.body


async def test_without_a_page_a_click_does_nothing() -> None:
    screen = Screen()
    async with opened(screen) as channel:
        await channel.alert(sample_alert(url=""))
        await eventually(lambda: screen.shown)
        (shown,) = screen.shown.values()
        assert list(shown.buttons) == ["Deny"]
        assert shown.clicked is None


async def test_without_content_it_only_says_that_something_waits() -> None:
    screen = Screen()
    async with opened(screen, content=False) as channel:
        await channel.alert(sample_alert())
        await eventually(lambda: screen.shown)
        (shown,) = screen.shown.values()
        for words in ("laptop-claude", "send-draft", "bob@example.com"):
            assert words not in shown.text.title + shown.text.body


async def test_deny_denies_once_in_the_loop_of_the_gate_and_takes_the_notification_away() -> None:
    screen, operator = Screen(), Operator()
    operator.refuses = True  # somebody else was first, which must not end anything
    async with opened(screen, operator) as channel:
        await channel.alert(sample_alert())
        await eventually(lambda: screen.shown)
        (shown,) = screen.shown.values()
        shown.buttons["Deny"]()
        shown.buttons["Deny"]()
        await eventually(lambda: operator.denied and not screen.shown)
        await channel.alert(sample_alert("act-2"))
        await eventually(lambda: screen.shown)
    assert operator.denied == ["act-1"]


async def test_deny_of_a_request_that_was_answered_meanwhile_does_nothing() -> None:
    screen, operator = Screen(), Operator()
    async with opened(screen, operator) as channel:
        await channel.alert(sample_alert())
        await eventually(lambda: screen.shown)
        (shown,) = screen.shown.values()
        await channel.clear("act-1")
        shown.buttons["Deny"]()
        await eventually(lambda: not screen.shown)
        await asyncio.sleep(0.05)
    assert operator.denied == []


async def test_open_opens_the_page_but_not_again_and_again() -> None:
    screen, operator = Screen(), Operator()
    async with opened(screen, operator) as channel:
        await channel.alert(sample_alert())
        await eventually(lambda: screen.shown)
        (shown,) = screen.shown.values()
        for _ in range(100):
            shown.buttons["Open"]()
        await eventually(lambda: operator.opened)
        await asyncio.sleep(0.05)
    assert operator.opened == 1


async def test_it_is_withdrawn_when_the_request_was_answered_and_when_the_gate_ends() -> None:
    screen = Screen()
    async with opened(screen) as channel:
        await channel.alert(sample_alert("act-1"))
        await channel.alert(sample_alert("act-2"))
        await eventually(lambda: len(screen.shown) == 2)
        await channel.clear("act-1")
        await channel.clear("unknown")
        await eventually(lambda: len(screen.shown) == 1)
    assert screen.shown == {}


async def test_a_flood_is_one_notification_more() -> None:
    screen = Screen()
    async with opened(screen) as channel:
        started = time.monotonic()
        for number in range(10_000):
            await channel.alert(sample_alert(f"act-{number}", waiting=number + 1))
        assert time.monotonic() - started < 10
        assert len(channel.waiting()) == MOST_KEPT
        await eventually(lambda: any("requests" in title for title in screen.titles))
        await asyncio.sleep(0.2)
        group = next(each for each in screen.shown.values() if "requests" in each.text.title)
        assert list(group.buttons) == ["Open"]
        assert len([thread for thread in threading.enumerate() if thread.name == "notifications"]) == 1
        for number in range(10_000):
            await channel.clear(f"act-{number}")
        await eventually(lambda: not screen.shown)
    assert screen.most <= 4
    assert screen.sent <= 6


async def test_requests_that_come_and_go_do_not_pop_up_all_the_time() -> None:
    screen = Screen()
    async with opened(screen) as channel:
        for number in range(200):
            await channel.alert(sample_alert(f"act-{number}"))
            await asyncio.sleep(0.002)
            await channel.clear(f"act-{number}")
        await eventually(lambda: not screen.shown)
    assert 1 <= screen.sent <= 10


def test_a_request_that_takes_the_place_of_another_is_announced() -> None:
    plan = NotificationPlan()
    waiting = {f"act-{number}": sample_alert(f"act-{number}") for number in range(4)}
    assert ShowGroup(4, sample_alert().url) in plan.steps(waiting, 0.0)
    del waiting["act-3"]
    waiting["act-4"] = sample_alert("act-4")
    assert plan.steps(waiting, 1.0) == []
    assert plan.next_change(waiting) == GROUP_SECONDS
    assert plan.steps(waiting, GROUP_SECONDS) == [ShowGroup(4, sample_alert().url)]
    assert plan.next_change(waiting) is None


async def test_a_service_that_fails_is_said_and_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aileron_tui.alerts.notification._RETRY_SECONDS", 0.1)
    screen = Screen()
    screen.fails = "no notification service runs on the session bus"
    async with opened(screen) as channel:
        assert await channel.unavailable() == screen.fails
        await channel.alert(sample_alert())
        await asyncio.sleep(0.15)
        assert not screen.shown
        screen.fails = ""
        await eventually(lambda: screen.shown)


async def test_a_service_that_hangs_holds_up_nobody() -> None:
    screen = Screen()
    screen.hangs = True
    async with opened(screen) as channel:
        started = time.monotonic()
        for number in range(1000):
            await channel.alert(sample_alert(f"act-{number}"))
        assert time.monotonic() - started < 1
        said = await asyncio.gather(*(channel.unavailable() for _ in range(100)))
        assert set(said) == {"the session bus or its notification service does not answer"}
        assert time.monotonic() - started < 2
        await channel.clear("act-1")
    assert time.monotonic() - started < 4


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_text_is_visible_cut_and_not_markup(text: str) -> None:
    alert = sample_alert(summary="x", action=text, agent=text)
    shown = one_waits(alert, utc_now(), content=True, buttons=True)
    assert shown.title == "A request is waiting"
    assert "<" not in shown.body
    plain = html.unescape(shown.body)
    assert visible(plain) == plain
    assert plain.count("\n") == 2
    assert len(plain) < 700


def test_markup_is_shown_as_text() -> None:
    alert = sample_alert(summary='<b>approved</b> & <a href="http://evil">x</a> &lt;img src=x&gt;')
    body = one_waits(alert, utc_now(), content=True, buttons=True).body
    assert "&lt;b&gt;approved&lt;/b&gt; &amp; &lt;a href" in body
    assert "&amp;lt;img" in body


async def test_without_the_extra_it_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aileron_tui.alerts.desktop.find_spec", lambda _: None)
    operator = Operator()
    channel = NotificationChannel(operator.deny, operator.open_page)
    assert await channel.unavailable() == "the notifications extra is not installed"
    await channel.alert(sample_alert())
    await channel.clear("act-1")
    await channel.close()


@pytest.mark.parametrize("address", ["", "nonsense", "unix:path=/nonexistent/bus"])
async def test_without_a_bus_it_is_off(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    monkeypatch.delenv("DISPLAY", raising=False)
    operator = Operator()
    channel = NotificationChannel(operator.deny, operator.open_page)
    assert "session bus" in await channel.unavailable()
    await channel.alert(sample_alert())
    await channel.close()


def open_files() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


@pytest.mark.parametrize("accepts", [True, False], ids=["silent", "full backlog"])
async def test_a_silent_bus_is_given_up_and_leaves_nothing_open(
    accepts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bus"
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={path}")
    monkeypatch.setattr("aileron_tui.alerts.notification._RETRY_SECONDS", 0.05)
    monkeypatch.setattr("aileron_tui.alerts.notification._PROBE_SECONDS", 0.0)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(50 if accepts else 0)
        operator = Operator()
        channel = NotificationChannel(operator.deny, operator.open_page, call_seconds=0.2)
        await channel.unavailable()
        before = open_files()
        await channel.alert(sample_alert())
        for _ in range(5):
            started = time.monotonic()
            assert await channel.unavailable()
            assert time.monotonic() - started < 1
            await asyncio.sleep(0.1)
        assert open_files() <= before + 3
        await channel.close()
