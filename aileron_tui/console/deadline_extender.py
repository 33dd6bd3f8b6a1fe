"""Five more minutes to answer a request: signed and sent in a thread, so that nothing on screen waits for it."""

from functools import partial
from typing import TYPE_CHECKING

from aileron_tui.core.errors import AileronError
from aileron_tui.core.time_words import local_time
from aileron_tui.core.times import moment, utc_now
from aileron_tui.surface.board import Tone

if TYPE_CHECKING:
    from aileron_tui.console.port import ConsolePort
    from aileron_tui.core.request import Request


class DeadlineExtender:
    """Extends deadlines, once for each press of the key. It answers nothing and never disarms an answer."""

    def __init__(self, port: "ConsolePort") -> None:
        self._port = port
        self._last: Request | None = None

    def extend(self, request: "Request") -> None:
        """Extends the deadline of a request by five minutes, or as far as it can be extended."""
        self._port.run_blocking("deadlines", request.source, partial(self._extend, request))

    def _extend(self, request: "Request") -> None:
        """In a thread: signs and sends the extension. The one before may not be on screen yet."""
        source, last = self._port.source(request.source), self._last
        if last and last.key == request.key and last.expires_at > request.expires_at:
            request = last
        try:
            if source is None:
                raise AileronError("the deadline was not extended", "not connected")
            self._last = source.extend(request)
        except AileronError as error:
            self._port.report(self._port.show_message, str(error), Tone.WARN)
        else:
            self._port.report(self._port.show_message, f"waits until {_time(self._last)}")


def _time(request: "Request") -> str:
    try:
        return local_time(moment(request.expires_at), utc_now())
    except (ValueError, OverflowError):
        return request.expires_at
