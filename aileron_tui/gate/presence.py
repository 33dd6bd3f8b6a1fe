"""Who is at which surface, whether they are awake, and which request they read.

A surface is attached while it watches, and for a moment longer, because connections get lost. One that does not
watch is attached for half a minute after each report. Only approvers can report anything.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from aileron_tui.core.alert_routing import ATTACHED, PROMPT, absence
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass

SURFACES: Final = (*sorted(ATTACHED), "cli")
"""The surfaces at which somebody can be. Commands are one of them, but nobody is alerted there."""

REPORT_SECONDS: Final = 30.0
GRACE_SECONDS: Final = 1.5


@dataclass(slots=True, eq=False)
class _Attachment:
    """One session at one surface. `until` counts only while it does not watch."""

    surface: str
    name: str
    awake: bool = True
    reading: str = ""
    watches: int = 0
    until: float = 0.0


class Presence:
    """The attached surfaces. Must only be used from the gate's event loop.

    `publish` sends an event to every watcher. `changed` is called when a surface is there and was not before, or the
    other way round, and `read` with the id of a request and whether somebody reads it now.
    """

    def __init__(self, publish: Callable[[str, JsonObject], None]) -> None:
        self._publish = publish
        self._attached: dict[tuple[object, str], _Attachment] = {}
        self._readers: dict[str, list[_Attachment]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._terminal = False
        self._absent = self._absences()
        self.changed: Callable[[], None] = lambda: None
        self.read: Callable[[str, bool], None] = _nobody_asked

    @property
    def absent(self) -> Mapping[str, str]:
        """Why nobody can be alerted on the surfaces that people have open, for each that is not there."""
        return self._absent

    def has_terminal(self, has: bool) -> None:
        """The gate itself runs in a terminal and can ask there, whether a prompt is open elsewhere or not."""
        self._terminal = has
        self._update()

    @contextmanager
    def watching(self, who: object, name: str, surface: str) -> Iterator[None]:
        """A session watches from a surface during the block. `name` is what to call the person: the key's name."""
        attachment = self._arrive(who, name, surface)
        attachment.watches += 1
        self._update()
        try:
            yield
        finally:
            attachment.watches -= 1
            attachment.until = self._now() + GRACE_SECONDS
            self._update()

    def report(self, who: object, name: str, surface: str, *, awake: bool, reading: str = "") -> None:
        """A session says whether somebody is at its surface, and which waiting request they read."""
        attachment = self._arrive(who, name, surface)
        attachment.awake = awake
        self._read(attachment, reading if awake else "")
        self._update()

    def arriving(self, who: object, name: str, surface: str) -> None:
        """A session is about to watch from a surface."""
        self._arrive(who, name, surface)
        self._update()

    def left(self, who: object) -> None:
        """A session has ended."""
        for surface in SURFACES:
            if attachment := self._attached.pop((who, surface), None):
                self._read(attachment, "")
        self._update()

    def settled(self, id_: str) -> None:
        """A request does not wait any more, so nobody reads it."""
        for attachment in self._readers.pop(id_, ()):
            attachment.reading = ""

    def readers(self) -> JsonObject:
        """Who reads what, for the snapshot: the readers of each request that is read."""
        return {id_: _listed(readers) for id_, readers in self._readers.items()}

    def others(self, who: object) -> Mapping[str, list[tuple[str, str]]]:
        """The requests that are read by others than this session, each with their surfaces and names."""
        found: dict[str, list[tuple[str, str]]] = {}
        for id_, readers in self._readers.items():
            others = [one for one in readers if one is not self._attached.get((who, one.surface))]
            if others:
                found[id_] = list(dict.fromkeys((one.surface, one.name) for one in others))
        return found

    def is_open(self, surface: str) -> bool:
        """Whether a session has this surface open. The gate's own terminal does not count."""
        return any(one.surface == surface for one in self._attached.values())

    def is_read(self, id_: str) -> bool:
        """Whether somebody reads a request."""
        return id_ in self._readers

    def _arrive(self, who: object, name: str, surface: str) -> _Attachment:
        attachment = self._attached.get((who, surface)) or _Attachment(surface, name)
        if surface in SURFACES:
            self._attached[who, surface] = attachment
        attachment.until = self._now() + REPORT_SECONDS
        return attachment

    def _read(self, attachment: _Attachment, id_: str) -> None:
        """Notes which request somebody reads, and tells the watchers if that is another one."""
        before, attachment.reading = attachment.reading, id_
        if before and before != id_:
            others = [one for one in self._readers.pop(before, ()) if one is not attachment]
            if others:
                self._readers[before] = others
            self._publish("reading", {"id": before, "readers": _listed(others)})
            self.read(before, bool(others))
        if id_:
            readers = self._readers.setdefault(id_, [])
            if attachment not in readers:
                readers.append(attachment)
                self._publish("reading", {"id": id_, "readers": _listed(readers)})
            self.read(id_, True)

    def _update(self) -> None:
        """Forgets who is gone, says if the surfaces that are there have changed, and looks again when one may go."""
        now = self._now()
        gone = [who for who, one in self._attached.items() if not one.watches and one.until <= now]
        for who in gone:
            self._read(self._attached.pop(who), "")
        self._schedule(now)
        before, self._absent = self._absent, self._absences()
        if self._absent != before:
            self.changed()

    def _schedule(self, now: float) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        ends = [one.until for one in self._attached.values() if not one.watches]
        if ends:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, min(ends) - now) + 0.001, self._update)

    def _absences(self) -> Mapping[str, str]:
        opened = {one.surface for one in self._attached.values()}
        awake = {one.surface for one in self._attached.values() if one.awake}
        if self._terminal:
            awake.add(PROMPT)
        return {name: absence(name, is_open=name in opened) for name in ATTACHED if name not in awake}

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _nobody_asked(_id: str, _is_read: bool) -> None:
    """Does nothing."""


def _listed(readers: Iterable[_Attachment]) -> list[Json]:
    """The readers of one request, each once."""
    seen = dict.fromkeys((one.surface, one.name) for one in readers)
    return [{"surface": surface, "name": name} for surface, name in seen]
