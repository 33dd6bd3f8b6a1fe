"""Visible text, by example."""

import re
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable

import pytest

from aileron_tui.core import character_table
from aileron_tui.core import visible_text as text_module
from aileron_tui.core.visible_text import (
    LONGEST_CONVERTED,
    MARKS_PER_BASE,
    Visible,
    block,
    block_pieces,
    cells,
    clip,
    clip_lines,
    count_not_plain,
    inline,
    inline_pieces,
    pieces,
    repeat_notice,
    short,
    visible,
    wrap,
)
from tests.hostile import HOSTILE
from tools.unicode_tables import shown, stacked

ORDINARY = {
    "English": 'The quick "brown" fox — jumps over 13 lazy dogs… (50 %) [ok] {a} <b> €5 £6 ½ §7',
    "French": "Où est passé l'été ? Là-bas, çà et là, naïf œuvre",
    "Vietnamese": "Tiếng Việt có nhiều dấu thanh: ế ồ ữ ặ",
    "Vietnamese decomposed": unicodedata.normalize("NFD", "Tiếng Việt có nhiều dấu thanh: ế ồ ữ ặ"),
    "Polish": "Zażółć gęślą jaźń",
    "Turkish": "Pijamalı hasta yağız şoföre çabucak güvendi",
    "Russian": "Съешь же ещё этих мягких французских булок",
    "Greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία, ᾄδω",
    "Armenian": "Բարև Ձեզ, ինչպե՞ս եք",
    "Georgian": "გამარჯობა მსოფლიო",
    "Hebrew pointed": "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים אֵ֥ת הַשָּׁמַ֖יִם וְאֵ֥ת הָאָֽרֶץ׃",
    "Arabic vocalised": "بِسْمِ ٱللَّهِ ٱلرَّحْمَٰنِ ٱلرَّحِيمِ",
    "Urdu": "میرا نام احمد ہے",
    "Syriac": "ܫܠܵܡܵܐ ܥܲܠܘܼܟ݂ܘܿܢ",
    "Devanagari": "नमस्ते दुनिया, क्षत्रिय ऋषि हिन्दी",
    "Bengali": "আমার সোনার বাংলা",
    "Tamil": "வணக்கம் உலகம்",
    "Telugu": "నమస్కారం ప్రపంచం",
    "Malayalam": "നമസ്കാരം ലോകം",
    "Sinhala": "ආයුබෝවන් ලෝකය",
    "Thai": "สวัสดีชาวโลก ที่นี่ น้ำ ผู้ใหญ่",
    "Lao": "ສະບາຍດີຊາວໂລກ",
    "Tibetan": "བཀྲ་ཤིས་བདེ་ལེགས། ཧཱུྃ་རྒྱུ་སྒྲུབ",
    "Burmese": "မြန်မာဘာသာ ညွှန့် ကြွှုံ့",
    "Khmer": "សួស្តីពិភពលោក ស្ត្រី",
    "Amharic": "ሰላም ልዑል",
    "Japanese": "こんにちは世界。カタカナ、ｶﾞ「漢字」〜",
    "Japanese decomposed": unicodedata.normalize("NFD", "がぎぐげご パピプペポ"),
    "Chinese": "你好，世界！繁體字 𠀀",
    "Korean": "안녕하세요 세계",
    "Korean decomposed": unicodedata.normalize("NFD", "안녕하세요 세계"),
    "Cherokee": "ᎣᏏᏲ ᎡᎶᎯ",
    "Mathematics": "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋ ≠ ∞, x⃗, 𝔸𝔹ℂ, H₂O, e²",
    "Boxes": "╭─┤│├─╮ ▁▂▃▄▅▆▇█ ⠁⠃⠉ → ⇒ ✔ ✘",
    "Emoji": "😀🎉🚀 👍🏽 🇩🇪🇯🇵 ☀ ✈ ❤ #⃣",
}


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY.keys())
def test_ordinary_text_of_every_script_is_untouched(text: str) -> None:
    assert visible(text) == text
    assert inline(text) == text
    assert block(text) == (text,)
    assert list(pieces(text)) == [(text, False)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[2J", "⟨ESC⟩[2J"),
        ("\x00\x07\x08\x0b\x0c\x7f", "⟨NUL⟩⟨BEL⟩⟨BS⟩⟨VT⟩⟨FF⟩⟨DEL⟩"),
        ("\x0ex\x0f", "⟨SO⟩x⟨SI⟩"),
        ("\x9b2J\x9d0;x\x9c\x90\x9f\x85", "⟨CSI⟩2J⟨OSC⟩0;x⟨ST⟩⟨DCS⟩⟨APC⟩⟨NEL⟩"),
        ("\x80\x99", "⟨U+0080⟩⟨U+0099⟩"),
        ("photo\u202egpj.exe", "photo⟨U+202E⟩gpj.exe"),
        ("a\u00a0b\u3000c", "a⟨U+00A0⟩b⟨U+3000⟩c"),
        ("one\u2028two", "one⟨U+2028⟩two"),
        ("\ufeffa\u00adb\u034fc\u2800d\u3164", "⟨U+FEFF⟩a⟨U+00AD⟩b⟨U+034F⟩c⟨U+2800⟩d⟨U+3164⟩"),
        ("a\ud800b", "a⟨U+D800⟩b"),
        ("\U000e0041\U0010ffff\ue000", "⟨U+E0041⟩⟨U+10FFFF⟩⟨U+E000⟩"),
        ("\U0001fa77", "⟨U+1FA77⟩"),
        ("a\tb", "a⇥b"),
        ("a\r\nb\rc\n\rd", "a\nb⟨CR⟩c\n⟨CR⟩d"),
        ("a\r\r\nb", "a⟨CR⟩\nb"),
        ("می\u200cخواهم", "می⟨U+200C⟩خواهم"),
        ("\u200b" * 3, "⟨U+200B⟩" * 3),
        ("\u200b" * 412, "⟨U+200B ×412⟩"),
        ("\0" * 4 + "\x1b", "⟨NUL ×4⟩⟨ESC⟩"),
        ("", ""),
    ],
)
def test_everything_else_is_shown(text: str, expected: str) -> None:
    assert visible(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("👩\u200d💻", "👩⟨+⟩💻"),
        ("👩🏽\u200d💻", "👩🏽⟨+⟩💻"),
        ("👨\u200d👩\u200d👧", "👨⟨+⟩👩⟨+⟩👧"),
        ("🏳\ufe0f\u200d🌈", "🏳⟨emoji⟩⟨+⟩🌈"),
        ("❤\ufe0f!", "❤⟨emoji⟩!"),
        ("❤\ufe0f\ufe0f", "❤⟨emoji⟩⟨U+FE0F⟩"),
        ("1\ufe0f\u20e3", "1⟨keycap⟩"),
        ("❤\ufe0e", "❤⟨U+FE0E⟩"),
        ("a\ufe0f", "a⟨U+FE0F⟩"),
        ("a\u200d💻", "a⟨U+200D⟩💻"),
        ("👩\u200da", "👩⟨U+200D⟩a"),
        ("👩\u200d", "👩⟨U+200D⟩"),
        ("👩\u200d\u200d💻", "👩⟨U+200D⟩⟨U+200D⟩💻"),
        (
            "🏴\U000e0067\U000e0062\U000e0073\U000e007f",
            "🏴⟨U+E0067⟩⟨U+E0062⟩⟨U+E0073⟩⟨U+E007F⟩",
        ),
        ("👍🏿 🇩🇪", "👍🏿 🇩🇪"),
    ],
)
def test_emoji_stay_readable(text: str, expected: str) -> None:
    assert visible(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a" + "\u0301" * MARKS_PER_BASE, "a" + "\u0301" * MARKS_PER_BASE),
        ("a" + "\u0301" * 7, "a" + "\u0301" * 6 + "⟨+1 combining mark⟩"),
        ("a" + "\u0301" * 43 + "b", "a" + "\u0301" * 6 + "⟨+37 combining marks⟩b"),
        ("\u0301a", "⟨U+0301⟩a"),
        ("a\n\u0301", "a\n⟨U+0301⟩"),
        ("a \u0301", "a ⟨U+0301⟩"),
        ("\t\u0301", "⇥⟨U+0301⟩"),
        ("\x1b\u0301", "⟨ESC⟩⟨U+0301⟩"),
        ("⟩\u0301⇥\u0301⏎\u0301", "⟩⟨U+0301⟩⇥⟨U+0301⟩⏎⟨U+0301⟩"),
        ("\u1100" + "\u1161" * 9, "\u1100" + "\u1161" * 6 + "⟨+3 combining marks⟩"),
    ],
)
def test_combining_marks_are_capped_and_need_a_base(text: str, expected: str) -> None:
    assert visible(text) == expected


