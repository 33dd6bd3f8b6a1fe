"""When an answer key counts."""

from collections.abc import Callable

import pytest

from aileron_tui.console.arming import Arming


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_prompt_is_armed_only_after_it_was_on_screen(clock: Clock) -> None:
    arming = Arming(0.7, clock)
    arming.shown("r1", "d1")
    assert arming.obstacle() == "just shown"
    clock.now += 0.69
    assert arming.obstacle()
    clock.now += 0.02
    assert arming.obstacle() == ""


def test_showing_the_same_again_changes_nothing_and_another_digest_does(clock: Clock) -> None:
    arming = Arming(0.7, clock)
    arming.shown("r1", "d1")
    clock.now += 1
    arming.shown("r1", "d1")
    assert arming.obstacle() == ""
    arming.shown("r1", "d2")
    assert arming.obstacle() == "just shown"


@pytest.mark.parametrize(
    ("happen", "reason"),
    [
        (Arming.typed, "you were typing"),
        (Arming.focused, "the window just got the focus"),
        (Arming.pasted, "text was pasted"),
    ],
)
def test_everything_that_might_answer_by_accident_disarms(
    clock: Clock, happen: Callable[[Arming], None], reason: str
) -> None:
    arming = Arming(0.7, clock)
    arming.shown("r1", "d1")
    clock.now += 1
    happen(arming)
    assert arming.obstacle() == reason
    assert arming.remaining() == pytest.approx(0.7)
    clock.now += 0.71
    assert arming.obstacle() == ""
    assert arming.remaining() == 0.0


def test_typing_on_and_on_never_arms(clock: Clock) -> None:
    arming = Arming(0.7, clock)
    arming.shown("r1", "d1")
    for _ in range(50):
        clock.now += 0.3
        assert arming.obstacle()
        arming.typed()
