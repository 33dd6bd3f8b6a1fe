"""Being stopped without notice, as by SIGSTOP."""

import signal
from types import FrameType

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver


def mind_stops(driver: Driver | None) -> None:
    """Gives the terminal back before Textual takes it anew.

    Textual takes it at every SIGCONT, also if it never gave it back. Then two threads would read what is typed, and the
    terminal would not be restored in the end.
    """
    take = signal.getsignal(signal.SIGCONT)
    if not isinstance(driver, LinuxDriver) or not callable(take):
        return  # there is no terminal

    def continued(number: int, frame: FrameType | None) -> None:
        if not driver._must_signal_resume:
            driver.suspend_application_mode()
            driver._must_signal_resume = True
        take(number, frame)

    signal.signal(signal.SIGCONT, continued)
