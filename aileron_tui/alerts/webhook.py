"""The webhook: tells a server of the user that requests wait. It sends in a thread, so that nobody waits for it."""

import asyncio
import random
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Final

from aileron_tui.alerts.sending_rate import SendingRate
from aileron_tui.alerts.webhook_delivery import Attempt, Result, WebhookDelivery
from aileron_tui.alerts.webhook_message import MANY, WebhookMessage, many_wait, one_waits, read_keys, trial_message
from aileron_tui.core.alerts import WEBHOOK, Alert
from aileron_tui.core.errors import AileronError
from aileron_tui.core.times import moment, timestamp, utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.core.webhook_address import WebhookAddress

MOST_KEPT: Final = 100
"""Requests that wait to be told about one by one. Beyond that, only their number is told."""

_READ_SECONDS: Final = 3.0
_CLOSE_SECONDS: Final = 1.0
_FAILURE_SECONDS: Final = 60.0
_NOT_READ: Final = "its secret has not been read yet"


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Where messages go, what they contain, and how their secrets are read, which may take a while."""

    address: WebhookAddress
    secret: Callable[[], str]
    content: bool = False


@dataclass(frozen=True, slots=True)
class WebhookPace:
    """How often requests are told about, and how long a message is tried.

    At most `singles` messages about single requests are sent in 60 seconds, and beyond that one about their number
    every `group_seconds`. `pauses` are the seconds before each further attempt; a receiver that asks for more than
    `longest_pause` is not tried again.
    """

    singles: int = 10
    group_seconds: float = 60.0
    pauses: tuple[float, ...] = (1.0, 5.0, 15.0, 45.0)
    longest_pause: float = 300.0


class WebhookChannel:
    """Sends a signed message for each request, and one for many of them if they arrive fast."""

    name = WEBHOOK

    def __init__(
        self, settings: WebhookSettings, pace: WebhookPace | None = None, clock: Callable[[], datetime] = utc_now
    ) -> None:
        self._settings = settings
        self._pace = pace or WebhookPace()
        self._clock = clock
        self._rate = SendingRate(self._pace.singles, 60.0)
        self._changed = threading.Condition()
        self._read = threading.Event()
        self._thread: threading.Thread | None = None
        self._delivery: WebhookDelivery | None = None
        self._keys: tuple[bytes, ...] = ()
        self._waiting: dict[str, Alert] = {}
        self._left_out = False
        self._newest: Alert | None = None
        self._group_at = 0.0
        self._sending = ""
        self._closed = False
        self._no_secret = _NOT_READ
        self._failure = ""
        self._failed_at = 0.0
        self._gone = False

    async def unavailable(self) -> str:
        """Why messages cannot be sent: no usable secret, or the last one could not be delivered."""
        self._start()
        if not self._read.is_set():
            await asyncio.to_thread(self._read.wait, _READ_SECONDS)
        if self._no_secret:
            return self._no_secret
        recent = self._gone or time.monotonic() - self._failed_at < _FAILURE_SECONDS
        return self._failure if recent else ""

    async def alert(self, alert: Alert) -> None:
        """Queues a message."""
        with self._changed:
            if self._closed or self._gone:
                return
            self._newest = alert
            if alert.id in self._waiting or len(self._waiting) < MOST_KEPT:
                self._waiting[alert.id] = alert
            else:
                self._left_out = True
            self._changed.notify_all()
        self._start()

    async def clear(self, id_: str) -> None:
        """Drops the message if it has not been delivered yet. A message that was sent stays with the receiver."""
        with self._changed:
            self._waiting.pop(id_, None)
            if self._sending == id_:
                self._sending = ""
                self._changed.notify_all()

    async def close(self) -> None:
        """Drops what has not been delivered, and ends the thread."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()
        if self._delivery is not None:
            self._delivery.close()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, _CLOSE_SECONDS)

    async def test(self) -> str:
        """Sends one test message and returns why it was not delivered, or ""."""
        return await asyncio.to_thread(self._tested)

    def _tested(self) -> str:
        self._read_keys()
        if self._no_secret:
            return self._no_secret
        delivery = WebhookDelivery(self._settings.address)
        try:
            message = trial_message(timestamp(self._clock()))
            return delivery.attempt(message.body, self._headers(message)).why
        finally:
            delivery.close()

    def _start(self) -> None:
        if self._thread is None and not self._closed:
            # It must not keep the process alive: resolving a name cannot be interrupted.
            self._thread = threading.Thread(target=self._run, name="webhook", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:  # noqa: BLE001  # nobody would see it in this thread
            self._failure, self._gone = f"it failed ({type(error).__name__})", True
            self._read.set()

    def _work(self) -> None:
        self._read_keys()
        self._delivery = WebhookDelivery(self._settings.address)
        while (chosen := self._chosen()) is not None:
            message, ends = chosen
            if self._no_secret:
                self._read_keys()
            if not self._no_secret:
                self._deliver(message, ends)
        self._delivery.close()

    def _read_keys(self) -> None:
        try:
            self._keys = read_keys(self._settings.secret())
            self._no_secret = ""
        except AileronError as error:
            self._no_secret = str(error)
        self._read.set()

    def _chosen(self) -> tuple[WebhookMessage, str] | None:
        """Waits for the next message to send and when it loses its meaning; None at the end."""
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                if self._waiting and not self._left_out and self._rate.allows(now):
                    self._rate.count(now)
                    alert = self._waiting.pop(next(iter(self._waiting)))
                    self._sending = alert.id
                    return self._about_one(alert), alert.expires_at
                if (self._waiting or self._left_out) and self._newest and now >= self._group_at:
                    self._group_at = now + self._pace.group_seconds
                    self._waiting.clear()
                    self._left_out = False
                    self._sending = MANY
                    return self._about_many(self._newest), self._newest.expires_at
                self._changed.wait(max(self._group_at - now, 0.05) if self._waiting or self._left_out else None)
        return None

    def _about_one(self, alert: Alert) -> WebhookMessage:
        return one_waits(alert, timestamp(self._clock()), content=self._settings.content)

    def _about_many(self, newest: Alert) -> WebhookMessage:
        return many_wait(newest.waiting, newest.url, timestamp(self._clock()))

    def _deliver(self, message: WebhookMessage, ends: str) -> None:
        """Tries until it is delivered, refused or no longer needed. While it is tried, nothing else is sent."""
        for pause in (*self._pace.pauses, None):
            attempt = self._attempt(message)
            if attempt.result is not Result.RETRY or pause is None:
                break
            wait = max(pause * random.uniform(0.8, 1.2), attempt.wait)  # noqa: S311  # spreads attempts, hides nothing
            if wait > self._pace.longest_pause or not self._paused(wait, ends):
                break
        self._gone = attempt.result is Result.GONE
        self._failure = attempt.why
        self._failed_at = time.monotonic()
        if attempt.result is Result.SIGNATURE_REFUSED:
            self._read_keys()  # it may have been replaced

    def _attempt(self, message: WebhookMessage) -> Attempt:
        if self._delivery is None:
            return Attempt(Result.REFUSED, "the webhook is closed")
        return self._delivery.attempt(message.body, self._headers(message))

    def _headers(self, message: WebhookMessage) -> dict[str, str]:
        return message.headers(self._keys, int(self._clock().timestamp()))

    def _paused(self, seconds: float, ends: str) -> bool:
        """Waits, and returns whether the request still needs an answer afterwards."""
        if ends and (moment(ends) - self._clock()).total_seconds() <= seconds:
            return False
        end = time.monotonic() + seconds
        with self._changed:
            sending = self._sending
            while not self._closed and self._sending == sending and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)
            return not self._closed and self._sending == sending