def test_long_text_in_a_script_full_of_marks_is_looked_at_too() -> None:
    thai = "ที่นี่" * 30_000
    assert visible(thai) == thai
    assert visible(thai + "\x1b").endswith("ที่นี่⟨ESC⟩")
    assert visible(thai + "\n\u0e35").endswith("\n⟨U+0E35⟩")
    assert visible("\u0e35" + thai).startswith("⟨U+0E35⟩")
    assert visible(thai + "ก" + "\u0e35" * 7).endswith("⟨+1 combining mark⟩")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\tc", "a⏎b⇥c"),
        ("a\r\nb", "a⏎b"),
        ("a" + " " * 8 + "b", "a" + " " * 8 + "b"),
        ("a" + " " * 412 + "b", "a⟨412 spaces⟩b"),
        ("a" + "\n" * 412 + "b", "a⟨412 newlines⟩b"),
        ("a" + "\t" * 9 + "b", "a⟨9 tabs⟩b"),
        ("a" + " \n" * 10 + "\tb", "a⟨10 spaces, 1 tab, 10 newlines⟩b"),
        ("a  ", "a  "),
        ("a   ", "a⟨3 spaces⟩"),
        ("a\n", "a⏎"),
        (" " * 9 + "\u0301", "⟨9 spaces⟩⟨U+0301⟩"),
    ],
)
def test_inline_is_one_line(text: str, expected: str) -> None:
    assert inline(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("",)),
        ("a\n", ("a", "")),
        ("a\r\nb", ("a", "b")),
        ("a\n\n\nb", ("a", "", "", "b")),
        ("a\n\n\n\nb", ("a", "⟨3 blank lines⟩", "b")),
        ("a" + "\n" * 413 + "b", ("a", "⟨412 blank lines⟩", "b")),
        ("a\n  \n\t\n\n \t \nb", ("a", "⟨4 blank lines⟩", "b")),
        ("\n\n\n", ("⟨4 blank lines⟩",)),
        ("a\n\u200b\nb", ("a", "⟨U+200B⟩", "b")),
        (" " * 24 + "a", (" " * 24 + "a",)),
        (" " * 25 + "a", ("⟨25 spaces⟩a",)),
        ("a" + " " * 300 + "b", ("a⟨300 spaces⟩b",)),
        ("a" + " \t" * 200 + "b", ("a⟨200 spaces, 200 tabs⟩b",)),
        ("a  \nb   \n", ("a  ", "b⟨3 spaces⟩", "")),
        ("\tif x:\n\t\treturn", ("⇥if x:", "⇥⇥return")),
        ("a\u2028b", ("a⟨U+2028⟩b",)),
    ],
)
def test_block_folds_padding_with_counts(text: str, expected: tuple[str, ...]) -> None:
    assert block(text) == expected


