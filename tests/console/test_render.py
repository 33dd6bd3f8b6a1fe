"""Foreign text becomes content that can do nothing but be read."""

import pytest
from rich.style import Style
from textual.content import Content

from aileron_tui.console.render import (
    MARK,
    NEWLINE_MARK,
    foreign,
    foreign_line,
    foreign_lines,
    foreign_short,
    from_parts,
    segments,
    trusted,
)
from aileron_tui.core.visible_text import block, clip, inline, inline_pieces, visible
from tests.hostile import HOSTILE

CORPUS = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())


@CORPUS
def test_every_form_says_exactly_what_core_made_visible(text: str) -> None:
    assert foreign(text).plain == visible(text)
    assert foreign_line(text).plain == inline(text)
    assert tuple(line.plain for line in foreign_lines(text)) == block(text)


@CORPUS
def test_only_marks_of_ours_are_styled(text: str) -> None:
    """Nothing in the text becomes a style, a link or an action."""
    for content in (foreign(text), foreign_line(text), *foreign_lines(text)):
        assert {span.style for span in content.spans} <= {MARK, NEWLINE_MARK}


def styled(content: Content) -> list[tuple[str, str]]:
    return [(content.plain[span.start : span.end], str(span.style)) for span in content.spans]


def test_a_real_mark_looks_unlike_its_imitation() -> None:
    assert styled(foreign_line("\x1b ⟨ESC⟩ a\nb ⏎")) == [("⟨ESC⟩", MARK), ("⏎", NEWLINE_MARK)]


def test_a_style_of_ours_lies_under_the_marks() -> None:
    content = foreign_line("a\x1b", "dim")
    assert styled(content) == [("a", "dim"), ("⟨ESC⟩", "dim"), ("⟨ESC⟩", MARK)]
    assert from_parts([]).plain == ""


@CORPUS
def test_a_short_form_says_how_much_is_hidden(text: str) -> None:
    short = foreign_short(text, 30).plain
    assert short == clip(inline(text), 30)
    assert short == inline(text) or "…⟨+" in short


def test_our_own_words_are_no_markup_either() -> None:
    assert trusted("[bold]x[/]", "dim").plain == "[bold]x[/]"
    assert styled(trusted("[bold]x[/]", "dim")) == [("[bold]x[/]", "dim")]


@CORPUS
def test_segments_carry_text_and_style_and_nothing_else(text: str) -> None:
    plain, mark, sign = Style(bold=True), Style(italic=True), Style(dim=True)
    drawn = segments(inline_pieces(text), plain, mark, sign)
    assert "".join(segment.text for segment in drawn) == inline(text)
    assert all(segment.control is None and segment.style in (plain, mark, sign) for segment in drawn)
    assert all(not segment.style.meta and segment.style.link is None for segment in drawn if segment.style)
