"""The life of a request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.states import Event, InvalidTransition, State, advance, on_the_wire

LIVES = [
    ([Event.ASK, Event.APPROVE, Event.START, Event.SUCCEED], State.EXECUTED),
    ([Event.ASK, Event.APPROVE, Event.START, Event.FAIL], State.FAILED),
    ([Event.ASK, Event.APPROVE, Event.START, Event.INTERRUPT], State.INTERRUPTED),
    ([Event.ASK, Event.DENY], State.DENIED),
    ([Event.ASK, Event.EXPIRE], State.EXPIRED),
    ([Event.ASK, Event.WITHDRAW], State.WITHDRAWN),
]


@pytest.mark.parametrize(("events", "end"), LIVES)
def test_every_life_ends_where_it_should(events: list[Event], end: State) -> None:
    state: State | None = None
    for event in events:
        assert state is None or not state.final
        state = advance(state, event)
    assert state is end
    assert state.final


def test_only_a_pending_request_can_be_decided() -> None:
    for state in State:
        for event in (Event.APPROVE, Event.DENY):
            if state is State.PENDING:
                assert advance(state, event)
            else:
                with pytest.raises(InvalidTransition) as caught:
                    advance(state, event)
                assert caught.value.state is state
    assert [state for state in State if state.decidable] == [State.PENDING]


def test_nothing_starts_without_an_approval() -> None:
    assert [state for state in (None, *State) if _allowed(state, Event.START)] == [State.APPROVED]


def test_the_refusal_says_where_the_request_stands() -> None:
    with pytest.raises(InvalidTransition, match="cannot approve a request that is denied"):
        advance(State.DENIED, Event.APPROVE)
    with pytest.raises(InvalidTransition, match="cannot start a request that does not exist yet"):
        advance(None, Event.START)


@given(st.lists(st.sampled_from(Event), max_size=30))
def test_no_sequence_runs_an_op_twice_or_unasked(events: list[Event]) -> None:
    state: State | None = None
    accepted: list[Event] = []
    for event in events:
        if _allowed(state, event):
            state = advance(state, event)
            accepted.append(event)
    assert accepted.count(Event.START) <= accepted.count(Event.APPROVE) <= accepted.count(Event.ASK) <= 1


def test_the_wire_keeps_apart_what_it_merges() -> None:
    seen = [on_the_wire(state) for state in State if state not in (State.APPROVED, State.RUNNING)]
    assert len(set(seen)) == len(seen)
    assert on_the_wire(State.EXPIRED) == ("failed", "approval_timeout")
    assert on_the_wire(State.APPROVED) == on_the_wire(State.RUNNING) == ("running", "")


def _allowed(state: State | None, event: Event) -> bool:
    try:
        advance(state, event)
    except InvalidTransition:
        return False
    return True