def test_pieces_tell_our_marks_from_imitated_ones() -> None:
    assert list(pieces("⟨ESC⟩\x1b⇥\t")) == [("⟨ESC⟩", False), ("⟨ESC⟩", True), ("⇥", False), ("⇥", True)]
    assert list(inline_pieces("⏎\n⟨9 tabs⟩" + "\t" * 9)) == [
        ("⏎", False),
        ("⏎", True),
        ("⟨9 tabs⟩", False),
        ("⟨9 tabs⟩", True),
    ]
    assert block_pieces("⟨3 blank lines⟩\n\n\n\nb\x07") == (
        (("⟨3 blank lines⟩", False),),
        (("⟨3 blank lines⟩", True),),
        (("b", False), ("⟨BEL⟩", True)),
    )


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("hello", 5, "hello"),
        ("hello world", 10, "hello…⟨+6⟩"),
        ("hello world", 4, "…⟨+11⟩"),
        ("hello world", 0, "…⟨+11⟩"),
        ("hello world", -3, "…⟨+11⟩"),
        ("", 0, ""),
        ("ab⟨U+202E⟩cdefghijkl", 9, "ab…⟨+18⟩"),
        ("ab⟨U+202E⟩cdefghijkl", 15, "ab…⟨+18⟩"),
        ("ab⟨U+202E⟩cdefghijkl", 16, "ab⟨U+202E⟩c…⟨+9⟩"),
        ("日本語日本語日本語", 12, "日本語…⟨+6⟩"),
        ("日本語日本語日本語", 10, "日本…⟨+7⟩"),
        ("e\u0301" * 8, 7, "e\u0301…⟨+14⟩"),
        ("🇩🇪🇩🇪🇩🇪🇩🇪", 7, "🇩🇪…⟨+6⟩"),
        ("👍🏽👍🏽👍🏽", 9, "👍🏽…⟨+4⟩"),
    ],
)
def test_clip_says_how_much_is_hidden(text: str, width: int, expected: str) -> None:
    assert clip(Visible(text), width) == expected


