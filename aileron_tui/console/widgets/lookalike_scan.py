"""Look-alike warnings for texts of any length. Long texts are scanned in a thread, so as not to block the console."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from aileron_tui.console.timers import call_after
from aileron_tui.core.lookalikes import MAX_CHARACTERS, MAX_WARNINGS, warnings

MAX_IMMEDIATE_LENGTH: Final = 4096
_SLICE: Final = 16 * 1024
_PAUSE_SECONDS: Final = 0.0005
_FIRST_PAINT_SECONDS: Final = 0.15


class LookalikesFound(Message):
    """The scan of long texts is done."""

    def __init__(self, texts: Sequence[str], warnings: dict[int, tuple[str, ...]]) -> None:
        super().__init__()
        self.texts = texts
        self.warnings = warnings


class LookalikeScan:
    """Scans the texts that a widget shows; posts `LookalikesFound` to the widget when the long ones are done."""

    def __init__(self, owner: Widget) -> None:
        self._owner = owner
        # Keyed by identity, because hashing a long text is slow. The owner keeps the texts alive.
        self._warnings: dict[int, tuple[str, ...]] = {}
        self._long_texts: Sequence[str] = ()
        self.is_running = False

    def start(self, texts: Sequence[str]) -> None:
        """Scans these texts instead of the previous ones: short ones now, long ones in a thread."""
        self._warnings = {id(text): lookalike_warnings(text) for text in texts if len(text) <= MAX_IMMEDIATE_LENGTH}
        self._long_texts = [text for text in texts if len(text) > MAX_IMMEDIATE_LENGTH]
        self.is_running = bool(self._long_texts)
        if self._long_texts:
            # The thread starts later so that it does not slow down the first paint.
            call_after(self._owner, _FIRST_PAINT_SECONDS, partial(self._start_thread, self._long_texts))

    def warnings_for(self, text: str | None) -> tuple[str, ...]:
        """The warnings about one of the texts."""
        return self._warnings.get(id(text), ())

    def finish(self, event: LookalikesFound) -> bool:
        """Stores the warnings about the long texts; returns False if other texts are shown by now."""
        if event.texts is not self._long_texts:
            return False
        self.is_running = False
        self._warnings |= event.warnings
        return True

    def _start_thread(self, texts: Sequence[str]) -> None:
        if texts is self._long_texts:
            self._owner.run_worker(
                partial(self._scan_in_thread, texts),
                group="lookalikes",
                description="look-alikes",
                exit_on_error=False,
                exclusive=True,
                thread=True,
            )

    def _scan_in_thread(self, texts: Sequence[str]) -> None:
        worker = get_current_worker()
        found = {id(text): lookalike_warnings(text, lambda: worker.is_cancelled) for text in texts}
        if not worker.is_cancelled:
            self._owner.post_message(LookalikesFound(texts, found))


def lookalike_warnings(text: str, is_cancelled: Callable[[], bool] = bool) -> tuple[str, ...]:
    """Warnings about hosts and addresses in the text; incomplete if the scan was cancelled.

    Scan a long text in a thread: the pauses let other threads run.
    """
    if len(text) <= _SLICE:
        return warnings(text)
    found: dict[str, None] = {}
    for part in _slices(text[:MAX_CHARACTERS]):
        if is_cancelled():
            break
        found.update(dict.fromkeys(warnings(part)))
        time.sleep(_PAUSE_SECONDS)
        if len(found) > MAX_WARNINGS:
            return (*list(found)[:MAX_WARNINGS], "there are more warnings of this kind")
    if len(text) > MAX_CHARACTERS:
        found[f"only the first {MAX_CHARACTERS} characters were checked for look-alikes"] = None
    return tuple(found)


def _slices(text: str) -> Iterator[str]:
    """Slices that end at a blank, so that no address is split."""
    start = 0
    while start < len(text):
        end = start + _SLICE
        if end < len(text):
            blank = max(text.rfind("\n", start + 1, end), text.rfind(" ", start + 1, end))
            end = blank if blank > start else end
        yield text[start:end]
        start = end
