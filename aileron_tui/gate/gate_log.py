"""What a gate tells about itself while it runs: one line per event, for people or for machines.

No line ever holds a token, an argument or a word of a preview; foreign text is made visible first.
"""

import json
import logging
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TextIO

from aileron_tui.core.jsontext import Json
from aileron_tui.core.times import timestamp
from aileron_tui.core.visible_text import clip, inline

_WIDEST: Final = 300


def _now() -> datetime:
    return datetime.now(UTC)


class GateLog:
    """Writes lines to a stream; without one it is silent."""

    def __init__(
        self, stream: TextIO | None = None, *, as_json: bool = False, clock: Callable[[], datetime] = _now
    ) -> None:
        self._stream = stream
        self._as_json = as_json
        self._clock = clock

    def note(self, event: str, text: str = "", **fields: Json) -> None:
        """One event: its name, a text for people, and fields for machines."""
        if self._stream is None:
            return
        now = timestamp(self._clock())
        if self._as_json:
            line = json.dumps({"time": now, "event": event, "text": inline(text), **fields})
        else:
            line = f"{now[:19]}Z {event:<8} {clip(inline(text), _WIDEST)}".rstrip()
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            # Whoever read the log is gone. The gate goes on; what matters is in the ledger.
            self._stream = None


class GateLogHandler(logging.Handler):
    """Takes what the gate's parts log into the journal. Of an unforeseen failure it tells where, not with what."""

    def __init__(self, journal: GateLog) -> None:
        super().__init__(logging.INFO)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Notes one record."""
        text, where = record.getMessage().strip(), ""
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            places = traceback.extract_tb(error.__traceback__)
            where = " < ".join(f"{place.name}:{place.lineno}" for place in reversed(places[-6:]))
            text = f"{text} ({type(error).__name__} at {where})"
        event = "gate" if record.levelno < logging.WARNING else record.levelname.lower()
        self._journal.note(event, text, where=where)
