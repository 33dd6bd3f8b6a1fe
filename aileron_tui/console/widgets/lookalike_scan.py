"""Remarks about look-alikes in texts of any length. Long texts are scanned in a thread, so the console stays free."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from aileron_tui.console.timers import call_after
from aileron_tui.core.lookalikes import (
    MAX_CHARACTERS,
    MAX_WARNINGS,
    Remarks,
    known_names,
    names_to_remember,
    remarks,
)
from aileron_tui.core.skeletons import KnownNames

MAX_IMMEDIATE_LENGTH: Final = 4096
MAX_IMMEDIATE_TOTAL: Final = 16 * 1024
_SLICE: Final = 16 * 1024
_OVERLAP: Final = 1024
_PAUSE_SECONDS: Final = 0.0005
_FIRST_PAINT_SECONDS: Final = 0.15
_NONE: Final = Remarks()


class LookalikesFound(Message):
    """The scan of long texts is done."""

    def __init__(self, texts: Sequence[str], remarks: dict[int, Remarks], names: Sequence[str]) -> None:
        super().__init__()
        self.texts = texts
        self.remarks = remarks
        self.names = names


class LookalikeScan:
    """Scans the texts that a widget shows; posts `LookalikesFound` to the widget when the long ones are done.

    Their names are compared with each other and with those `seen` before, and are then among these.
    """

    def __init__(self, owner: Widget, seen: KnownNames | None = None) -> None:
        self._owner = owner
        self._seen = seen or KnownNames()
        # Keyed by identity, because hashing a long text is slow. The owner keeps the texts alive.
        self._remarks: dict[int, Remarks] = {}
        self._texts: Sequence[str] = ()
        self.is_running = False

    def start(self, texts: Sequence[str]) -> None:
        """Scans these texts instead of the previous ones: short ones now, long ones in a thread."""
        short: list[str] = []
        later: list[str] = []
        room = MAX_IMMEDIATE_TOTAL
        for text in texts:
            is_short = len(text) <= min(room, MAX_IMMEDIATE_LENGTH)
            (short if is_short else later).append(text)
            room -= len(text) if is_short else 0
        self._seen.remember(names_to_remember(short))
        known = known_names(short, self._seen)
        self._remarks = {id(text): remarks(text, known) for text in short}
        self._texts = texts
        self.is_running = bool(later)
        if later:
            # The thread starts later so that it does not slow down the first paint.
            call_after(self._owner, _FIRST_PAINT_SECONDS, partial(self._start_thread, texts))

    def remarks_for(self, text: str | None) -> Remarks:
        """The remarks about one of the texts."""
        return self._remarks.get(id(text), _NONE)

    def finish(self, event: LookalikesFound) -> bool:
        """Stores the remarks about all texts; returns False if other texts are shown by now."""
        if event.texts is not self._texts:
            return False
        self.is_running = False
        self._remarks = event.remarks
        self._seen.remember(event.names)
        return True

    def _start_thread(self, texts: Sequence[str]) -> None:
        if texts is self._texts:
            self._owner.run_worker(
                partial(self._scan_in_thread, texts, self._seen.copy()),
                group="lookalikes",
                description="look-alikes",
                exit_on_error=False,
                exclusive=True,
                thread=True,
            )

    def _scan_in_thread(self, texts: Sequence[str], seen: KnownNames) -> None:
        worker = get_current_worker()
        known = known_names(_paused(texts, lambda: worker.is_cancelled), seen)
        found = {id(text): lookalike_remarks(text, known, lambda: worker.is_cancelled) for text in texts}
        if not worker.is_cancelled:
            self._owner.post_message(LookalikesFound(texts, found, names_to_remember(texts)))


def _paused(texts: Iterable[str], is_cancelled: Callable[[], bool]) -> Iterator[str]:
    """The parts of these texts, with pauses that let other threads run."""
    for text in texts:
        for part in _slices(text[:MAX_CHARACTERS]):
            if is_cancelled():
                return
            yield part
            time.sleep(_PAUSE_SECONDS)


def lookalike_remarks(text: str, known: KnownNames, is_cancelled: Callable[[], bool] = bool) -> Remarks:
    """Remarks about hosts and addresses in the text; incomplete if the scan was cancelled.

    Scan a long text in a thread: the pauses let other threads run.
    """
    if len(text) <= _SLICE:
        return remarks(text, known)
    found: dict[str, None] = {}
    notes: dict[str, None] = {}
    for part in _slices(text[:MAX_CHARACTERS]):
        if is_cancelled():
            break
        about = remarks(part, known)
        found.update(dict.fromkeys(about.warnings))
        notes.update(dict.fromkeys(about.notes))
        time.sleep(_PAUSE_SECONDS)
        if len(found) > MAX_WARNINGS:
            more = (*list(found)[:MAX_WARNINGS], "there are more warnings of this kind")
            return Remarks(more, tuple(notes)[:MAX_WARNINGS])
    if len(text) > MAX_CHARACTERS:
        found[f"only the first {MAX_CHARACTERS} characters were checked for look-alikes"] = None
    return Remarks(tuple(found), tuple(notes)[:MAX_WARNINGS])


def _slices(text: str) -> Iterator[str]:
    """Slices that end at a blank, so that no address is split. Without a blank, they overlap by a long address."""
    start = 0
    while start < len(text):
        end = start + _SLICE
        if end >= len(text):
            yield text[start:]
            return
        blank = max(text.rfind("\n", start + 1, end), text.rfind(" ", start + 1, end))
        yield text[start : blank if blank > start else end]
        start = blank if blank > start else end - _OVERLAP
