"""Textual's terminal driver, made to survive SIGSTOP, floods of input and the loss of the terminal."""

import asyncio
import selectors
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import IO, Any, Final

from aileron_tui.console.input_limit import QUIET_SECONDS, InputLimit
from aileron_tui.console.textual_internals import ResumableDriver, poll_input_with, read_input_with

_RECENT_INPUT_SECONDS: Final = 1.0
_IDLE_TIMEOUT: Final = 0.5


class IdleSelector(selectors.SelectSelector):
    """Waits longer for input while nobody types.

    Textual polls for input ten times a second, which is a third of the work of an idle console. Input ends a wait at
    once. For a second after it the timeout is Textual's own, because Textual tells an escape key from an escape
    sequence by the time between reads.
    """

    _last_input = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Waits for input; returns what is ready to be read."""
        if timeout and monotonic() - self._last_input > _RECENT_INPUT_SECONDS:
            timeout = _IDLE_TIMEOUT
        ready = super().select(timeout)
        if ready:
            self._last_input = monotonic()
        return ready


poll_input_with(IdleSelector)


class TerminalOutput:
    """The terminal as a file. Once it is gone, `closed` is called once and later output is discarded.

    Otherwise Textual's writer thread would end with an error, and the console would wait for it forever.
    """

    def __init__(self, file: IO[str], closed: Callable[[], None]) -> None:
        self._file = file
        self._closed: Callable[[], None] | None = closed

    def write(self, text: str) -> int:
        """Writes if the terminal is still open."""
        self._try(lambda: self._file.write(text))
        return len(text)

    def flush(self) -> None:
        """Flushes if the terminal is still open."""
        self._try(self._file.flush)

    def fileno(self) -> int:
        """The file descriptor."""
        return self._file.fileno()

    def _try(self, work: Callable[[], object]) -> None:
        try:
            if self._closed:
                work()
        except OSError:
            closed, self._closed = self._closed, None
            if closed:
                closed()


class TerminalDriver(ResumableDriver):
    """Restores the terminal after a plain SIGSTOP too; Textual does so only after ctrl+z."""

    on_continue: Callable[[], None] | None = None
    """Called when the process continues, before any input that arrived meanwhile is read."""

    on_burst: Callable[[], None] | None = None
    """Called in the thread that reads, before more characters at once are passed on than a person can type."""

    on_input_dropped: Callable[[int], None] | None = None
    """Called with the number of characters that were dropped, after a flood of input."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.replace_output(TerminalOutput(self.output, self._terminal_closed))
        self._limit = InputLimit(self._burst, self._flooded)

    def run_input_thread(self) -> None:
        """Reads what is typed, without floods."""
        read_input_with(self._limit.read)
        super().run_input_thread()

    def _burst(self) -> None:
        if self.on_burst:
            self.on_burst()

    def _flooded(self) -> None:
        with suppress(RuntimeError):  # the app is exiting already
            self.call_in_loop(self._report_dropped)

    def _report_dropped(self) -> None:
        """Reports what was dropped once the flood is over."""
        if not (dropped := self._limit.take_dropped()):
            asyncio.get_running_loop().call_later(QUIET_SECONDS, self._report_dropped)
        elif self.on_input_dropped:
            self.on_input_dropped(dropped)

    def _terminal_closed(self) -> None:
        with suppress(RuntimeError):  # the app is exiting already
            self.exit_app()

    def process_continued(self) -> None:
        """Restores the terminal, because other programs may have changed its modes and drawn on it."""
        if self.on_continue:
            self.on_continue()
        if self.was_suspended:
            super().process_continued()
        else:
            asyncio.get_running_loop().call_soon(self.restart_terminal)
