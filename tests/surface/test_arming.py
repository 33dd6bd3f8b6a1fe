"""When an answer key counts."""

import time
from collections.abc import Callable

import pytest

from aileron_tui.surface.arming import Arming


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
    arming.prompt_shown("r1", "d1")
    assert arming.why_not_armed() == "just shown"
    clock.now += 0.69
    assert arming.why_not_armed()
    clock.now += 0.02
    assert arming.why_not_armed() == ""


def test_showing_the_same_again_changes_nothing_and_another_digest_does(clock: Clock) -> None:
    arming = Arming(0.7, clock)
    arming.prompt_shown("r1", "d1")
    clock.now += 1
    arming.prompt_shown("r1", "d1")
    assert arming.why_not_armed() == ""
    arming.prompt_shown("r1", "d2")
    assert arming.why_not_armed() == "just shown"


@pytest.mark.parametrize(
    ("happen", "reason"),
    [
        (Arming.typed, "you were typing"),
        (Arming.clicked, "you just clicked"),
        (Arming.answer_dropped, "your last answer came too early"),
        (Arming.keys_moved, "the keys just moved"),
        (Arming.console_paused, "the console was paused"),
        (Arming.focused, "the window just gained focus"),
        (Arming.pasted, "text was pasted"),
    ],
)
def test_everything_that_might_answer_by_accident_disarms(
    clock: Clock, happen: Callable[[Arming], None], reason: str
) -> None:
    arming = Arming(0.7, clock)
    arming.prompt_shown("r1", "d1")
    clock.now += 1
    happen(arming)
    assert arming.why_not_armed() == reason
    assert arming.seconds_until_armed() == pytest.approx(0.7)
    clock.now += 0.71
    assert arming.why_not_armed() == ""
    assert arming.seconds_until_armed() == 0.0


def test_typing_on_and_on_never_arms(clock: Clock) -> None:
    arming = Arming(0.7, clock)
    arming.prompt_shown("r1", "d1")
    for _ in range(50):
        clock.now += 0.3
        assert arming.why_not_armed()
        arming.typed()


def test_a_console_that_was_held_up_starts_anew(clock: Clock) -> None:
    """Stopped, asleep or stalled: what was typed meanwhile is read after it, and was typed at an old picture."""
    arming = Arming(0.7, clock)
    arming.prompt_shown("r1", "d1")
    for _ in range(10):
        clock.now += 0.8
        arming.heartbeat()
    assert arming.why_not_armed() == ""
    clock.now += 1.41
    assert arming.why_not_armed() == "the console was paused"


@pytest.mark.parametrize("first", ["beat", "key"])
def test_it_is_noticed_whoever_looks_first_after_a_stall(clock: Clock, first: str) -> None:
    arming = Arming(0.7, clock)
    arming.heartbeat()
    clock.now += 60
    if first == "beat":
        arming.heartbeat()
    assert arming.why_not_armed() == "the console was paused"
    clock.now += 0.2
    arming.heartbeat()
    assert arming.why_not_armed()


def test_a_key_that_waited_long_to_be_heard_counts_as_held_up(clock: Clock) -> None:
    arming = Arming(0.7, clock)
    arming.input_delayed(0.3)
    assert arming.why_not_armed() == ""
    arming.input_delayed(0.4)
    assert arming.why_not_armed() == "the console was paused"


def test_without_waiting_nothing_is_ever_held_up(clock: Clock) -> None:
    arming = Arming(0.0, clock)
    arming.heartbeat()
    clock.now += 60
    arming.heartbeat()
    arming.input_delayed(60)
    assert arming.why_not_armed() == ""


def test_the_clock_goes_on_while_the_machine_sleeps() -> None:
    """The monotonic clock of Linux does not; where there is no better one, it does."""
    best = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    assert time.clock_gettime(best) <= Arming().clock() <= time.clock_gettime(best) + 60


def test_where_the_focus_is_told_a_first_press_needs_no_second(clock: Clock) -> None:
    arming = Arming(0.7, clock)
    arming.mouse_pressed()
    assert "click again" in arming.why_not_armed()
    clock.now += 100
    arming.blurred()
    arming.mouse_pressed()
    assert arming.why_not_armed() == ""


def test_a_key_shows_that_somebody_is_at_the_window(clock: Clock) -> None:
    arming = Arming(0.7, clock)
    arming.key_pressed()
    clock.now += 9
    arming.mouse_pressed()
    assert arming.why_not_armed() == ""
    clock.now += 11
    arming.mouse_pressed()
    assert "click again" in arming.why_not_armed()


def test_everything_that_happens_can_be_counted(clock: Clock) -> None:
    arming = Arming(0.7, clock)
    before = arming.changes
    for happen in (
        Arming.typed,
        Arming.clicked,
        Arming.keys_moved,
        Arming.focused,
        Arming.pasted,
        Arming.screen_changed,
    ):
        happen(arming)
    arming.prompt_shown("r1", "d1")
    arming.prompt_shown("r1", "d1")
    assert arming.changes == before + 7


def test_an_answer_covers_what_was_in_the_row_when_the_wait_began() -> None:
    clock = Clock()
    arming = Arming(0.7, clock)
    arming.prompt_shown("act-1", "sha256:1", ("act-1", "act-2"))
    clock.now += 0.6
    arming.prompt_shown("act-1", "sha256:1", ("act-1", "act-2", "act-3"))
    clock.now += 0.2
    assert arming.why_not_armed() == ""
    assert arming.covered == {"act-1", "act-2"}, "a request that joins neither disarms nor is covered"
    arming.typed()
    assert arming.covered == {"act-1", "act-2", "act-3"}
    assert arming.why_not_armed()
    arming.prompt_hidden()
    arming.prompt_shown("act-1", "sha256:1", ("act-1",))
    assert arming.covered == {"act-1"}
