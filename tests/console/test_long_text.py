"""A text of any length as rows: the same as `core.text` makes of it, and never much work at a time."""

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual._cells import cell_len

from aileron_tui.console.widgets.json_outline import JsonOutline, outline
from aileron_tui.console.widgets.long_text import LongText
from aileron_tui.console.widgets.lookalike_scan import inspect
from aileron_tui.console.widgets.prompt_sections import FIELDS, QUOTES, Section, section
from aileron_tui.console.widgets.wrapping import rows
from aileron_tui.core.lookalikes import warnings
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.visible_text import MARKS_PER_BASE, block, block_pieces, inline_pieces, repeated
from tests.hostile import HOSTILE

CORPUS = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
WIDE = 10**9
HEAVY = ["a\u200b", "\u200b\u200c", "\ue000\ue001 ", "😀👩\u200d💻❤\ufe0f", "สวัสดี", "e\u0301", "\x1b[31m", " \n\tx\n"]


def passage(text: str, width: int = WIDE, chunk: int = 16 * 1024) -> LongText:
    made = LongText(text, chunk)
    made.lay(width)
    while not made.count(1.0):
        pass
    return made


def texts(made: LongText) -> list[str]:
    """The lines, with rows of the same line joined."""
    found: list[str] = []
    for y in range(made.height):
        row = made.row(y)
        assert row is not None
        text = "".join(part for part, _ in row.parts)
        if row.first:
            found.append(text)
        else:
            found[-1] += text
    return found


@CORPUS
def test_rows_are_the_lines_that_core_makes(text: str) -> None:
    if len(text) <= 4096:  # longer lines may be cut, see below
        assert tuple(texts(passage(text))) == block(text)


@CORPUS
def test_no_row_is_wider_than_the_screen(text: str) -> None:
    made = passage(text, 20)
    for y in range(made.height):
        row = made.row(y)
        assert row is not None
        assert cell_len("".join(part for part, _ in row.parts)) <= 20


SIZES = st.sampled_from([8, 16, 64])


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("abé\n"), max_size=80).map(lambda text: text.replace("b", "b\r\n")), SIZES)
def test_the_size_of_a_chunk_changes_nothing(text: str, chunk: int) -> None:
    assert tuple(texts(passage(text, chunk=chunk))) == block(text)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab \n\té\u0301\x1b"), max_size=80), SIZES)
def test_whatever_is_cut_no_letter_is_lost(text: str, chunk: int) -> None:
    """Padding that a cut divides is counted in two parts; what can be read is all there."""
    shown = "".join(part for line in _as_cut(passage(text, chunk=chunk)) for part, is_mark in line if not is_mark)
    assert [letter for letter in shown if letter in "abé"] == [letter for letter in text if letter in "abé"]


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab c\n"), max_size=200), st.integers(1, 30))
def test_counting_and_drawing_agree(text: str, width: int) -> None:
    made = passage(text, width, chunk=32)
    assert made.height == sum(len(rows(line, width)) for line in _as_cut(made))
    assert made.row(made.height) is None
    assert made.row(-1) is None


def _as_cut(made: LongText) -> list[tuple[tuple[str, bool], ...]]:
    return [line for chunk in made._chunks for line in made._visible(chunk)]


@pytest.mark.parametrize("blank", ["\n", " \n", "\r\n", "\t\n"])
def test_a_flood_of_blank_lines_is_one_row_with_its_count(blank: str) -> None:
    made = passage("top\n" + blank * 100_000 + "rm -rf ~", 40)
    assert texts(made) == ["top", "⟨100000 blank lines⟩", "rm -rf ~"]


def test_a_flood_of_blanks_in_a_line_is_one_row_with_its_count() -> None:
    made = passage("safe" + " " * 100_000 + "\t" * 50_000 + "rm -rf ~", 40)
    assert "".join(texts(made)) == "safe⟨100000 spaces, 50000 tabs⟩rm -rf ~"


@pytest.mark.parametrize("character", ["\u200b", "\u202e", "\0", "\U000e0041"])
def test_a_flood_of_one_hidden_character_is_one_row_with_its_count(character: str) -> None:
    number = 5_000_000
    assert texts(passage(f"{character * number}a")) == [f"{repeated(character, number)}a"]


def test_a_flood_of_marks_is_few_rows_and_loses_none() -> None:
    made = passage("a" + "\u0301" * 5_000_000, 80)
    assert made.height < 5
    told = [int(number) for number in re.findall(r"(?:⟨\+|×)(\d+)", "".join(texts(made)))]
    assert sum(told) == 5_000_000 - MARKS_PER_BASE


