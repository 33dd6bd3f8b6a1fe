"""How long a prompt was on screen, and when that is too short."""

from dataclasses import replace

import pytest

from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.surface.equal_approvals import EqualApprovals
from aileron_tui.surface.reading_time import ReadingTime, foreign_characters
from tests.console.scripted_gate import request


class Clock:
    """A clock that a test moves forward."""

    def __init__(self) -> None:
        self.now = 10.0

    def __call__(self) -> float:
        return self.now


def with_body(length: int, number: int = 1) -> Request:
    return request(number, preview=PreviewResult((Row("Body", "x" * length, multiline=True),)))


def reading(clock: Clock, item: Request, seconds: float) -> ReadingTime:
    time = ReadingTime(100.0, clock)
    time.shown(item)
    clock.now += seconds
    return time


@pytest.mark.parametrize(
    ("length", "seconds", "hasty"),
    [(296, 0.1, False), (297, 0.1, True), (297, 2.9, True), (297, 3.1, False), (9996, 99, True), (9996, 100.1, False)],
)
def test_only_much_text_in_little_time_is_hasty(length: int, seconds: float, hasty: bool) -> None:
    """The draft's id has four characters more than the body."""
    item, clock = replace(with_body(length)), Clock()
    assert foreign_characters(item.prompt) == length + 3
    item = with_body(length + 1)
    found = reading(clock, item, seconds).hasty(item)
    assert (found is not None) is hasty


def test_it_says_how_much_in_how_long() -> None:
    item, clock = with_body(1897), Clock()
    found = reading(clock, item, 4.2).hasty(item)
    assert found is not None
    assert found.words == "You read 1,900 characters in 4 s."


def test_time_adds_up_only_while_it_is_the_one_on_screen() -> None:
    first, second, clock = with_body(900), with_body(900, 2), Clock()
    time = reading(clock, first, 3.0)
    time.shown(second)
    clock.now += 60
    assert time.seconds(first) == 3.0
    time.shown(first)
    time.shown(first)
    clock.now += 7
    assert time.seconds(first) == 10.0
    time.shown(None)
    clock.now += 60
    assert (time.seconds(first), time.seconds(second)) == (10.0, 60.0)


def test_what_changed_starts_at_zero() -> None:
    clock = Clock()
    time = reading(clock, with_body(900), 60)
    assert time.seconds(with_body(901)) == 0.0
    assert time.hasty(with_body(901)) is not None


def test_nobody_is_asked_if_there_is_no_limit() -> None:
    item = with_body(100_000)
    assert ReadingTime(0).hasty(item) is None


def test_three_equal_approvals_are_enough() -> None:
    equal = EqualApprovals()
    for count in range(3):
        assert not equal.enough(request(1)), count
        equal.record(replace(request(1), id=f"act-{count}"))
    assert equal.enough(replace(request(1), id="act-9"))
    for other in (
        request(2),
        request(1, action="another"),
        request(1, asker=replace(request(1).prompt.asker, agent="another")),
        replace(request(1), source="work"),
    ):
        assert not equal.enough(other)