@pytest.mark.parametrize("text", ["abc", "a b\nc" * 50, "\u200b" * 9, *HOSTILE.values()])
def test_short_text_is_clipped_like_any_other(text: str) -> None:
    text = text[:LONGEST_CONVERTED]
    assert [short(text, width) for width in (5, 20, 80)] == [clip(inline(text), width) for width in (5, 20, 80)]


def test_only_the_beginning_of_a_very_long_name_is_converted() -> None:
    start = time.perf_counter()
    assert short("x" * 3_000_000, 20) == "xxxxxxxxx…⟨+2999991⟩"
    assert short(" " * 3_000_000, 40) == f"⟨{LONGEST_CONVERTED} spaces⟩…⟨+{3_000_000 - LONGEST_CONVERTED}⟩"
    short("\u200bx" * 3_000_000, 20)
    assert time.perf_counter() - start < 1


def test_clip_lines_says_how_many_are_hidden() -> None:
    lines = block("a\nb\nc\nd")
    assert clip_lines(lines, 4) == ("a", "b", "c", "d")
    assert clip_lines(lines, 3) == ("a", "b", "⟨2 more lines⟩")
    assert clip_lines(lines, 1) == clip_lines(lines, 0) == clip_lines(lines, -1) == ("⟨4 more lines⟩",)
    assert clip_lines((), 0) == ()


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("日本", 4), ("ｶﾞ", 2), ("e\u0301", 1), ("😀", 2), ("🇩🇪", 2), ("⟨ESC⟩⇥⏎…", 8), ("", 0), ("각", 2)],
)
def test_cells(text: str, width: int) -> None:
    assert cells(text) == width


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_disarmed_and_not_lost(name: str) -> None:
    text = HOSTILE[name]
    for made in (visible(text), inline(text), "\n".join(block(text))):
        assert made
        assert not any(shown(ord(character)) or character == "\t" for character in made)
        made.encode("utf-8")
    assert "\n" not in inline(text)
    if name.startswith(("terminal", "string sequence", "control", "unseen")):
        assert any(is_mark for _, is_mark in pieces(text))
    if name.startswith("markup"):
        assert visible(text) == text
    if name.startswith("space: padding"):
        assert len(inline(text)) < 80
        assert len("\n".join(block(text))) < 80


def test_the_corpus_is_large() -> None:
    assert len(HOSTILE) >= 150


def test_the_table_agrees_with_unicode() -> None:
    """Exactly with the version it was made from; on a later Python it passes nothing on that must be shown."""
    plain = re.compile(f"[{character_table.PLAIN}]")
    marks = re.compile(f"[{character_table.MARKS}]")
    exact = unicodedata.unidata_version == character_table.UNICODE
    for code in range(0x110000):
        character = chr(code)
        kept = bool(plain.match(character) or marks.match(character))
        if kept or exact:
            assert kept is not shown(code), hex(code)
            assert bool(marks.match(character)) is (kept and stacked(code)), hex(code)


def test_leaving_out_far_ranges_changes_nothing_nearby() -> None:
    for inside in (text_module._NOT_PLAIN, text_module._NEVER_PLAIN):
        whole, near = text_module._class(inside), text_module._class(text_module._within_bmp(inside))
        assert near is not whole
        for code in range(0x10000):
            assert bool(near.match(chr(code))) is bool(whole.match(chr(code))), hex(code)


