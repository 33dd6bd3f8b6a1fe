"""Opens the page in the browser of the desktop when **Open** is pressed.

The address has no code in it: whoever can press the button gets to see that there is a page, and nothing more.
"""

import subprocess
import sys
from typing import Final

_PROGRAM: Final = "open" if sys.platform == "darwin" else "xdg-open"
_SECONDS: Final = 20.0


def open_in_browser(url: str) -> None:
    """Opens an address. A browser for terminals gets no terminal, so that it cannot take over that of the gate."""
    if not url.startswith("http://localhost:"):
        return
    try:
        process = subprocess.Popen(  # noqa: S603  # the system's own program; no shell is involved
            [_PROGRAM, url],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:  # there is no such program; the notification has said what waits
        return
    with process:
        try:
            process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
