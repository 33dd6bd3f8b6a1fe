"""Tells gates which request is being read at this terminal, while somebody is at it."""

from contextlib import suppress
from functools import partial
from typing import Final

from aileron_tui.console.source_listeners import SourceListeners, SourceThreads
from aileron_tui.core.errors import AileronError
from aileron_tui.core.request import Request
from aileron_tui.surface.source import TakesPresence

AT_TERMINAL_SECONDS: Final = 60.0
"""For how long after a key somebody is taken to be at the terminal."""


class ReadingReporter:
    """Sends a report when what is read has changed, or the connection is a new one. Never blocks."""

    def __init__(self, sources: SourceListeners) -> None:
        self._sources = sources
        self._threads = SourceThreads()
        self._told: dict[str, tuple[int, str]] = {}

    def report(self, request: Request | None) -> None:
        """This request is being read now; None if none is."""
        for name, listener in self._sources.listeners.items():
            source: object = listener.source
            if not isinstance(source, TakesPresence):
                continue
            reading = request.id if request is not None and request.source == name else ""
            connection, before = self._told.get(name, (0, ""))
            if (before if connection == id(source) else "") != reading:
                self._told[name] = id(source), reading
                self._threads.run("presence", name, partial(_tell, source, reading))

    @property
    def own(self) -> frozenset[str]:
        """The ids of the requests that gates list as read because this terminal said so."""
        return frozenset(reading for _, reading in self._told.values() if reading)

    def close(self) -> None:
        """Reports nothing more."""
        self._threads.close()


def _tell(source: TakesPresence, reading: str) -> None:
    with suppress(AileronError):  # if the connection is lost, its status says so
        source.report_presence(awake=True, reading=reading)
