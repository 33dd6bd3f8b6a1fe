"""Listens to one source from a thread of its own, for as long as the console lives, and reconnects by itself."""

import random
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.errors import NotAllowed
from aileron_tui.surface.source import Keyholder, Source, Upstream

if TYPE_CHECKING:
    from aileron_tui.runtime.source_events import SourceEvent

_SHORTEST: Final = 0.3
_LONGEST: Final = 8.0
_LONGEST_REASON: Final = 1000
_LOCKED: Final = "the console was locked"
_TOLD_WHOLE: Final = 120


class Reach(StrEnum):
    """Whether a source can be heard. STALE is one that was heard and is not any more."""

    CONNECTING = "connecting"
    LIVE = "live"
    STALE = "stale"
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """How it stands with a source: `since` when it cannot be heard, and why, which is foreign text."""

    reach: Reach = Reach.CONNECTING
    since: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class SourceLost:
    """The source cannot be heard from this moment on; `refused` if it is there and does not let us in."""

    since: str
    why: str
    refused: bool = False


class SourceListener:
    """One listener. What it heard waits in order until it is taken; `heard` is called from its thread."""

    def __init__(self, upstream: Upstream, keys: Keyholder, heard: Callable[[], None]) -> None:
        self.name = upstream.name
        self.label = upstream.label
        self.standing = SourceStatus()
        self.source: Source | None = None
        self._connect = upstream.connect
        self._keys = keys
        self._heard = heard
        self._stop = threading.Event()
        self._news: deque[SourceEvent | SourceLost] = deque()
        # A daemon: a read that waits for the other side must not keep the program alive.
        self._thread = threading.Thread(target=self._listen, name=f"link {self.name}".rstrip(), daemon=True)

    def start(self) -> None:
        """Begins to listen."""
        self._thread.start()

    def stop(self) -> None:
        """Hangs up."""
        self._stop.set()
        self.hang_up()

    def take(self) -> "list[SourceEvent]":
        """What was heard since the last time, after which `standing` is how it stands."""
        taken: list[SourceEvent] = []
        while self._news:
            news = self._news.popleft()
            self.standing = _after(self.standing, news)
            if not isinstance(news, SourceLost):
                taken.append(news)
        return taken

    def _listen(self) -> None:
        pause = _SHORTEST
        while not self._stop.is_set():
            try:
                if (key := self._keys.key) is None:
                    pause = _SHORTEST  # however long it was locked, it is heard again soon after
                else:
                    self.source = self._connect(key)
                    for event in self.source.watch():
                        if self._stop.is_set():
                            return
                        pause = _SHORTEST
                        if event is not None:
                            self._note(self._stamped(event))
                    self._lose("it hung up")
            except AileronError as error:
                self._lose(_brief(error), refused=isinstance(error, NotAllowed))
            except Exception as error:  # noqa: BLE001  # a source that breaks must not go on looking well
                self._lose(f"it cannot be listened to: {type(error).__name__}: {error}")
            finally:
                self.hang_up()
            self._stop.wait(pause * random.uniform(0.7, 1.3))  # noqa: S311  # spreads reconnects, no secret
            pause = min(_LONGEST, pause * 1.6)

    def _stamped(self, event: "SourceEvent") -> "SourceEvent":
        """What is heard here bears the name of this source, whatever it says itself."""
        name = self.name
        if event.source == name and all(item.source == name for item in event.requests):
            return event
        return replace(event, source=name, requests=tuple(replace(item, source=name) for item in event.requests))

    def _lose(self, why: str, *, refused: bool = False) -> None:
        if not self._stop.is_set():
            if self._keys.key is None:  # then we hung up, and what that looks like from here helps nobody
                why = _LOCKED
            self._note(SourceLost(f"{datetime.now().astimezone():%H:%M:%S}", why[:_LONGEST_REASON], refused))

    def _note(self, news: "SourceEvent | SourceLost") -> None:
        self._news.append(news)
        self._heard()

    def hang_up(self) -> None:
        """Ends the connection; a new one is made as soon as there is a key to make it with."""
        source, self.source = self.source, None
        if source is not None:
            with suppress(AileronError, RuntimeError):
                source.close()


def _brief(error: AileronError) -> str:
    """What went wrong, for a line or two; everything that was tried is for those who ask."""
    told = str(error)
    return told if not error.detail or len(told) <= _TOLD_WHOLE else f"{error.title}: see doctor"


def _after(before: SourceStatus, news: "SourceEvent | SourceLost") -> SourceStatus:
    if not isinstance(news, SourceLost):
        return before if before.reach is Reach.LIVE else SourceStatus(Reach.LIVE)
    known = before.reach in (Reach.LIVE, Reach.STALE)
    reach = Reach.STALE if known and not news.refused else Reach.OFFLINE
    return SourceStatus(reach, before.since or news.since, news.why)
