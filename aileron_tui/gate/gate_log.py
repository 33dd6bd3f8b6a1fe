"""The log of a running gate: one line per event, as text or JSON.

No line ever contains a token, an argument or any part of a preview. Control characters in foreign text are escaped.
"""

import errno
import json
import logging
import traceback
from collections.abc import Callable
from datetime import datetime
from typing import Final, TextIO

from aileron_tui.core.jsontext import Json
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.core.visible_text import clip, inline

MAX_LINE_LENGTH: Final = 300
"""How much of an event's text is written."""

_LEVELS: Final = {"failed": "error", "critical": "error", "error": "error", "warning": "warning"}
"""How serious an event is, for what reads the JSON format; all others are only information."""


class GateLog:
    """Writes log lines to a stream. Without a stream, nothing is logged."""

    def __init__(
        self, stream: TextIO | None = None, *, as_json: bool = False, clock: Callable[[], datetime] = utc_now
    ) -> None:
        self._stream = stream
        self._as_json = as_json
        self._clock = clock

    def note(self, event: str, text: str = "", **fields: Json) -> None:
        """Writes one event: its name, a text for people, and fields for the JSON format."""
        if self._stream is None:
            return
        now = timestamp(self._clock())
        if self._as_json:
            level = _LEVELS.get(event, "info")
            line = json.dumps({"time": now, "level": level, "event": event, "text": inline(text), **fields})
        else:
            line = f"{now[:19]}Z {event:<8} {clip(inline(text), MAX_LINE_LENGTH)}".rstrip()
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except ValueError:
            self._stream = None  # it was closed
        except OSError as error:
            # Everything important is in the ledger. A full disk may have space again; a closed pipe stays closed.
            if error.errno == errno.EPIPE:
                self._stream = None


class GateLogHandler(logging.Handler):
    """Forwards log records to the gate log. For an exception it logs the type and location, not the message."""

    def __init__(self, gate_log: GateLog) -> None:
        super().__init__(logging.INFO)
        self._gate_log = gate_log

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one record."""
        text, where = record.getMessage().strip(), ""
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            frames = traceback.extract_tb(error.__traceback__)
            where = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-6:]))
            text = f"{text} ({type(error).__name__} at {where})"
        event = "gate" if record.levelno < logging.WARNING else record.levelname.lower()
        self._gate_log.note(event, text, where=where)
