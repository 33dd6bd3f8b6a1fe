"""Edited calls: what changed, for people and for machines."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.edits import MOST_LINES, MOST_TEXT, arg_rows, difference, edit_fields, paired
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import EDITED, lines, row_lines
from aileron_tui.core.prompt_rows import Row
from tests.core.examples import prompt
from tests.hostile import HOSTILE

UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def test_machines_are_told_both_calls_and_what_differs() -> None:
    asked: JsonObject = {"to": "a", "n": 1, "same": [1]}
    approved: JsonObject = {"to": "b", "n": True, "same": [1], "new": None}
    assert edit_fields(asked, approved) == {"asked": asked, "approved": approved, "changed": ["to", "n", "new"]}
    assert edit_fields(asked, dict(asked))["changed"] == []


def test_inputs_become_rows_by_name() -> None:
    rows = arg_rows({"a": "x", "b": "x\ny", "c": {"d": 1}, "e": None})
    assert [(row.label, row.multiline) for row in rows] == [("a", False), ("b", True), ("c", True), ("e", False)]


def test_rows_are_paired_by_label_and_lost_ones_come_last() -> None:
    before = (Row("To", "a"), Row("Gone", "x"), Row("Same", "s"))
    after = (Row("Same", "s"), Row("To", "b"), Row("New", "n"))
    assert paired(after, None) == [(row, None) for row in after]
    assert [(row.label, old and old.value) for row, old in paired(after, before)] == [
        ("Same", None),
        ("To", "a"),
        ("New", ""),
        ("Gone", "x"),
    ]


def test_a_text_is_compared_line_by_line() -> None:
    runs = difference("one\ntwo\nthree", "one\n2\nthree\nfour")
    assert runs == [(" ", "one"), ("-", "two"), ("+", "2"), (" ", "three"), ("+", "four")]


@pytest.mark.parametrize("text", ["\n" * MOST_LINES, "x" * MOST_TEXT], ids=["lines", "characters"])
def test_long_texts_are_not_compared(text: str) -> None:
    assert difference(text, "y") is None
    shown = list(row_lines(paired([Row("Body", "new", multiline=True)], [Row("Body", text, multiline=True)])))
    assert shown[-1] == "+   > new"
    assert {line[0] for line in shown} == {"-", "+"}


def test_an_edited_prompt_shows_what_was_asked_and_what_was_approved() -> None:
    asked = (Row("To", "a@example.com"), Row("Cc", "c"), Row("Body", "one\ntwo", multiline=True))
    approved = (Row("To", "b@example.com"), Row("Body", "one\n2", multiline=True))
    before, after = replace(prompt(), inputs=asked), replace(prompt(), inputs=approved, preview=None)
    shown = list(lines(after, edited_from=before))
    assert shown[1] == EDITED
    for line in ("- To: a@example.com", "+ To: b@example.com", "- Cc: c", "    > one", "-   > two", "+   > 2"):
        assert line in shown
    assert not any(line.startswith(("+", "-")) or EDITED in line for line in lines(after))


@pytest.mark.few(80)
@pytest.mark.parametrize("bad", [*HOSTILE.values(), "- To: x", "\n- To: x", "x" * 200 + "- To: x"])
@pytest.mark.parametrize("width", [0, 20, 40])
def test_content_never_reaches_the_column_of_the_signs(bad: str, width: int) -> None:
    rows = (Row(bad, bad), Row(bad, bad, multiline=True), Row("To", bad), Row("Body", f"{bad}\nsame", multiline=True))
    for line in row_lines(paired(rows, None), width):
        assert line[0] == " "
        assert UNSAFE.search(line) is None
    before = (*rows[:2], Row("To", "a"), Row("Body", "same", multiline=True))
    changed = {line[:1] for line in row_lines(paired(rows, before), width)}
    assert changed <= {" ", "-", "+"}


def test_a_small_change_in_a_long_text_is_all_that_is_signed() -> None:
    before = [f"line {number}" for number in range(300)]
    after = [*before[:150], "changed", *before[151:]]
    runs = difference("\n".join(before), "\n".join(after))
    assert runs == [
        (" ", "\n".join(before[:150])),
        ("-", "line 150"),
        ("+", "changed"),
        (" ", "\n".join(before[151:])),
    ]


def test_what_was_written_anew_is_not_compared_line_by_line() -> None:
    old, new = "\n".join("ab" * 60), "\n".join("ba" * 60) + "\nc"
    assert difference(f"top\n{old}", f"top\n{new}") == [(" ", "top"), ("-", old), ("+", new)]


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_a_difference_has_both_texts_in_it(old: list[str], new: list[str]) -> None:
    before, after = "\n".join(old), "\n".join(new)
    runs = difference(before, after)
    assert runs is not None
    assert "\n".join(text for sign, text in runs if sign != "+") == before
    assert "\n".join(text for sign, text in runs if sign != "-") == after
