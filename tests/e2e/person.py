"""What a person in front of the console does to answer."""

from tests.e2e.terminal import ENTER, Terminal

READY = "ready for your answer"
UNREAD = "read on"


def read(terminal: Terminal) -> None:
    """Reads a prompt to its end, until an answer counts."""
    terminal.until(lambda text: READY in text or UNREAD in text)
    if UNREAD in terminal.still(0.5):
        for _ in range(120):
            terminal.press(ENTER)
            if UNREAD not in terminal.still(0.1):
                break
        terminal.still(1.0)  # what it says may be older than the last key, which an answer must not follow at once
    terminal.until(READY)


def confirm(terminal: Terminal) -> None:
    """Approves a request of high risk, and says yes once more when that counts."""
    terminal.press("a")
    terminal.until("y yes")
    terminal.still(1.0)
    terminal.press("y")
    terminal.until(lambda text: "y yes" not in text)


def approve(terminal: Terminal) -> None:
    """Reads a prompt of high risk, approves it, and waits for the end."""
    read(terminal)
    confirm(terminal)
    terminal.until("done ✓")