@pytest.mark.parametrize("unit", HEAVY)
def test_no_chunk_of_any_script_is_much_work(unit: str) -> None:
    made = passage(unit * (100_000 // len(unit)), 78)
    assert len(made._chunks) > 20
    assert max(sum(map(len, made._visible(chunk))) for chunk in made._chunks) <= 1300


def test_rows_of_many_chunks_are_kept_while_they_are_on_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    made = passage(f"{'x' * 3}\u200b" * 20_000, 10_000)
    ends = list(made._ends[:50])
    first = [made.row(end - 1) for end in ends]
    monkeypatch.setattr(LongText, "_draw", None)
    assert [made.row(end - 1) for end in ends] == first


def test_a_long_line_is_one_line_and_nothing_of_it_is_lost() -> None:
    text = "".join(chr(33 + index % 90) for index in range(100_000))
    made = passage(text, 77)
    assert texts(made) == [text]
    assert made.lines == 1


def test_words_stay_whole_and_marks_too() -> None:
    line = rows(inline_pieces("one two\u202e three"), 9)
    assert ["".join(text for text, _ in row) for row in line] == ["one two", "⟨U+202E⟩", "three"]
    assert [part for row in rows(block_pieces("abcdefghij")[0], 8)[:1] for part in row] == [("abcdefgh", False)]


def test_a_position_outlives_another_width() -> None:
    made = passage("\n".join(f"line {number} " + "x" * 60 for number in range(2000)), 80)
    place = made.place(1500)
    made.lay(30)
    assert made.find(place) is None
    made.count(10.0)
    y = made.find(place)
    assert y is not None
    row = made.row(y)
    assert row is not None
    assert row.parts[0][0].startswith("line 1500 ")
    assert made.row_of(1500) == y


@pytest.mark.parametrize(
    "unit", ["a\n", "\n", " ", "word ", "x" * 100 + "\n", "\x1b[2J", "\u200b", "สวัสดี ที่นี่\n", "\r\n", "\t"]
)
def test_ten_megabytes_open_at_once(unit: str) -> None:
    """A screenful costs little, and so does the largest portion of the rest; CPU time, since CI machines are busy."""
    text = unit * (10_000_000 // len(unit.encode()))
    started = time.thread_time()
    made = LongText(text)
    made.lay(76)
    made.count(0.02, 40)
    for y in range(40):
        made.row(y)
    assert time.thread_time() - started < 0.25


def test_json_is_only_spread_out() -> None:
    text = '{"b":[],"a":{},"c":[1,2.50,{"x":"y, {z} \\u202e"}],"d":1e400}'
    assert outline(text) is None  # 1e400 is refused, so it is shown as it is
    text = text.replace("1e400", "1e3")
    made = outline(text)
    assert made is not None
    assert json.loads(made.text) == json.loads(text)
    assert "2.50" in made.text
    assert "1e3" in made.text
    assert list(json.loads(made.text)) == ["b", "a", "c", "d"]
    assert made.text.split("\n")[3:5] == ['  "c": [', "    1,"]


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", "12", '"x"', "{", '{"a":1,"a":2}', "[1] x", "[" * 99 + "]" * 99])
def test_what_is_not_an_object_or_array_worth_folding_stays_text(text: str) -> None:
    assert outline(text) is None


def test_folding_hides_lines_and_says_how_many() -> None:
    made = JsonOutline('{"a":[1,2,3],"b":{"c":[4]}}')
    assert made.turn(1, folded=True)
    assert made.text.split("\n")[1] == '  "a": [ … 3 lines … ],'
    assert not made.turn(1, folded=True)
    assert made.is_folded(1)
    assert made.turn(0, folded=True)
    assert made.text == "{ … 10 lines … }"
    assert made.turn(0, folded=False)
    assert made.is_folded(1)
    assert made.around(4) == 3
    assert made.around(3) == 3
    assert made.around(6) == 2
    assert made.fold_at(99) is None


def test_every_row_is_somewhere_however_many_there_are() -> None:
    many = [Row(f"r{number}", "v", multiline=number % 2 == 0) for number in range(5000)]
    made = section(many)
    assert len(made.fields) == FIELDS
    assert len(made.blocks) == QUOTES + 1
    assert made.blocks[-1].label == f"{5000 - FIELDS - QUOTES:,} more rows"
    listed = made.blocks[-1].text.split("\n")
    assert len(listed) == 5000 - FIELDS - QUOTES
    shown = {field.label for field in made.fields} | {block.label for block in made.blocks}
    assert shown | {line.partition(":")[0] for line in listed} >= {row.label for row in many}


def test_a_row_in_the_list_cannot_forge_another() -> None:
    rows_ = [Row("r", "v") for _ in range(FIELDS)] + [Row("x", "1\nTo: boss@corp.example"), Row("y", missing=True)]
    assert section(rows_).blocks[0].text == "x: 1⏎To: boss@corp.example\ny: n/a"


def test_a_long_value_or_label_becomes_a_quote() -> None:
    assert section([Row("a", "x" * 3000)]).blocks[0].label == "a"
    assert section([Row("a" * 500, "x")]).blocks[0].text == "a" * 500 + ": x"
    assert section([]) == Section()


def test_an_edit_is_old_and_new() -> None:
    before = [Row("To", "a"), Row("Cc", "c"), Row("Body", "one\ntwo\nthree", multiline=True), Row("Gone", "g")]
    after = [Row("To", "b"), Row("Cc", "c"), Row("Body", "one\n2\nthree", multiline=True), Row("New", "n")]
    made = section(after, before)
    shown = [(field.label, field.old, field.value, field.edited) for field in made.fields]
    assert shown == [
        ("To", "a", "b", True),
        ("Cc", None, "c", False),
        ("New", None, "n", True),
        ("Gone", "g", None, True),
    ]
    assert made.blocks[0].text == "  one\n- two\n+ 2\n  three"
    long = section([Row("Body", "x\n" * 900, multiline=True)], [Row("Body", "y\n" * 900, multiline=True)])
    assert [block.note for block in long.blocks] == ["before the edit", "after the edit"]


def test_look_alikes_are_found_in_every_slice() -> None:
    text = "plain words here\n" * 3000 + "pаypal.com" + "\nplain words" * 3000
    assert inspect(text) == warnings("pаypal.com")
    assert inspect(text, lambda: True) == ()
    assert inspect("a " * 600_000)[-1].startswith("only the first")
    assert len(inspect(" ".join(f"p{number}а.com" + " x" * 5000 for number in range(20)))) == 9
