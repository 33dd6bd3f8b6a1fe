"""The past: what a gate tells is checked, days add up."""

import json
from datetime import UTC, date, datetime, timedelta

import pytest

from aileron_tui.console.widgets.chart import bars
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.outcomes import ending
from aileron_tui.core.times import timestamp
from aileron_tui.runtime.errors import InvalidReply
from aileron_tui.surface.history_records import REDUCED, DayTally, read_page, shown_in_ledger, tally, typical
from tests.console.history_gate import record, records

NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)


def test_a_page_is_read() -> None:
    page = read_page({"items": [*records(3)], "next": 7})
    assert [request.seq for request in page.requests] == [3, 2, 1]
    assert page.older == 7
    assert read_page({"items": [], "next": None}).older is None


def test_a_summary_is_read_and_may_be_absent() -> None:
    page = read_page({"items": [record(2, changes={"summary": ["a", "b"]}), record(1)], "next": None})
    assert [request.summary for request in page.requests] == [("a", "b"), ()]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"items": None, "next": None},
        {"items": [1], "next": None},
        {"items": [], "next": "7"},
        {"items": [], "next": 0},
        {"items": [record(1, changes={"action": 5})], "next": None},
        {"items": [record(1, changes={"took": "1"})], "next": None},
        {"items": [record(1, changes={"took": [1]})], "next": None},
        {"items": [record(1, changes={"took": 10**400})], "next": None},
        {"items": [record(1, changes={"took": 1e300})], "next": None},
        {"items": [record(1, changes={"took": -1})], "next": None},
        {"items": [record(1, changes={"seq": "1"})], "next": None},
        {"items": [record(1, changes={"seq": None})], "next": None},
        {"items": [record(1, changes={"summary": "x"})], "next": None},
        {"items": [record(1, changes={"summary": ["x", 1]})], "next": None},
        {"items": [record(1, changes={"summary": ["x"] * 9})], "next": None},
    ],
    ids=lambda answer: json.dumps(answer)[:30],
)
def test_what_is_no_page_is_refused(answer: JsonObject) -> None:
    with pytest.raises(InvalidReply):
        read_page(answer)


def test_an_outcome_we_do_not_know_is_shown_as_the_gate_says_it() -> None:
    page = read_page({"items": [record(1, changes={"outcome": "vanished"})], "next": None})
    assert ending(page.requests[0], NOON) == ("?", "vanished")


def test_days_add_up_in_local_time() -> None:
    today = date(2026, 5, 12)
    start = datetime(2026, 5, 12, 9).astimezone()
    times = [(0, 2.0), (0, 4.0), (0, 9.0), (1, 5.0), (40, 1.0)]
    made: list[Json] = []
    for place, (back, took) in enumerate(times):
        at = start - timedelta(days=back)
        made.append(record(place, at, {"decided": timestamp(at.astimezone(UTC)), "took": took}))
    made.append(record(9, start, {"decided": "", "took": None}))
    made.append(record(10, start, {"decided": "not a time", "took": 1.0}))
    requests = read_page({"items": made, "next": None}).requests
    days = tally(requests, today, 3)
    assert days == (DayTally(date(2026, 5, 10)), DayTally(date(2026, 5, 11), 1, 5.0), DayTally(today, 3, 4.0))
    assert typical(requests) == 3.0
    assert typical(()) is None


def test_bars_are_as_high_as_their_values() -> None:
    assert bars([8, 4, None, 0.01], 1, "") == ["█▄ ▁"]
    assert bars([3, 1], 3, " ") == ["█  ", "█  ", "█ █"]
    assert bars([None, None], 1) == ["   "]
    assert bars([], 2) == ["", ""]


def test_what_the_ledger_kept_is_shown() -> None:
    made: JsonObject = {"kind": "request.made", "body": {"args": {"to": "x@example.com", "body": "one\ntwo", "n": 2}}}
    rows: list[Json] = [{"label": "To", "value": "y", "missing": False}, {"label": "Cc", "value": "", "missing": True}]
    kept: JsonObject = {
        "kind": "preview.fetched",
        "body": {"digest": "d", "preview": {"rows": rows, "unavailable": ""}},
    }
    shown = shown_in_ledger({"entries": [made, kept]})
    assert [(row.label, row.value, row.multiline) for row in shown.inputs] == [
        ("to", "x@example.com", False),
        ("body", "one\ntwo", True),
        ("n", "2", False),
    ]
    assert [(row.label, row.missing) for row in shown.fetched] == [("To", False), ("Cc", True)]
    lost: JsonObject = {"kind": "preview.fetched", "body": {"digest": "d", "unavailable": "timeout"}}
    assert shown_in_ledger({"entries": [made, lost]}).unavailable == "timeout"
    digest: JsonObject = {"kind": "preview.fetched", "body": {"digest": "d"}}
    assert "digest" in shown_in_ledger({"entries": [made, digest]}).note


@pytest.mark.parametrize(("names", "words"), [(["desk", "desk"], "twice, by desk"), ([], ""), (None, ""), ("desk", "")])
def test_extensions_of_the_deadline_are_shown(names: Json, words: str) -> None:
    assert shown_in_ledger({"entries": [], "extended_by": names}).extended == words


def test_alerts_are_shown() -> None:
    shown: JsonObject = {"kind": "prompt.shown", "time": "2026-05-12T10:00:00.000000Z", "body": {"alerted": "console"}}
    fell_back: JsonObject = {
        "kind": "surface.fell_back",
        "time": "2026-05-12T10:01:00.000000Z",
        "body": {"from": "console", "to": "webhook", "reason": "nobody reacted for 60 s"},
    }
    words = "console, then webhook after 1.0 min (nobody reacted for 60 s)"
    assert shown_in_ledger({"entries": [shown, fell_back]}).alerted == words


@pytest.mark.parametrize("entries", [None, 5, [], [None], [{}], [{"kind": "request.made", "body": []}]])
def test_entries_that_make_no_sense_show_nothing(entries: Json) -> None:
    assert shown_in_ledger({"entries": entries}).inputs == ()


@pytest.mark.parametrize("kind", ["op.executed", "op.failed", "op.unknown"])
def test_repeats_of_the_op_are_told(kind: str) -> None:
    words = "retried twice: api.example.com:443 asked to wait 2 s in all"
    entries: list[Json] = [{"kind": kind, "body": {"retried": words}}]
    assert shown_in_ledger({"entries": entries}).retried == "twice: api.example.com:443 asked to wait 2 s in all"
    assert shown_in_ledger({"entries": [{"kind": "preview.fetched", "body": {"retried": words}}]}).retried == ""
    assert shown_in_ledger({"entries": [{"kind": kind, "body": {"retried": 7}}]}).retried == ""


def test_a_request_that_was_reduced_is_not_said_to_have_no_inputs() -> None:
    made: JsonObject = {"kind": "request.made", "body": {}, "removed": "sha256:" + "0" * 64}
    shown = shown_in_ledger({"entries": [made, {"kind": "preview.fetched", "body": {"digest": "sha256:…"}}]})
    assert (shown.inputs, shown.note, shown.no_inputs) == ((), REDUCED, "removed")
    assert shown_in_ledger({"entries": [made | {"removed": None}]}).no_inputs == "no inputs"
