"""A console for which no time passes, so that ages and times left are part of a picture."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from importlib import import_module
from pkgutil import walk_packages

import pytest

from aileron_tui import console
from tests.console.items import NOW


class FixedClock(datetime):
    """A clock that shows the same moment for ever."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "FixedClock":
        return cls.fromtimestamp(NOW.timestamp(), tz)


@contextmanager
def fixed_time() -> Iterator[None]:
    """It is always the same moment, and nothing of this terminal's environment decides on colours or on the zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NO_COLOR", raising=False)
        patch.setenv("TZ", "UTC")
        time.tzset()
        for found in walk_packages(console.__path__, f"{console.__name__}."):
            module = import_module(found.name)
            if getattr(module, "datetime", None) is datetime:
                patch.setattr(module, "datetime", FixedClock)
        yield
    time.tzset()
