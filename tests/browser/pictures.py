"""Takes the pictures of the page in `screenshots/`: `python -m tests.browser.pictures`."""

import os
import sys
from pathlib import Path
from typing import Final

from tests.browser.programs import LIBRARIES, ROOT, install

FOLDER: Final = ROOT / "screenshots"
_WIDE: Final = (1280, 860)
_PHONE: Final = (390, 844)
PICTURES: Final = (
    ("page-wide", "prompt", _WIDE, False),
    ("page-dark", "prompt", _WIDE, True),
    ("page-phone", "prompt", _PHONE, False),
    ("page-phone-list", "waiting", _PHONE, True),
    ("page-warnings", "warnings", _WIDE, False),
    ("page-confirmation", "confirmation", _WIDE, False),
    ("page-history", "record", _WIDE, True),
    ("page-hostile-text", "hostile", _WIDE, False),
)


def take(folder: Path) -> None:
    """Takes all pictures."""
    from tests.browser.opened_page import browser, tab  # noqa: PLC0415  # needs what is installed first
    from tests.browser.sample_page import sample_page  # noqa: PLC0415  # as above
    from tests.browser.screens import SCREENS  # noqa: PLC0415  # as above

    with browser() as started, sample_page() as sample:
        for name, screen, size, dark in PICTURES:
            sample.reset()
            with tab(started, size, dark=dark) as found:
                SCREENS[screen](found, sample)
                found.page.screenshot(path=folder / f"{name}.png")
            sys.stdout.write(f"{folder.name}/{name}.png\n")


if __name__ == "__main__":
    if str(LIBRARIES) not in sys.path:
        install()
        paths = os.pathsep.join((str(ROOT), str(LIBRARIES)))
        os.execve(sys.executable, [sys.executable, "-m", "tests.browser.pictures"], {**os.environ, "PYTHONPATH": paths})
    take(FOLDER)
