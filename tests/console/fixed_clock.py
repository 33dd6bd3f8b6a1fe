"""Stops the clock of the console, so that ages and times left are the same in every picture."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from importlib import import_module
from pkgutil import walk_packages

import pytest

from aileron_tui import console, surface
from tests.console.sample_requests import NOW


class FixedClock(datetime):
    """A clock that always shows the same time."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "FixedClock":
        return cls.fromtimestamp(NOW.timestamp(), tz)


@contextmanager
def fixed_time() -> Iterator[None]:
    """Stops the clock, and makes colours and time zone independent of the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NO_COLOR", raising=False)
        patch.setenv("TZ", "UTC")
        time.tzset()
        for package in (console, surface):
            for found in walk_packages(package.__path__, f"{package.__name__}."):
                module = import_module(found.name)
                if getattr(module, "datetime", None) is datetime:
                    patch.setattr(module, "datetime", FixedClock)
                if hasattr(module, "utc_now"):
                    patch.setattr(module, "utc_now", lambda: NOW.astimezone(UTC))
        yield
    time.tzset()
