"""Visible text, for all texts."""

import re
import unicodedata
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.visible_text import (
    MARKS_PER_BASE,
    Visible,
    block,
    block_pieces,
    cells,
    clip,
    clip_lines,
    inline,
    inline_pieces,
    pieces,
    visible,
)
from tests.hostile import HOSTILE
from tools.unicode_tables import shown

# Plain random text rarely meets a rule: most of it is made of what the rules are about.
TRICKY = st.sampled_from(
    [
        *"ab1 \t\n\r⟨⟩⇥⏎…+×UéдहगกК日👩💻❤🏽🇩",
        *"\x00\x07\x0e\x0f\x1b\x7f\x85\x9b\x9d\u00a0\u00ad\u034f\u200b\u200d\u202e\u2028\u2800\u3000\u3164",
        *"\u0301\u0338\u20e3\u0e49\u1161\u093e\u094d\ufe0e\ufe0f\ud800\udfff\ufffe\ufffd\ue000",
        *"\U000e0041\U000e0100\U0010ffff\U0001d16d",
        "\r\n",
        "\u0301" * 9,
        " " * 30,
        "\n" * 5,
        "\n \n\t\n",
        "\u200b" * 5,
        "⟨ESC⟩",
        "⟨412 blank lines⟩",
        "❤\ufe0f",
        "👩\u200d💻",
    ]
)
TEXTS = st.one_of(
    st.text(),
    st.lists(st.one_of(TRICKY, st.characters()), max_size=40).map("".join),
    st.lists(TRICKY, max_size=60).map("".join),
    st.lists(st.sampled_from(list(HOSTILE.values())).filter(lambda text: len(text) < 400), max_size=3).map("".join),
)
LINES = st.lists(st.sampled_from(["", " ", "\t", "  ", " " * 30, "x", "x   ", "\u200b"]), max_size=30)

CONTROL_NAMES = {name: code for code in [*range(0x20), *range(0x7F, 0xA0)] for name in [visible(chr(code))]}


def original(marked: list[tuple[Visible, bool]]) -> str:
    """The inverse of `pieces`, exact but for CR LF and for which marks were too many (U+FFFF here)."""
    text = ""
    for part, is_mark in marked:
        text += restored(part) if is_mark else part
    return text


def restored(mark: Visible) -> str:
    special = {"⇥": "\t", "⟨+⟩": "\u200d", "⟨emoji⟩": "\ufe0f", "⟨keycap⟩": "\ufe0f\u20e3"}
    if mark in special:
        return special[mark]
    if excess := re.fullmatch(r"⟨\+(\d+) combining marks?⟩", mark):
        return "\uffff" * int(excess[1])
    found = re.fullmatch(r"⟨(U\+([0-9A-F]{4,6})|\w+)(?: ×(\d+))?⟩", mark)
    assert found, mark
    character = chr(int(found[2], 16)) if found[2] else chr(CONTROL_NAMES[Visible(f"⟨{found[1]}⟩")])
    return character * int(found[3] or 1)


def same(text: str, other: str) -> bool:
    return len(text) == len(other) and all(ours in (theirs, "\uffff") for ours, theirs in zip(other, text, strict=True))


