"""Desktop notifications about waiting requests, with **Open** and **Deny**. Nothing can be approved there.

Everything that talks to the desktop runs in a thread with an event loop of its own, so that a bus that hangs holds up
nobody. Only the thread knows what is on the desktop; others change the list of waiting requests and wake it.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final

from aileron_tui.alerts.desktop import Desktop, NoDesktop, missing_library
from aileron_tui.alerts.notification_plan import NotificationPlan, Show, ShowGroup, Step, Withdraw, WithdrawGroup
from aileron_tui.alerts.notification_text import NotificationText, many_wait, one_waits
from aileron_tui.core.alerts import NOTIFICATION, Alert
from aileron_tui.core.errors import AileronError
from aileron_tui.core.times import utc_now

MOST_KEPT: Final = 1000
"""Requests that are remembered. Beyond that, they are only counted as "or more"."""

OPEN, DENY = "Open", "Deny"

_CALL_SECONDS: Final = 3.0
_RETRY_SECONDS: Final = 30.0
_PROBE_SECONDS: Final = 10.0
_OPEN_SECONDS: Final = 2.0
_HANGS: Final = "the session bus or its notification service does not answer"
_GROUP: Final = ""


class NotificationChannel:
    """Notifications of this desktop.

    `deny` gets the id of the request whose **Deny** was pressed, in the event loop that sends alerts. `open_page` is
    called in a thread. Without `content`, notifications say only that something waits. `desktop` lets tests replace the
    notification service.
    """

    name = NOTIFICATION

    def __init__(
        self,
        deny: Callable[[str], Awaitable[None]],
        open_page: Callable[[], None],
        *,
        content: bool = True,
        desktop: Callable[[], Desktop] = Desktop,
        call_seconds: float = _CALL_SECONDS,
    ) -> None:
        self._desktop = desktop
        self._deny = deny
        self._open_page = open_page
        self._content = content
        self._call_seconds = call_seconds
        self._lock = threading.Lock()
        self._waiting: dict[str, Alert] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._denials: set[asyncio.Task[None]] = set()
        self._opened_at = float("-inf")
        self._thread: _DesktopThread | None = None
        self._probe: Future[str] | None = None
        self._probed_at = 0.0
        self._closed = False
        self._missing = missing_library()

    async def unavailable(self) -> str:
        """Why no notification can be shown: no library, no bus, no service, or one that does not answer."""
        if self._closed:
            return "notifications are closed"
        if self._missing:
            return self._missing
        now = time.monotonic()
        if self._probe is None or (self._probe.done() and now - self._probed_at > _PROBE_SECONDS):
            self._probe, self._probed_at = self._started().probe(), now
        left = self._call_seconds - (now - self._probed_at)
        done = asyncio.shield(asyncio.wrap_future(self._probe))
        try:
            return await asyncio.wait_for(done, max(left, 0.01))
        except TimeoutError:
            return _HANGS

    async def alert(self, alert: Alert) -> None:
        """Shows the request, or counts it with the others that wait."""
        self._loop = asyncio.get_running_loop()
        with self._lock:
            if alert.id in self._waiting or len(self._waiting) < MOST_KEPT:
                self._waiting[alert.id] = alert
        if not self._closed and not self._missing:
            self._started().wake()

    async def clear(self, id_: str) -> None:
        """Withdraws the notification about a request."""
        with self._lock:
            known = self._waiting.pop(id_, None)
        if known and self._thread:
            self._thread.wake()

    async def close(self) -> None:
        """Withdraws all notifications, and ends the thread."""
        self._closed = True
        with self._lock:
            self._waiting.clear()
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.to_thread(thread.end)
        for denial in tuple(self._denials):
            denial.cancel()

    async def test(self) -> str:
        """Shows a notification that asks nothing, and returns why that was not possible, or ""."""
        if reason := await self.unavailable():
            return reason
        text = NotificationText("Notifications work", "You will be told here when a request waits.")
        thread = self._started()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(thread.submit(thread.shown(text))), self._call_seconds)
        except TimeoutError:
            return _HANGS

    def waiting(self) -> dict[str, Alert]:
        """The requests that should be on the desktop now."""
        with self._lock:
            return dict(self._waiting)

    def text(self, step: Show | ShowGroup, *, buttons: bool) -> NotificationText:
        """The words for a step of the plan."""
        if isinstance(step, ShowGroup):
            return many_wait(step.waiting, MOST_KEPT, step.url, buttons=buttons)
        return one_waits(step.alert, utc_now(), content=self._content, buttons=buttons)

    def buttons(self, step: Show | ShowGroup) -> dict[str, Callable[[], None]]:
        """What can be pressed: the page can be opened, if there is one, and a single request denied."""
        if isinstance(step, ShowGroup):
            return {OPEN: self._pressed_open} if step.url else {}
        id_ = step.alert.id
        first: dict[str, Callable[[], None]] = {OPEN: self._pressed_open} if step.alert.url else {}
        return {**first, DENY: lambda: self._pressed_deny(id_)}

    def _started(self) -> "_DesktopThread":
        if self._thread is None:
            self._thread = _DesktopThread(self, self._desktop, self._call_seconds)
        return self._thread

    def _pressed_open(self) -> None:
        """Opens the page, but not again and again: programs of the user can press buttons as well."""
        now = time.monotonic()
        if now - self._opened_at >= _OPEN_SECONDS:
            self._opened_at = now
            threading.Thread(target=self._open_page, name="open page", daemon=True).start()

    def _pressed_deny(self, id_: str) -> None:
        with self._lock:
            waits = self._waiting.pop(id_, None)
        if self._thread:
            self._thread.wake()  # some servers leave it on screen
        if waits and self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and with it the gate
                self._loop.call_soon_threadsafe(self._begin_denial, id_)

    def _begin_denial(self, id_: str) -> None:
        task = asyncio.ensure_future(self._denied(id_))
        self._denials.add(task)
        task.add_done_callback(self._denials.discard)

    async def _denied(self, id_: str) -> None:
        with suppress(AileronError):  # it was answered elsewhere, which every surface shows
            await self._deny(id_)


class _DesktopThread:
    """The thread that shows and withdraws notifications. If the desktop fails, it tries again after a while."""

    def __init__(self, channel: NotificationChannel, desktop: Callable[[], Desktop], call_seconds: float) -> None:
        self._channel = channel
        self._new_desktop = desktop
        self._call_seconds = call_seconds
        self._plan = NotificationPlan()
        self._desktop = desktop()
        self._on_desktop: dict[str, str] = {}
        self._woken = threading.Event()
        self._ended = False
        self._loop = asyncio.new_event_loop()
        self._wakeup = asyncio.Event()
        # It must not keep the process alive if the bus hangs.
        self._thread = threading.Thread(target=self._run, name="notifications", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Looks at the waiting requests soon. Many calls count as one."""
        if not self._woken.is_set():
            self._woken.set()
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._wakeup.set)

    def submit(self, work: Coroutine[Any, Any, str]) -> Future[str]:
        """Runs something in the thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def probe(self) -> Future[str]:
        """Finds out why notifications cannot be shown."""
        return self.submit(self._connected())

    def end(self) -> None:
        """Withdraws everything and waits a moment for that."""
        self._ended = True
        self._woken.clear()
        self.wake()
        self._thread.join(self._call_seconds)

    async def shown(self, text: NotificationText) -> str:
        """Shows a notification without buttons; returns why that failed, or ""."""
        desktop = self._new_desktop()
        return await self._problem(desktop, desktop.show(text, {}))

    async def _connected(self) -> str:
        desktop = self._new_desktop()  # a new connection, because an old one does not say that the service is gone
        return await self._problem(desktop, desktop.connect())

    async def _problem(self, desktop: Desktop, call: Coroutine[Any, Any, object]) -> str:
        try:
            await asyncio.wait_for(call, self._call_seconds)
        except NoDesktop as error:
            return error.title
        except TimeoutError:
            return _HANGS
        finally:
            await desktop.disconnect()
        return ""

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._work())
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        finally:
            self._loop.close()

    async def _work(self) -> None:
        while not self._ended:
            if await self._changed():
                await self._wait()
            else:
                self._plan.forget()
                self._on_desktop.clear()
                await self._desktop.disconnect()
                await self._wait(_RETRY_SECONDS)
        await self._changed()
        await self._desktop.disconnect()

    async def _wait(self, seconds: float | None = None) -> None:
        """Waits until requests arrive or go, or until the plan has something to do; with `seconds`, that long."""
        until = self._plan.next_change(self._channel.waiting())
        limit = seconds if seconds is not None else None if until is None else max(until - time.monotonic(), 0.0)
        end = None if limit is None else time.monotonic() + limit
        while not self._ended:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wakeup.wait(), left)
            self._wakeup.clear()
            self._woken.clear()
            if seconds is None:
                return

    async def _changed(self) -> bool:
        """Makes the desktop show what waits; False if it failed."""
        for step in self._plan.steps(self._channel.waiting(), time.monotonic()):
            try:
                await asyncio.wait_for(self._taken(step), self._call_seconds)
            except Exception:  # noqa: BLE001  # whatever goes wrong, it is tried again later, and `unavailable` says why
                return False
        return True

    async def _taken(self, step: Step) -> None:
        match step:
            case Withdraw(id_):
                await self._withdrawn(id_)
            case WithdrawGroup():
                await self._withdrawn(_GROUP)
            case Show() | ShowGroup():
                key = step.alert.id if isinstance(step, Show) else _GROUP
                await self._withdrawn(key)
                await self._desktop.connect()
                text = self._channel.text(step, buttons=self._desktop.buttons)
                buttons = self._channel.buttons(step)
                self._on_desktop[key] = await self._desktop.show(text, buttons, buttons.get(OPEN))

    async def _withdrawn(self, key: str) -> None:
        if shown := self._on_desktop.pop(key, ""):
            await self._desktop.withdraw(shown)
