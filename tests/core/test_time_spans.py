"""Times as users write them."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from aileron_tui.core.time_spans import read_end


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A time zone with summer time."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("2026-05-20", datetime(2026, 5, 20, 22, 0, tzinfo=UTC)),
        ("20260520", datetime(2026, 5, 20, 22, 0, tzinfo=UTC)),
        ("2026-10-25", datetime(2026, 10, 25, 23, 0, tzinfo=UTC)),
        ("2026-05-20 18:00", datetime(2026, 5, 20, 16, 0, tzinfo=UTC)),
        ("2026-05-20T00:00", datetime(2026, 5, 19, 22, 0, tzinfo=UTC)),
        ("2026-05-20T18:00+00:00", datetime(2026, 5, 20, 18, 0, tzinfo=UTC)),
    ],
)
def test_a_date_means_the_end_of_that_day(text: str, end: datetime) -> None:
    assert read_end(text) == end


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-05-40", "18:00", "9999-12-31", "2026-05-20 25:00"])
def test_what_is_not_a_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_end(text)