@given(TEXTS)
def test_idempotent(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    assert inline(inline(text)) == inline(text)
    assert block("\n".join(block(text))) == block(text)
    assert inline(visible(text)) == inline(inline(visible(text)))


@given(TEXTS)
def test_nothing_that_hides_or_commands_leaves(text: str) -> None:
    for made in (visible(text), inline(text), "\n".join(block(text))):
        for character in made:
            category = unicodedata.category(character)
            assert character in "\n " or category not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
            assert not shown(ord(character))
        encoded = made.encode("utf-8")
        assert not any(byte < 0x20 and byte != 0x0A for byte in encoded)
        assert not any(0x7F <= ord(character) <= 0x9F for character in made)


@given(TEXTS)
def test_nothing_is_lost(text: str) -> None:
    """What was there can be told from what is shown, to the character."""
    assert same(text.replace("\r\n", "\n"), original(list(pieces(text))))
    assert bool(visible(text)) == bool(inline(text)) == bool(text)
    assert any(block(text)) or not text.strip(" \r\n")


@given(TEXTS)
def test_only_marks_are_added(text: str) -> None:
    """What is not a mark of ours was in the text, in this order."""
    kept = "".join(part for part, is_mark in pieces(text) if not is_mark)
    rest = iter(text.replace("\r\n", "\n"))
    assert all(character in rest for character in kept)


@given(TEXTS)
def test_pieces_join_to_the_text(text: str) -> None:
    assert "".join(part for part, _ in pieces(text)) == visible(text)
    assert "".join(part for part, _ in inline_pieces(text)) == inline(text)
    assert tuple("".join(part for part, _ in line) for line in block_pieces(text)) == block(text)


@given(TEXTS)
def test_marks_sit_on_a_base_and_are_few(text: str) -> None:
    run = 0
    before = "\n"
    for character in visible(text):
        if unicodedata.category(character)[0] == "M":
            run += 1
            assert before not in " \n⟩⇥⏎"
            assert run <= MARKS_PER_BASE
        else:
            run = 0
        before = character


@given(TEXTS)
def test_inline_is_one_line(text: str) -> None:
    assert "\n" not in inline(text)
    assert not re.search(r" {9}", inline(text))


@given(TEXTS)
def test_block_is_lines_without_padding(text: str) -> None:
    lines = block(text)
    assert not any("\n" in line for line in lines)
    assert not any(re.search(r" {25}| {3}\Z", line) for line in lines)
    assert all(sum(1 for _ in run) <= 2 for blank, run in groupby(lines, key=lambda line: not line.strip()) if blank)


@given(LINES)
def test_block_counts_add_up(lines: list[str]) -> None:
    text = "\n".join(lines)
    total = 0
    spaces = 0
    for line in block_pieces(text):
        words = "".join(part for part, _ in line)
        folded = re.fullmatch(r"⟨(\d+) blank lines⟩", words)
        total += int(folded[1]) if folded else 1
        spaces += 0 if folded else words.count(" ") - len(re.findall(r"\d spaces", words))
        spaces += sum(int(number) for number in re.findall(r"⟨(\d+) spaces", words))
    assert total == max(len(lines), 1)
    assert spaces == sum(
        line.count(" ")
        for blank, run in groupby(lines, key=lambda line: not line.strip(" \t"))
        for line in kept_lines(blank, list(run))
    )


def kept_lines(blank: bool, run: list[str]) -> list[str]:
    return [] if blank and len(run) > 2 else run


@given(TEXTS, st.integers(-2, 60))
def test_clip_fits_and_counts(text: str, width: int) -> None:
    whole = inline(text)
    cut = clip(whole, width)
    if cells(whole) <= max(width, 0):
        assert cut == whole
        return
    notice = re.search(r"…⟨\+(\d+)⟩\Z", cut)
    assert notice
    shown_part = cut[: notice.start()]
    assert whole.startswith(shown_part)
    assert len(shown_part) + int(notice[1]) == len(whole)
    assert cells(cut) <= width or not shown_part
    assert clip(cut, max(width, cells(cut))) == cut


@given(st.lists(st.text("ab", max_size=3).map(Visible), max_size=12), st.integers(-2, 15))
def test_clip_lines_fits_and_counts(lines: list[Visible], height: int) -> None:
    cut = clip_lines(lines, height)
    assert len(cut) <= max(height, 1)
    if list(cut) != lines:
        notice = re.fullmatch(r"⟨(\d+) more lines?⟩", cut[-1])
        assert notice
        assert list(cut[:-1]) == lines[: len(cut) - 1]
        assert len(cut) - 1 + int(notice[1]) == len(lines)
