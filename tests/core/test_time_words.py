"""Times and durations in words."""

from datetime import UTC, datetime, timedelta

import pytest

from aileron_tui.core.time_words import ago, local_time, minutes_and_seconds, span

NOW = datetime(2026, 5, 12, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, "0:00"), (59.9, "0:59"), (65, "1:05"), (3599, "59:59"), (3607, "1:00:07"), (90_000, "25:00:00")],
)
def test_a_countdown_has_hours_only_from_one_hour_up(seconds: float, words: str) -> None:
    assert minutes_and_seconds(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "just now"), (0.9, "just now"), (9, "9 s ago"), (59, "50 s ago"), (61, "1 min ago"), (7300, "2 h ago")],
)
def test_an_age_is_less_exact_the_older_it_is(seconds: float, words: str) -> None:
    assert ago(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0.0 s"),
        (0.41, "0.4 s"),
        (9.96, "10.0 s"),
        (59, "59 s"),
        (90, "1.5 min"),
        (7200, "2.0 h"),
        (200_000, "2 d"),
    ],
)
def test_a_duration_has_one_unit(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_a_time_has_its_date_unless_it_is_today() -> None:
    assert local_time(NOW, NOW) == f"{NOW.astimezone():%H:%M}"
    before = NOW - timedelta(days=3)
    assert local_time(before, NOW) == f"{before.astimezone():%Y-%m-%d %H:%M}"
