"""Limits input from the terminal: a flood is dropped before it becomes keys, and is counted.

A paste without brackets arrives as typed characters. As keys, 200 kB of it would block the console for minutes.
"""

import os
import re
from codecs import getincrementaldecoder
from collections.abc import Callable
from time import monotonic
from typing import Final

from aileron_tui.core.values import dataclass

MAX_PASTE: Final = 100_000
"""The longest bracketed paste in characters."""

BURST: Final = 8
"""This many characters at once were not typed by a person."""

QUIET_SECONDS: Final = 0.3
"""A flood ends when nothing has arrived for this long."""

_PASTE_START: Final = "\x1b[200~"
_PASTE_END: Final = "\x1b[201~"
# Not compiled here, because that takes time before the first frame.
_SEQUENCE: Final = r"(?s)\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?"
# Reports of the terminal that must not be lost: its size, the focus, and the end of a paste.
_REPORT: Final = r"\x1b\[(?:48;[0-9;:]*t|[IO]|201~)"


@dataclass(slots=True)
class _Allowance:
    """How many more characters or sequences are accepted; it grows again with time."""

    most: float
    per_second: float
    left: float = 0.0
    at: float = -1e9

    def take(self, count: int, now: float) -> bool:
        """Takes from the allowance; returns whether there was enough."""
        left = min(self.most, self.left + (now - self.at) * self.per_second) - count
        self.left, self.at = max(0.0, left), now
        return left >= 0


class InputLimit:
    """Filters what is read from the terminal. Used by the thread that reads.

    People type at most about 20 characters a second, and a held key repeats about 60 times; a mouse may report a
    thousand moves. `burst` is called before a burst of characters is passed on, and `flooded` when input begins to be
    dropped.
    """

    def __init__(
        self,
        burst: Callable[[], None] = lambda: None,
        flooded: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._burst, self._flooded, self._clock = burst, flooded, clock
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._characters, self._sequences = _Allowance(500, 200), _Allowance(2_000, 2_000)
        self._last_input = 0.0
        self._flooding = False
        self._pasted: int | None = None
        self._tail = ""
        self._recent = ""
        self._dropped = 0

    def read(self, descriptor: int, size: int) -> bytes:
        """Reads from the terminal and returns what to pass on, always valid UTF-8."""
        data = os.read(descriptor, size)
        return self.filter(self._decode(data)).encode() if data else data

    def filter(self, text: str) -> str:
        """What to pass on of the text that was read."""
        now = self._clock()
        if self._flooding and now - self._last_input >= QUIET_SECONDS:
            self._flooding = False
        self._last_input = now
        text, self._tail, passed = self._tail + text, "", ""
        while text:
            if self._pasted is None:
                typed, start, text = self._until_paste(text)
                passed += self._typed(typed, now) + start
                self._recent = (self._recent + typed)[-len(_PASTE_START) :] if not start else ""
                self._pasted = 0 if start else None
            else:
                pasted, text = self._paste(text)
                passed += pasted
        return passed

    def take_dropped(self) -> int:
        """How many characters were dropped since the last call; 0 while more of them arrive."""
        if self._clock() - self._last_input < QUIET_SECONDS:
            return 0
        dropped, self._dropped = self._dropped, 0
        return dropped

    def _typed(self, text: str, now: float) -> str:
        characters, sequences = len(re.sub(_SEQUENCE, "", text)), text.count("\x1b")
        if characters >= BURST:
            self._burst()
        enough = self._characters.take(characters, now)
        if not (self._sequences.take(sequences, now) and enough) and not self._flooding:
            self._flooding = True
            self._flooded()
        if not self._flooding:
            return text
        self._dropped += len(re.sub(_REPORT, "", text))
        return "".join(re.findall(_REPORT, text))

    def _paste(self, text: str) -> tuple[str, str]:
        """What to pass on of a bracketed paste, and the rest of the text after it."""
        content, end, rest = text.partition(_PASTE_END)
        if not end:
            content = self._without_tail(content)
        room = max(0, MAX_PASTE - (self._pasted or 0))
        if len(content) > room:
            if not self._dropped:
                self._flooded()
            self._dropped += len(content) - room
        self._pasted = None if end else (self._pasted or 0) + len(content)
        return content[:room] + end, rest

    def _until_paste(self, text: str) -> tuple[str, str, str]:
        """What is typed before a paste, the mark that starts it, and the rest. The mark may have begun earlier."""
        before = self._recent
        at = (before + text).find(_PASTE_START)
        if at < 0:
            return text, "", ""
        end = at + len(_PASTE_START) - len(before)
        if at >= len(before):
            return text[: end - len(_PASTE_START)], _PASTE_START, text[end:]
        # Its beginning was passed on already, unless it was dropped.
        return "", _PASTE_START if self._flooding else text[:end], text[end:]

    def _without_tail(self, text: str) -> str:
        """The text without the start of an end mark at its end, which is kept until the rest of the mark arrives."""
        for size in range(len(_PASTE_END) - 1, 0, -1):
            if text.endswith(_PASTE_END[:size]):
                self._tail = _PASTE_END[:size]
                return text[:-size]
        return text
