"""What is typed in a search of the history becomes a query, or an error that says what to type instead."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.console.key_table import SEARCH
from aileron_tui.core.outcome_words import OUTCOME_FILTERS, states_of
from aileron_tui.core.outcomes import OUTCOMES as SHOWN
from aileron_tui.core.states import RequestState
from aileron_tui.surface.history_query import OUTCOMES, HistoryQuery, SearchError, completed, read_search

NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)  # a Tuesday
ALLOWED = ["approved", "running", "handed over", "executed", "failed", "unknown", "interrupted"]

SetZone = Callable[[str], None]


@pytest.fixture
def set_zone(monkeypatch: pytest.MonkeyPatch) -> object:
    """Sets the local time zone for one test."""

    def set_(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield set_
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("wanted", "query"),
    [
        (HistoryQuery(), {}),
        (HistoryQuery("  "), {}),
        (HistoryQuery("recap"), {"text": "recap*"}),
        (HistoryQuery("recap "), {"text": "recap"}),
        (HistoryQuery("weekly recap"), {"text": "weekly recap*"}),
        (HistoryQuery("rec*"), {"text": "rec*"}),
        (HistoryQuery("a@b.c"), {"text": "a@b.c*"}),
        (HistoryQuery("recap since:7d"), {"text": "recap", "since": "2026-05-05T12:00:00Z"}),
        (HistoryQuery("since:0m"), {"since": "2026-05-12T12:00:00Z"}),
        (HistoryQuery("since:"), {}),
        (HistoryQuery("since:2026-05-12T10:00Z"), {"since": "2026-05-12T10:00:00Z"}),
        (HistoryQuery("action:send-draft surface:tui"), {"action": ["send-draft"], "surface": ["tui"]}),
        (HistoryQuery("agent:a agent:b agent:a"), {"agent": ["a", "b"]}),
        (HistoryQuery('action:"send it" x '), {"action": ["send it"], "text": "x"}),
        (HistoryQuery("outcome:denied", "failed"), {"outcome": ["failed", "denied"]}),
        (HistoryQuery("x", "nobody answered"), {"text": "x*", "outcome": ["expired"]}),
        (HistoryQuery("outcome:approved"), {"outcome": ALLOWED}),
        (HistoryQuery("Outcome:Done"), {"outcome": ["executed"]}),
        (
            HistoryQuery("outcome:done outcome:approved"),
            {"outcome": ["executed", *[s for s in ALLOWED if s != "executed"]]},
        ),
        (HistoryQuery("outcome:nobody-answered"), {"outcome": ["expired"]}),
        (HistoryQuery('outcome:"nobody answered"'), {"outcome": ["expired"]}),
        (HistoryQuery("outcome:no-news"), {"outcome": ["approved", "running"]}),
        (HistoryQuery("outcome:allowed-by-a-rule"), {"outcome": ["by_rule"]}),
        (HistoryQuery("http://x"), {"text": "http://x*"}),
        (HistoryQuery("localhost:8080"), {"text": "localhost:8080*"}),
        (HistoryQuery('"; DROP'), {"text": '"; DROP*'}),
        (HistoryQuery('"agents:x"'), {"text": '"agents:x"'}),
        (HistoryQuery("outcome:den"), {}),
        (HistoryQuery("recap since:y"), {"text": "recap"}),
    ],
)
def test_what_is_typed_becomes_a_query(wanted: HistoryQuery, query: dict[str, object]) -> None:
    assert wanted.query(NOON) == query


@pytest.mark.parametrize(
    ("text", "title", "hint"),
    [
        ("since:tuesdy", '"tuesdy" is not a date or time', "Did you mean since:tuesday?"),
        ("until:99999w9", "not a date or time", "until:7d"),
        ("since:2026-13-01", "not a date or time", "since:2026-05-12"),
        ("outcome:denyed", 'unknown outcome "denyed"', "Did you mean outcome:denied?"),
        ("outcome:x\x1b", "unknown outcome", "Use one of approved, done, failed, denied, nobody-answered"),
        ("outcom:done", 'unknown filter "outcom:"', "Did you mean outcome:?"),
        ("agents:x", 'unknown filter "agents:"', "Did you mean agent:? To find the text itself, put it in quotes."),
        ("sinse:tuesday", 'unknown filter "sinse:"', "Did you mean since:?"),
    ],
)
def test_what_cannot_be_understood_names_what_can(text: str, title: str, hint: str) -> None:
    with pytest.raises(SearchError) as caught:
        HistoryQuery(text).query(NOON)
    assert title in caught.value.title
    assert hint in caught.value.hint
    assert "\x1b" not in f"{caught.value}{caught.value.hint}"


@given(st.text(max_size=40))
def test_whatever_is_typed_is_read_or_refused_in_words(text: str) -> None:
    for typed in (text, f"since:{text}", f"outcome:{text}", f"agent:{text}"):
        for read in (HistoryQuery(typed).query, lambda now, typed=typed: read_search(typed, now)):
            with suppress(SearchError):
                read(NOON)


@pytest.mark.parametrize(
    ("now", "day", "start"),
    [
        # Tuesday 10 November, at noon in Berlin.
        ("2026-11-10T11:00Z", "tuesday", "2026-11-09T23:00:00Z"),
        ("2026-11-10T11:00Z", "today", "2026-11-09T23:00:00Z"),
        ("2026-11-10T11:00Z", "yesterday", "2026-11-08T23:00:00Z"),
        ("2026-11-10T11:00Z", "wednesday", "2026-11-03T23:00:00Z"),
        ("2026-11-10T11:00Z", "Mon", "2026-11-08T23:00:00Z"),
        ("2026-11-10T11:00Z", "2026-11-10", "2026-11-09T23:00:00Z"),
        # One second before and at local midnight: the day is the local one, not that of UTC.
        ("2026-11-09T22:59:59Z", "tuesday", "2026-11-02T23:00:00Z"),
        ("2026-11-09T23:00:00Z", "tuesday", "2026-11-09T23:00:00Z"),
        # The clocks went back on Sunday, 25 October: that day had 25 hours.
        ("2026-10-26T11:00Z", "sunday", "2026-10-24T22:00:00Z"),
        ("2026-10-26T11:00Z", "yesterday", "2026-10-24T22:00:00Z"),
        ("2026-10-26T11:00Z", "monday", "2026-10-25T23:00:00Z"),
        # They went forward on Sunday, 29 March: that day had 23 hours.
        ("2026-03-30T10:00Z", "sunday", "2026-03-28T23:00:00Z"),
        ("2026-03-30T10:00Z", "monday", "2026-03-29T22:00:00Z"),
        ("2026-03-30T10:00Z", "saturday", "2026-03-27T23:00:00Z"),
    ],
)
def test_a_day_begins_at_local_midnight(set_zone: SetZone, now: str, day: str, start: str) -> None:
    set_zone("Europe/Berlin")
    assert HistoryQuery(f"since:{day}").query(datetime.fromisoformat(now)) == {"since": start}
    assert HistoryQuery(f"until:{day}").query(datetime.fromisoformat(now)) == {"until": start}


def test_a_day_without_midnight_begins_when_the_clocks_have_moved(set_zone: SetZone) -> None:
    """In Chile, the clocks go from 23:59:59 to 01:00."""
    set_zone("America/Santiago")
    query = HistoryQuery("since:sunday").query(datetime(2026, 9, 7, 12, tzinfo=UTC))
    assert query == {"since": "2026-09-06T04:00:00Z"}


def test_every_word_on_screen_finds_its_outcome() -> None:
    for state, (_, word) in SHOWN.items():
        assert state in states_of(word)
    for state in RequestState:
        assert state in states_of(state), "the names of states are known too"
    assert set(OUTCOME_FILTERS["approved"]) == set(ALLOWED)


def test_the_help_lists_every_outcome() -> None:
    listed = " ".join(f"{what} {does}" for what, does in SEARCH)
    assert all(word in listed for word in OUTCOMES)
    assert all(f"{name}:" in listed for name in ("since", "until", "agent", "action", "surface", "source"))


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("ou", "outcome:"),
        ("recap ag", "recap agent:"),
        ("outcome:", "outcome:approved"),
        ("outcome:no", "outcome:nobody-answered"),
        ("since:we", "since:wednesday"),
        ("o", ""),
        ("", ""),
        ("outcome:denied", ""),
        ("agent:x", ""),
        ("outcome:denied ", ""),
    ],
)
def test_a_filter_is_completed(text: str, whole: str) -> None:
    assert completed(text) == whole


def test_every_outcome_can_be_typed() -> None:
    for word in OUTCOMES:
        assert read_search(f"outcome:{word}", NOON).outcomes
