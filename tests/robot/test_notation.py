"""The robot's own notation, which must tell texts apart by itself."""

import pytest

from tests.robot.lookalikes import as_seen
from tests.robot.notation import UnknownNotation, in_field, in_quote, same_field, same_quote


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb", "a⏎b"),
        ("a\tb", "a⇥b"),
        ("a\x1b[2J", "a⟨ESC⟩[2J"),
        ("\u202ea", "⟨U+202E⟩a"),
        ("a" + "\u200b" * 412, "a⟨U+200B ×412⟩"),
        ("a" + " " * 412 + "b", "a⟨412 spaces⟩b"),
        ("a" + "\n" * 9 + "b", "a⟨9 newlines⟩b"),
        ("a   ", "a⟨3 spaces⟩"),
    ],
)
def test_a_field(text: str, shown: str) -> None:
    assert in_field(text) == shown


def test_a_quote_counts_blank_lines() -> None:
    assert in_quote("a\n\n\n\nb\n\nc") == ["a", "⟨3 blank lines⟩", "b", "", "c"]


def test_rows_are_read_as_one_text() -> None:
    assert same_field(["hello", "big world"], "hello big world")
    assert not same_field(["hello", "big world"], "hello big world!")
    assert not same_field(["hello"], "hello\u200b")
    assert same_quote(["hello", "world", "", "x"], "hello world\n\nx")
    assert not same_quote(["hello", "x"], "hello\n\nx")


def test_letters_that_a_person_cannot_tell_apart_are_the_same_to_the_robot() -> None:
    assert same_field(["аlice@example.com"], "alice@example.com", as_seen)
    assert not same_field(["alicia@example.com"], "alice@example.com", as_seen)


def test_a_character_that_it_does_not_know_is_an_error() -> None:
    with pytest.raises(UnknownNotation):
        in_field("a\u0301")


def test_blanks_at_a_break_must_be_counted() -> None:
    assert same_field(["one", "two"], "one  two")
    assert not same_field(["one", "two"], "one     two")
    assert same_field(["one⟨5 spaces⟩", "two"], "one     two")
    assert same_field(["one", "⟨5 spaces⟩two"], "one     two")
    assert not same_field(["one⟨4 spaces⟩", "two"], "one     two")
    assert same_field(["one⟨5 spaces⟩", "two"], "one⟨5 spaces⟩ two")
