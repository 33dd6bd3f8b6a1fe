"""A text of any length as rows: the same as `core.text` makes of it, and never much work at a time."""

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual._cells import cell_len
from textual.widget import Widget

from aileron_tui.console.widgets.json_outline import JsonOutline, outline
from aileron_tui.console.widgets.long_text import LongText
from aileron_tui.console.widgets.lookalike_scan import MAX_IMMEDIATE_TOTAL, LookalikeScan, lookalike_remarks
from aileron_tui.console.widgets.prompt_sections import MAX_FIELDS, MAX_QUOTES, Section, section
from aileron_tui.console.widgets.wrapping import wrap_parts
from aileron_tui.core.lookalikes import warnings
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.skeletons import KnownNames
from aileron_tui.core.visible_text import MARKS_PER_BASE, block, block_pieces, inline_pieces, repeat_notice
from tests.hostile import HOSTILE

CORPUS = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
WIDE = 10**9
HEAVY = ["a\u200b", "\u200b\u200c", "\ue000\ue001 ", "😀👩\u200d💻❤\ufe0f", "สวัสดี", "e\u0301", "\x1b[31m", " \n\tx\n"]


def long_text(text: str, width: int = WIDE, chunk: int = 16 * 1024) -> LongText:
    text_rows = LongText(text, chunk)
    text_rows.set_width(width)
    while not text_rows.count(1.0):
        pass
    return text_rows


def texts(text_rows: LongText) -> list[str]:
    """The lines, with rows of the same line joined."""
    found: list[str] = []
    for y in range(text_rows.height):
        row = text_rows.row(y)
        assert row is not None
        text = "".join(part for part, _ in row.parts)
        if row.starts_line:
            found.append(text)
        else:
            found[-1] += text
    return found


@CORPUS
def test_rows_are_the_lines_that_core_makes(text: str) -> None:
    if len(text) <= 4096:  # longer lines may be cut, see below
        assert tuple(texts(long_text(text))) == block(text)


@CORPUS
def test_no_row_is_wider_than_the_screen(text: str) -> None:
    text_rows = long_text(text, 20)
    for y in range(text_rows.height):
        row = text_rows.row(y)
        assert row is not None
        assert cell_len("".join(part for part, _ in row.parts)) <= 20


SIZES = st.sampled_from([8, 16, 64])


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("abé\n"), max_size=80).map(lambda text: text.replace("b", "b\r\n")), SIZES)
def test_the_size_of_a_chunk_changes_nothing(text: str, chunk: int) -> None:
    assert tuple(texts(long_text(text, chunk=chunk))) == block(text)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab \n\té\u0301\x1b"), max_size=80), SIZES)
def test_whatever_is_cut_no_letter_is_lost(text: str, chunk: int) -> None:
    """Padding that a cut divides is counted in two parts; what can be read is all there."""
    shown = "".join(part for line in _as_cut(long_text(text, chunk=chunk)) for part, is_mark in line if not is_mark)
    assert [letter for letter in shown if letter in "abé"] == [letter for letter in text if letter in "abé"]


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab c\n"), max_size=200), st.integers(1, 30))
def test_counting_and_drawing_agree(text: str, width: int) -> None:
    text_rows = long_text(text, width, chunk=32)
    assert text_rows.height == sum(len(wrap_parts(line, width)) for line in _as_cut(text_rows))
    assert text_rows.row(text_rows.height) is None
    assert text_rows.row(-1) is None


def _as_cut(text_rows: LongText) -> list[tuple[tuple[str, bool], ...]]:
    return [line for chunk in text_rows._chunks for line in text_rows._visible(chunk)]


@pytest.mark.parametrize("blank", ["\n", " \n", "\r\n", "\t\n"])
def test_a_flood_of_blank_lines_is_one_row_with_its_count(blank: str) -> None:
    text_rows = long_text("top\n" + blank * 100_000 + "rm -rf ~", 40)
    assert texts(text_rows) == ["top", "⟨100000 blank lines⟩", "rm -rf ~"]


def test_a_flood_of_blanks_in_a_line_is_one_row_with_its_count() -> None:
    text_rows = long_text("safe" + " " * 100_000 + "\t" * 50_000 + "rm -rf ~", 40)
    assert "".join(texts(text_rows)) == "safe⟨100000 spaces, 50000 tabs⟩rm -rf ~"


@pytest.mark.parametrize("character", ["\u200b", "\u202e", "\0", "\U000e0041"])
def test_a_flood_of_one_hidden_character_is_one_row_with_its_count(character: str) -> None:
    number = 5_000_000
    assert texts(long_text(f"{character * number}a")) == [f"{repeat_notice(character, number)}a"]


def test_a_flood_of_marks_is_few_rows_and_loses_none() -> None:
    text_rows = long_text("a" + "\u0301" * 5_000_000, 80)
    assert text_rows.height < 5
    told = [int(number) for number in re.findall(r"(?:⟨\+|×)(\d+)", "".join(texts(text_rows)))]
    assert sum(told) == 5_000_000 - MARKS_PER_BASE


