"""The summary of a request."""

from dataclasses import replace
from time import thread_time

import pytest

from aileron_tui.core.prompt import PreviewResult, Prompt
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.summary import MOST_VALUES, summary, targets
from tests.core.examples import prompt


def asked(*inputs: Row, fetched: tuple[Row, ...] | None = None, unavailable: str = "") -> Prompt:
    preview = None if fetched is None and not unavailable else PreviewResult(fetched or (), unavailable)
    return replace(prompt(), inputs=inputs, preview=preview)


def test_fetched_rows_come_before_what_the_agent_sent() -> None:
    body = "Here's the recap\nfrom this week's standup"
    assert summary(prompt()) == ("team@example.com", "Weekly recap", body, "r-12345")


def test_without_a_preview_the_inputs_are_summarized() -> None:
    inputs = (Row("To", "lin@example.com"), Row("Subject", "Friday, 15:00"))
    assert summary(asked(*inputs)) == ("lin@example.com", "Friday, 15:00")
    assert summary(asked(*inputs, unavailable="Gmail API returned 404")) == ("lin@example.com", "Friday, 15:00")
    assert summary(asked()) == ()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((Row("Draft id", "r-1"), Row("Note", "x"), Row("To", "lin@example.com")), ("lin@example.com", "x", "r-1")),
        ((Row("Method", "POST"), Row("URL", "https://example.com/a")), ("https://example.com/a", "POST")),
        ((Row("Folder", "/srv"), Row("Command", "make\ntest", multiline=True)), ("make\ntest", "/srv")),
        ((Row("Body", "hi", multiline=True), Row("Service", "slack")), ("slack", "hi")),
        ((Row("threadId", "t-1"), Row("Size", "12 KB")), ("12 KB", "t-1")),
        ((Row("Thread", "19df4136f28569d2"), Row("Size", "12 KB")), ("12 KB", "19df4136f28569d2")),
        ((Row("Event", "2026-05-12T10:15:30"), Row("Size", "12 KB")), ("2026-05-12T10:15:30", "12 KB")),
        ((Row("Recipient", "DE89370400440532013000"), Row("Sum", "10 EUR")), ("DE89370400440532013000", "10 EUR")),
        ((Row("To (1 of 2)", "a@b.c"), Row("To (2 of 2)", "d@e.f")), ("a@b.c", "d@e.f")),
    ],
)
def test_names_come_before_other_values_and_ids_come_last(rows: tuple[Row, ...], expected: tuple[str, ...]) -> None:
    assert summary(asked(*rows)) == expected
    assert summary(asked(fetched=rows)) == expected


def test_targets_are_every_recipient_or_else_the_most_telling_row() -> None:
    to, cc, body = Row("To (1 of 2)", "a@b.c"), Row("Cc", "d@e.f"), Row("Body", "Hi", multiline=True)
    assert targets(asked(Row("Path", "/srv"), fetched=(body, to, cc))) == (to, cc, Row("Path", "/srv"))
    assert targets(asked(Row("Draft id", "r-1"), fetched=(body,))) == (body,)
    assert targets(asked(Row("To", missing=True))) == ()


def test_missing_blank_and_repeated_values_are_left_out() -> None:
    rows = (Row("To", missing=True), Row("Subject", ""), Row("Note", " \n"), Row("Size", "12 KB"), Row("Kind", "12 KB"))
    assert summary(asked(Row("Draft id", "r-1"), fetched=rows)) == ("12 KB", "r-1")


def test_padding_does_not_hide_a_value() -> None:
    hidden = " " * 500 + "eve@example.com"
    assert summary(asked(Row("To", hidden), Row("Subject", "Hi"))) == (hidden, "Hi")
    assert summary(asked(Row("To", " " * 500), Row("Subject", "Hi")))[0] == " " * 500


def test_long_values_and_many_rows_cost_nothing() -> None:
    long = "x" * 10_000_000
    rows = tuple(Row(f"Field {number}", f"{number}") for number in range(100_000))
    found = summary(asked(Row("Body", long, multiline=True), *rows))
    assert len(found) == MOST_VALUES
    assert summary(asked(Row("Body", long, multiline=True)))[0] is long, "the text is not copied"
    assert len(summary(asked(*(Row("z" * 1_000_000, str(number)) for number in range(3))))) == 3


@pytest.mark.parametrize("unit", ["x", "e\u0301", "漢字", "7"])
def test_the_rank_of_a_long_text_is_found_without_reading_it(unit: str) -> None:
    waiting = asked(Row("Body", unit * (10_000_000 // len(unit)), multiline=True), Row("Service", "slack"))
    summary(waiting)
    started = thread_time()
    for _ in range(10):
        assert summary(waiting)[0] == "slack"
    assert thread_time() - started < 0.1
