"""A summary as one line: what fits, what is cut, and what it cannot imitate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.state_words import STATE_WORDS
from aileron_tui.core.summary import similarity, summary_line
from aileron_tui.core.visible_text import cells, clip_around, inline
from tests.hostile import HOSTILE

RECAP = ("team@example.com", "Weekly recap", "Hi all,\nhere is the recap.", "r-12345")


def test_everything_is_shown_if_there_is_room() -> None:
    assert summary_line(RECAP, 80) == "team@example.com · Weekly recap · Hi all,⏎here is the recap. · r-12345"
    assert summary_line((), 80) == ""


def test_the_first_values_share_the_room_and_what_is_cut_has_a_sign() -> None:
    assert summary_line(RECAP, 33) == "team@example.com · Weekly recap …"
    assert summary_line(RECAP, 29) == "team@example.… · Weekly recap"
    assert summary_line(RECAP, 16) == "team@example.…"


def test_values_of_a_similar_request_get_little_room() -> None:
    other = (*RECAP[:2], "Hi all,\nhere is the agenda.", "r-12346")
    assert summary_line(other, 40, RECAP) == "team@exam… · Hi all,⏎here is the agenda."
    assert summary_line(RECAP, 40, RECAP) == summary_line(RECAP, 40), "nothing differs"


def test_a_long_value_shows_where_it_differs() -> None:
    first, second = (f"git commit -m 'fix number {number} in the parser' --amend --no-edit" for number in (1, 2))
    assert summary_line((second,), 30, (first,)) == "git commit -m 'fix number 2 i…"
    assert summary_line((second,), 20, (first,)) == "git co… 2 in the pa…"


def test_the_end_of_a_path_is_shown() -> None:
    assert summary_line(("/home/lin/website/content/posts/2026/draft-01.md",), 24) == "/home/li…026/draft-01.md"


@pytest.mark.parametrize(
    "value",
    [
        *(words.status for words in STATE_WORDS.values()),
        *(words.full_status for words in STATE_WORDS.values()),
        *("sending…", "answered elsewhere: done ✓", "allowed by a rule", "no effect", "approved, not sent yet"),
        *("sends in 3 s", "elsewhere: running"),
        *("3:12", "0:00 left", "×4", "draft-mail ×4", "⚠", "● ready", "x  3:12"),
        *("team@example.com · Weekly recap", '"', '"a" · "b"', "…"),
    ],
)
def test_a_value_cannot_look_like_a_state_a_count_a_time_or_several_values(value: str) -> None:
    line = summary_line((value, "eve@example.com"), 100)
    shown = line.removesuffix(" · eve@example.com")
    assert shown != line
    assert shown[0] == shown[-1] == '"'
    assert '"' not in shown[1:-1].replace('\\"', "")


def test_ordinary_values_have_no_quotes() -> None:
    for value in ("team@example.com", "Friday, 15:00", "git push origin main", 'say "hello"', "Größe: 3 m²", "12 KB"):
        assert summary_line((value,), 100) == value


def test_requests_with_equal_first_values_are_the_most_similar() -> None:
    same_recipient, same_rest = ("team@example.com", "Other"), ("lin@example.com", *RECAP[1:])
    assert max([same_rest, same_recipient], key=lambda other: similarity(RECAP, other)) == same_recipient
    assert similarity(("a" * 9_000_000,), ("a" * 9_000_001,)) == [False]


TEXTS = st.one_of(st.text(max_size=80), st.sampled_from(sorted(HOSTILE.values())))
SUMMARIES = st.lists(TEXTS, max_size=8).map(tuple)


@given(SUMMARIES, st.integers(1, 120), SUMMARIES)
def test_every_line_is_visible_and_fits(values: tuple[str, ...], width: int, previous: tuple[str, ...]) -> None:
    line = summary_line(values, width, previous)
    assert cells(line) <= width
    assert inline(line) == line or line.endswith(" ")
    assert "\n" not in line


@given(TEXTS, st.integers(1, 60), st.integers(0, 100))
def test_a_line_cut_around_a_place_fits_and_says_so(text: str, width: int, place: int) -> None:
    whole = inline(text)
    cut = clip_around(whole, width, place)
    assert cells(cut) <= width
    if cut != whole:
        assert "…" in cut
        assert cells(whole) > width


@given(st.text("abcdefgh/ ", min_size=30, max_size=90), st.data())
def test_the_place_stays_in_a_line_that_is_cut(text: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text) - 1))
    marked = inline(f"{text[:place].replace(' ', '_')}X{text[place + 1 :].replace(' ', '_')}")
    cut = clip_around(marked, 12, place)
    assert "X" in cut
    assert cut.startswith((marked[:3], f"{marked[:3]}…"))
