"""Textual's driver for terminals, which also survives being stopped without having asked for it, and their end."""

import asyncio
import selectors
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from types import SimpleNamespace
from typing import IO, Any, Final

from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver

_LATELY: Final = 1.0
_PATIENCE: Final = 0.5


class IdleSelector(selectors.SelectSelector):
    """Textual looks ten times a second whether something was typed, a third of an idle console's work.

    Where nothing was for a while it waits longer. What is typed ends the wait at once, and after it every look is as
    short as Textual wants it, because it tells an escape key from a sequence by the time that passes.
    """

    _heard = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready to be read."""
        if timeout and monotonic() - self._heard > _LATELY:
            timeout = _PATIENCE
        ready = super().select(timeout)
        if ready:
            self._heard = monotonic()
        return ready


linux_driver.selectors = SimpleNamespace(  # type: ignore[assignment, attr-defined]  # what it uses of it
    SelectSelector=IdleSelector, SelectorKey=selectors.SelectorKey, EVENT_READ=selectors.EVENT_READ
)


class TerminalOutput:
    """A terminal to write to, which may go away. What is written after that goes nowhere, and `gone` was called once.

    The thread that writes for Textual would end with the terminal, and the console would wait for it for ever.
    """

    def __init__(self, file: IO[str], gone: Callable[[], None]) -> None:
        self._file = file
        self._gone: Callable[[], None] | None = gone

    def write(self, text: str) -> int:
        """Writes, if there is something to write to."""
        self._try(lambda: self._file.write(text))
        return len(text)

    def flush(self) -> None:
        """Writes out."""
        self._try(self._file.flush)

    def fileno(self) -> int:
        """The number of the file."""
        return self._file.fileno()

    def _try(self, work: Callable[[], object]) -> None:
        try:
            if self._gone:
                work()
        except OSError:
            gone, self._gone = self._gone, None
            if gone:
                gone()


class TerminalDriver(LinuxDriver):
    """Textual begins anew when the process goes on. After a bare SIGSTOP, unlike after ctrl+z, it must end first."""

    continued: Callable[[], None] | None = None
    """Called when the process goes on, before anything that was typed meanwhile is heard."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._file: Any = TerminalOutput(self._file, self._leave)

    def _leave(self) -> None:
        """Nobody can look on any more."""
        with suppress(RuntimeError):  # it is leaving already
            self._loop.call_soon_threadsafe(self._app.exit)

    def _sigcont_application(self, *_: object) -> None:
        if self.continued:
            self.continued()
        if self._must_signal_resume:
            super()._sigcont_application()
        else:
            asyncio.get_running_loop().call_soon(self._start_anew)

    def _start_anew(self) -> None:
        """Whoever used the terminal meanwhile may have changed its modes and drawn on it."""
        if self._auto_restart:
            self.suspend_application_mode()
            self._must_signal_resume = True
            self.resume_application_mode()