@pytest.mark.parametrize("around", ["", "漢", "😀"])
@pytest.mark.parametrize("text", ["ที่นี่ ", "e\u0301", "\u0301", "a" + "\u0301" * 7, " \u0301", "x\u200b"])
def test_long_texts_are_made_visible_like_short_ones(text: str, around: str) -> None:
    unit = f"{around}{text}b\n"
    assert visible(unit * 2000) == visible(unit) * 2000


@pytest.mark.parametrize("character", ["\u200b", "\0", "\u0301", "\U000e0041", "\u202e"])
@pytest.mark.parametrize("number", [1, 3, 4, 1000])
def test_a_flood_is_told_without_looking_at_each(character: str, number: int) -> None:
    assert repeat_notice(character, number) == visible(character * number)


@pytest.mark.parametrize("character", ["a", "é", "漢", "⟨", "😀", " ", "\n"])
def test_what_stands_on_its_own_is_no_flood(character: str) -> None:
    assert repeat_notice(character, 1000) == ""


def test_what_does_not_stay_is_counted() -> None:
    assert count_not_plain("ab\u200b漢\u202ee\u0301😀\U000e0041\n\t ") == 3


BODIES = {
    "English": "The quick brown fox jumps over the lazy dog.\r\n",
    "Russian": "Съешь же ещё этих мягких французских булок.\n",
    "Thai": "สวัสดีชาวโลก ที่นี่ น้ำ ผู้ใหญ่\n",
    "Chinese": "你好，世界！\n",
    "Emoji": "😀🎉🚀\n",
}


@pytest.mark.parametrize("form", [visible, inline, block])
@pytest.mark.parametrize("line", BODIES.values(), ids=BODIES.keys())
def test_a_large_body_costs_little(form: Callable[[str], object], line: str) -> None:
    """A tenth of the largest body, with room for a slow machine: a step per character would still fail."""
    body = line * (1_000_000 // len(line.encode()))
    started = time.perf_counter()
    form(body)
    assert time.perf_counter() - started < 1.0


@pytest.mark.parametrize("unit", ["\n", " ", "\t", " \n", "\0", "\u200b", "⟨", "a\u0301", "\u0301", " " * 24 + "x"])
def test_no_text_makes_it_slow(unit: str) -> None:
    body = unit * (500_000 // len(unit))
    started = time.perf_counter()
    visible(body), inline(body), block(body), clip(Visible(body), 80)
    assert time.perf_counter() - started < 5.0


def test_after_preparing_no_text_has_to_wait_for_a_class() -> None:
    program = (
        "import aileron_tui.core.visible_text as t; from tests.hostile import HOSTILE; list(t.prepare()); "
        "known = [one.cache_info().misses for one in (t._class, t._misplaced, t._unit)]; "
        "[t.block_pieces(text) for text in HOSTILE.values()]; [t.count_not_plain(text) for text in HOSTILE.values()]; "
        "[t.clip(t.inline(text), 9) for text in HOSTILE.values()]; "
        "print(known == [one.cache_info().misses for one in (t._class, t._misplaced, t._unit)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_the_module_loads_without_compiling_its_large_classes() -> None:
    program = "import aileron_tui.core.visible_text as t; print(t._class.cache_info().currsize)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


@pytest.mark.parametrize("width", range(10, 60))
@pytest.mark.parametrize(
    "text",
    [
        "The server is started once, to list its tools: npx -y SERVER /srv/files",
        "  a  b   c    d     e      f",
        "short " + "x" * 200 + " short",
        "⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩ a word ⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩",
    ],
)
def test_rows_of_words_lose_nothing_and_fit(text: str, width: int) -> None:
    rows = list(wrap(Visible(text), width, "    ", words=True))
    assert "".join([rows[0], *(row.removeprefix("    ") for row in rows[1:])]) == text
    assert all(cells(row) <= max(width, 12) for row in rows)
    assert all(row.strip() for row in rows) or "     " in text


def test_a_row_ends_after_a_word() -> None:
    rows = list(wrap(Visible("until its definition changes"), 24, "  ", words=True))
    assert rows == ["until its definition ", "  changes"]
