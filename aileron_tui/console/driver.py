"""Textual's driver for terminals, which also survives being stopped without having asked for it."""

import asyncio
from collections.abc import Callable

from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """Textual begins anew when the process goes on. After a bare SIGSTOP, unlike after ctrl+z, it must end first."""

    continued: Callable[[], None] | None = None
    """Called when the process goes on, before anything that was typed meanwhile is heard."""

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
