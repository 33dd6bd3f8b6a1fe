"""Whom to alert, with a clock that the test sets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.alert_routing import (
    NEVER,
    ORDER,
    PROMPT,
    AlertOrder,
    AlertRoute,
    AlertStep,
    absence,
    next_step,
    remaining,
)

GONE = {
    "console": "no console is open",
    "page": "no page is open",
    "notification": "no desktop",
    "webhook": "no webhook is set up",
    "prompt": "no prompt is open",
}
ORDINARY = AlertOrder()


def without(*there: str) -> dict[str, str]:
    """Why each surface is absent except these."""
    return {name: why for name, why in GONE.items() if name not in there}


def test_the_first_surface_that_is_there_is_alerted_at_once() -> None:
    assert next_step(ORDINARY, AlertRoute(), without("console", "page"), 0, 300) == AlertStep("console")
    assert next_step(ORDINARY, AlertRoute(), without("page", "prompt"), 0, 300) == AlertStep(
        "page", reason="no console is open"
    )
    assert next_step(ORDINARY, AlertRoute(), without("notification"), 0, 300) == AlertStep(
        "notification", reason="no console is open; no page is open"
    )


def test_nobody_is_alerted_if_nobody_is_there() -> None:
    assert next_step(ORDINARY, AlertRoute(), GONE, 0, 300) == NEVER


def test_each_gets_its_share_before_the_next() -> None:
    order = AlertOrder.of(ORDER, share=20)
    absent = without("console", "notification", "prompt")
    route = AlertRoute()
    seen: list[tuple[float, str, str]] = []
    now = 0.0
    while (step := next_step(order, route, absent, now, 300 - now)) != NEVER:
        if isinstance(step, AlertStep):
            route = step.taken(route, absent, now)
            seen.append((now, step.to, step.reason))
        else:
            now += step
    assert seen == [
        (0, "console", ""),
        (20, "notification", "nobody reacted for 20 s"),
        (40, "prompt", "nobody reacted for 20 s"),
    ]


@pytest.mark.parametrize(("left", "share"), [(300, 60), (60, 20), (9, 3), (1, 1)])
def test_without_a_share_the_time_left_is_divided(left: float, share: float) -> None:
    absent = without("console", "notification", "prompt")
    assert next_step(ORDINARY, AlertRoute(("console",), 100), absent, 100, left) == share
    assert next_step(ORDINARY, AlertRoute(("console",), 100), absent, 100.5, left - 0.5) == share - 0.5


def test_a_reaction_starts_the_share_again_and_reading_lasts_longer() -> None:
    order, absent = AlertOrder.of(ORDER, share=20), without("console", "page")
    route = AlertRoute(("console",), 0)
    assert next_step(order, route.reacted(15, is_read=False), absent, 15, 300) == 20
    read = route.reacted(15, is_read=True)
    assert next_step(order, read, absent, 15, 300) == 60
    assert next_step(order, read, absent, 75, 300) == AlertStep("page", "console", "nobody answered for 60 s")


def test_a_surface_that_is_closed_makes_way_at_once() -> None:
    route, absent = AlertRoute(("console",), 0), without("notification")
    step = next_step(ORDINARY, route, absent, 5, 300)
    assert step == AlertStep("notification", "console", "no console is open")
    assert step.taken(route, absent, 5).alerted == ("notification",)


def test_one_that_comes_back_is_alerted_again() -> None:
    route = remaining(AlertRoute(("console",), 0), GONE)
    assert route.alerted == ()
    assert next_step(ORDINARY, route, without("console"), 9, 300) == AlertStep("console")


def test_what_a_channel_has_sent_stays_sent() -> None:
    route = AlertRoute(("notification",), 0)
    assert remaining(route, GONE) == route
    assert next_step(ORDINARY, route, GONE, 500, 300) == NEVER


def test_another_surface_that_was_alerted_and_is_there_still_has_its_time() -> None:
    route = AlertRoute(("console", "page"), 10)
    order, absent = AlertOrder.of(ORDER, share=20), without("console", "webhook")
    assert next_step(order, route, absent, 15, 300) == 15
    assert next_step(order, route, absent, 30, 300) == AlertStep("webhook", "console", "nobody reacted for 20 s")


def test_the_prompt_cannot_be_left_out_and_is_last() -> None:
    assert AlertOrder.of(()).surfaces == (PROMPT,)
    assert AlertOrder.of(("prompt", "page")).surfaces == ("page", PROMPT)


def test_every_absence_has_words() -> None:
    for surface in ("console", "page", "prompt"):
        assert absence(surface, is_open=True)
        assert absence(surface, is_open=False)


surfaces = st.sampled_from((*ORDER, PROMPT))


@given(
    st.lists(st.sampled_from(ORDER), unique=True),
    st.lists(st.tuples(st.sets(surfaces), st.floats(0, 100)), max_size=20),
    st.one_of(st.none(), st.floats(1, 100)),
)
def test_nobody_is_alerted_twice_in_a_row_or_while_absent(
    order_of: list[str], changes: list[tuple[set[str], float]], share: float | None
) -> None:
    order, route, now = AlertOrder.of(order_of, share), AlertRoute(), 0.0
    for there, seconds in changes:
        absent = without(*there)
        for _ in range(10):
            step = next_step(order, route, absent, now, max(0.0, 1000 - now))
            if not isinstance(step, AlertStep):
                route = remaining(route, absent)
                break
            assert step.to in there
            assert step.to in order.surfaces
            assert step.to not in route.alerted
            route = step.taken(route, absent, now)
        else:
            raise AssertionError("it never ends")
        now += seconds
