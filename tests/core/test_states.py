"""The life of a request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.states import InvalidTransition, RequestEvent, RequestState, advance, on_the_wire

LIVES = [
    ([RequestEvent.ASK, RequestEvent.APPROVE, RequestEvent.START, RequestEvent.SUCCEED], RequestState.EXECUTED),
    ([RequestEvent.ASK, RequestEvent.APPROVE, RequestEvent.START, RequestEvent.FAIL], RequestState.FAILED),
    ([RequestEvent.ASK, RequestEvent.APPROVE, RequestEvent.START, RequestEvent.INTERRUPT], RequestState.INTERRUPTED),
    ([RequestEvent.ASK, RequestEvent.APPROVE, RequestEvent.START, RequestEvent.END_UNKNOWN], RequestState.UNKNOWN),
    ([RequestEvent.ASK, RequestEvent.DENY], RequestState.DENIED),
    ([RequestEvent.ASK, RequestEvent.EXPIRE], RequestState.EXPIRED),
    ([RequestEvent.ASK, RequestEvent.WITHDRAW], RequestState.WITHDRAWN),
]


@pytest.mark.parametrize(("events", "end"), LIVES)
def test_every_life_ends_where_it_should(events: list[RequestEvent], end: RequestState) -> None:
    state: RequestState | None = None
    for event in events:
        assert state is None or not state.final
        state = advance(state, event)
    assert state is end
    assert state.final


def test_only_a_pending_request_can_be_decided() -> None:
    for state in RequestState:
        for event in (RequestEvent.APPROVE, RequestEvent.DENY):
            if state is RequestState.PENDING:
                assert advance(state, event)
            else:
                with pytest.raises(InvalidTransition) as caught:
                    advance(state, event)
                assert caught.value.state is state
    assert [state for state in RequestState if state.decidable] == [RequestState.PENDING]


def test_nothing_starts_without_an_approval() -> None:
    assert [state for state in (None, *RequestState) if _allowed(state, RequestEvent.START)] == [RequestState.APPROVED]


def test_the_refusal_says_where_the_request_stands() -> None:
    with pytest.raises(InvalidTransition, match="cannot approve a request that is denied"):
        advance(RequestState.DENIED, RequestEvent.APPROVE)
    with pytest.raises(InvalidTransition, match="cannot start a request that does not exist yet"):
        advance(None, RequestEvent.START)


@given(st.lists(st.sampled_from(RequestEvent), max_size=30))
def test_no_sequence_runs_an_op_twice_or_unasked(events: list[RequestEvent]) -> None:
    state: RequestState | None = None
    accepted: list[RequestEvent] = []
    for event in events:
        if _allowed(state, event):
            state = advance(state, event)
            accepted.append(event)
    assert (
        accepted.count(RequestEvent.START)
        <= accepted.count(RequestEvent.APPROVE)
        <= accepted.count(RequestEvent.ASK)
        <= 1
    )


def test_the_wire_keeps_apart_what_it_merges() -> None:
    merged = (RequestState.APPROVED, RequestState.RUNNING, RequestState.HANDED_OVER, RequestState.UNKNOWN)
    seen = [on_the_wire(state) for state in RequestState if state not in merged]
    assert len(set(seen)) == len(seen)
    assert on_the_wire(RequestState.EXPIRED) == ("failed", "approval_timeout")
    unknown = [on_the_wire(state) for state in (RequestState.UNKNOWN, RequestState.INTERRUPTED)]
    assert unknown == [("failed", "outcome_unknown")] * 2
    assert on_the_wire(RequestState.APPROVED) == on_the_wire(RequestState.RUNNING) == ("running", "")


def _allowed(state: RequestState | None, event: RequestEvent) -> bool:
    try:
        advance(state, event)
    except InvalidTransition:
        return False
    return True