@pytest.mark.parametrize("unit", HEAVY)
def test_no_chunk_of_any_script_is_much_work(unit: str) -> None:
    text_rows = long_text(unit * (100_000 // len(unit)), 78)
    assert len(text_rows._chunks) > 20
    assert max(sum(map(len, text_rows._visible(chunk))) for chunk in text_rows._chunks) <= 1300


def test_rows_of_many_chunks_are_kept_while_they_are_on_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    text_rows = long_text(f"{'x' * 3}\u200b" * 20_000, 10_000)
    ends = list(text_rows._row_ends[:50])
    first = [text_rows.row(end - 1) for end in ends]
    monkeypatch.setattr(LongText, "_make_rows", None)
    assert [text_rows.row(end - 1) for end in ends] == first


def test_a_long_line_is_one_line_and_nothing_of_it_is_lost() -> None:
    text = "".join(chr(33 + index % 90) for index in range(100_000))
    text_rows = long_text(text, 77)
    assert texts(text_rows) == [text]
    assert text_rows.lines == 1


def test_words_stay_whole_and_marks_too() -> None:
    line = wrap_parts(inline_pieces("one two\u202e three"), 9)
    assert ["".join(text for text, _ in row) for row in line] == ["one two", "⟨U+202E⟩", "three"]
    assert [part for row in wrap_parts(block_pieces("abcdefghij")[0], 8)[:1] for part in row] == [("abcdefgh", False)]


def test_a_position_outlives_another_width() -> None:
    text_rows = long_text("\n".join(f"line {number} " + "x" * 60 for number in range(2000)), 80)
    place = text_rows.position_of(1500)
    text_rows.set_width(30)
    assert text_rows.row_at(place) is None
    text_rows.count(10.0)
    y = text_rows.row_at(place)
    assert y is not None
    row = text_rows.row(y)
    assert row is not None
    assert row.parts[0][0].startswith("line 1500 ")
    assert text_rows.row_of_line(1500) == y


@pytest.mark.parametrize(
    "unit", ["a\n", "\n", " ", "word ", "x" * 100 + "\n", "\x1b[2J", "\u200b", "สวัสดี ที่นี่\n", "\r\n", "\t"]
)
def test_ten_megabytes_open_at_once(unit: str) -> None:
    """A screenful costs little, and so does the largest portion of the rest; CPU time, since CI machines are busy."""
    text = unit * (10_000_000 // len(unit.encode()))
    started = time.thread_time()
    text_rows = LongText(text)
    text_rows.set_width(76)
    text_rows.count(0.02, 40)
    for y in range(40):
        text_rows.row(y)
    assert time.thread_time() - started < 0.25


def test_json_is_only_spread_out() -> None:
    text = '{"b":[],"a":{},"c":[1,2.50,{"x":"y, {z} \\u202e"}],"d":1e400}'
    assert outline(text) is None  # 1e400 is refused, so it is shown as it is
    text = text.replace("1e400", "1e3")
    text_rows = outline(text)
    assert text_rows is not None
    assert json.loads(text_rows.text) == json.loads(text)
    assert "2.50" in text_rows.text
    assert "1e3" in text_rows.text
    assert list(json.loads(text_rows.text)) == ["b", "a", "c", "d"]
    assert text_rows.text.split("\n")[3:5] == ['  "c": [', "    1,"]


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", "12", '"x"', "{", '{"a":1,"a":2}', "[1] x", "[" * 99 + "]" * 99])
def test_what_is_not_an_object_or_array_worth_folding_stays_text(text: str) -> None:
    assert outline(text) is None


def test_folding_hides_lines_and_says_how_many() -> None:
    text_rows = JsonOutline('{"a":[1,2,3],"b":{"c":[4]}}')
    assert text_rows.set_folded(1, folded=True)
    assert text_rows.text.split("\n")[1] == '  "a": [ … 3 lines … ],'
    assert not text_rows.set_folded(1, folded=True)
    assert text_rows.is_folded(1)
    assert text_rows.set_folded(0, folded=True)
    assert text_rows.text == "{ … 10 lines … }"
    assert text_rows.set_folded(0, folded=False)
    assert text_rows.is_folded(1)
    assert text_rows.enclosing(4) == 3
    assert text_rows.enclosing(3) == 3
    assert text_rows.enclosing(6) == 2
    assert text_rows.fold_at(99) is None


def test_every_row_is_somewhere_however_many_there_are() -> None:
    many = [Row(f"r{number}", "v", multiline=number % 2 == 0) for number in range(5000)]
    text_rows = section(many)
    assert len(text_rows.fields) == MAX_FIELDS
    assert len(text_rows.blocks) == MAX_QUOTES + 1
    assert text_rows.blocks[-1].label == f"{5000 - MAX_FIELDS - MAX_QUOTES:,} more rows"
    listed = text_rows.blocks[-1].text.split("\n")
    assert len(listed) == 5000 - MAX_FIELDS - MAX_QUOTES
    shown = {field.label for field in text_rows.fields} | {block.label for block in text_rows.blocks}
    assert shown | {line.partition(":")[0] for line in listed} >= {row.label for row in many}


def test_a_row_in_the_list_cannot_forge_another() -> None:
    rows_ = [Row("r", "v") for _ in range(MAX_FIELDS)] + [Row("x", "1\nTo: boss@corp.example"), Row("y", missing=True)]
    assert section(rows_).blocks[0].text == "x: 1⏎To: boss@corp.example\ny: n/a"


def test_a_long_value_or_label_becomes_a_quote() -> None:
    assert section([Row("a", "x" * 3000)]).blocks[0].label == "a"
    assert section([Row("a" * 500, "x")]).blocks[0].text == "a" * 500 + ": x"
    assert section([]) == Section()


def test_an_edit_is_old_and_new() -> None:
    before = [Row("To", "a"), Row("Cc", "c"), Row("Body", "one\ntwo\nthree", multiline=True), Row("Gone", "g")]
    after = [Row("To", "b"), Row("Cc", "c"), Row("Body", "one\n2\nthree", multiline=True), Row("New", "n")]
    text_rows = section(after, before)
    shown = [(field.label, field.old, field.value, field.edited) for field in text_rows.fields]
    assert shown == [
        ("To", "a", "b", True),
        ("Cc", None, "c", False),
        ("New", None, "n", True),
        ("Gone", "g", None, True),
    ]
    assert text_rows.blocks[0].text == "  one\n- two\n+ 2\n  three"
    long = section([Row("Body", "x\n" * 900, multiline=True)], [Row("Body", "y\n" * 900, multiline=True)])
    assert [block.note for block in long.blocks] == ["before the edit", "after the edit"]


@pytest.mark.parametrize("before", range(16 * 1024 - 14, 16 * 1024 + 2))
def test_a_look_alike_between_two_slices_without_blanks_is_found(before: int) -> None:
    text = "," * before + "b@paypa1.com" + ",a@example.com" * 2000
    assert '"paypa1.com" looks like "paypal", but is not' in lookalike_remarks(text, KnownNames()).warnings


def test_many_short_texts_are_scanned_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aileron_tui.console.widgets.lookalike_scan.call_after", lambda *_: None)
    texts = [f"{number} paypa1.com".ljust(4000) for number in range(24)]
    scan = LookalikeScan(Widget())
    scan.start(texts)
    found = [text for text in texts if scan.remarks_for(text).warnings]
    assert scan.is_running
    assert found == texts[: MAX_IMMEDIATE_TOTAL // 4000]


def test_look_alikes_are_found_in_every_slice() -> None:
    text = "plain words here\n" * 3000 + "pаypal.com" + "\nplain words" * 3000
    assert lookalike_remarks(text, KnownNames()).warnings == warnings("pаypal.com")
    assert lookalike_remarks(text, KnownNames(), lambda: True).warnings == ()
    assert lookalike_remarks("a " * 600_000, KnownNames()).warnings[-1].startswith("only the first")
    many = " ".join(f"p{number}а.com" + " x" * 5000 for number in range(20))
    assert len(lookalike_remarks(many, KnownNames()).warnings) == 9


def rows_of(text: str, width: int) -> list[str]:
    return ["".join(part for part, _ in row).rstrip() for row in wrap_parts(inline_pieces(text), width)]


def with_blanks(text: str) -> str:
    return re.sub(r"⟨(\d+) spaces⟩", lambda found: " " * int(found[1]), text)


def test_blanks_at_a_break_are_counted_unless_they_are_few() -> None:
    assert rows_of("one  two", 5) == ["one", "two"]
    assert rows_of("pay 100     to ana or bo", 20) == ["pay 100     to ana", "or bo"]
    assert rows_of("pay 100     to-ana@example.com", 20) == ["pay 100⟨5 spaces⟩", "to-ana@example.com"]
    assert rows_of("a quite long line     of words", 20) == ["a quite long line", "⟨5 spaces⟩of words"]
    assert rows_of("é quite long line     of words", 20) == ["é quite long line", "⟨5 spaces⟩of words"]


@given(st.text("ab é ", max_size=80), st.integers(12, 30))
def test_no_blank_at_a_break_is_lost_without_a_count(text: str, width: int) -> None:
    plain = "".join(part for part, _ in inline_pieces(text.strip()))
    drawn = rows_of(text.strip(), width)
    assert all(len(row) <= width for row in drawn)
    lost = len(with_blanks(plain)) - sum(len(with_blanks(row)) for row in drawn)
    assert 0 <= lost <= 2 * (len(drawn) - 1)
