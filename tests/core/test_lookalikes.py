"""Look-alike hosts and addresses."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core import lookalike_table
from aileron_tui.core.lookalikes import MAX_CHARACTERS, MAX_HOSTS, MAX_WARNINGS, warnings
from aileron_tui.core.visible_text import visible
from tests.hostile import HOSTILE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "xn--pple-43d.com",
            ['xn--pple-43d.com is really "аpple.com"', '"аpple.com" mixes Latin and Cyrillic letters: а=U+0430'],
        ),
        (
            "XN--80AK6AA92E.com.",
            [
                'XN--80AK6AA92E.com is really "аррӏе.com"',
                '"аррӏе.com" is written in Cyrillic but looks like "apple.com"',
            ],
        ),
        ("https://xn--mnchen-3ya.de/x", ['xn--mnchen-3ya.de is really "münchen.de"']),
        ("xn--zzzzzzzzzz99999.com", ["xn--zzzzzzzzzz99999.com is not a valid international domain name"]),
        ("write to pаypal.com today", ['"pаypal.com" mixes Latin and Cyrillic letters: а=U+0430']),
        ("google.соm", ['"google.соm" mixes Latin and Cyrillic letters: с=U+0441, о=U+043E']),
        ("раура.com", ['"раура.com" is written in Cyrillic but looks like "paypa.com"']),
        ("раура.со", ['"раура.со" is written in Cyrillic but looks like "paypa.co"']),
        ("https://ΑΒΕ.example/", ['"ΑΒΕ.example" is written in Greek but looks like "abe.example"']),
        ("paypaɩ.com", ['"paypaɩ.com" looks like "paypai.com"']),
        ("bob@раура.com", ['"раура.com" is written in Cyrillic but looks like "paypa.com"']),
        ("воss@corp.example", ['"воss@corp.example" mixes Latin and Cyrillic letters: в=U+0432, о=U+043E']),
        ("<al@аpple.com>, <bo@ok.example>", ['"аpple.com" mixes Latin and Cyrillic letters: а=U+0430']),
        ("ｇoogle.com", ['"ｇoogle.com" is really google.com']),
        ("google。com", ['"google。com" is really google.com']),
        ("google．com apple｡com", ['"google．com" is really google.com', '"apple｡com" is really apple.com']),
        ("goo\u200bgle.com", ['"goo⟨U+200B⟩gle.com" is really google.com']),
        ('"boss@corp.example" <evil@x.example>', ['the address is evil@x.example, not "boss@corp.example"']),
        ("boss@corp.example < evil@x.example\n>", ['the address is evil@x.example, not "boss@corp.example"']),
        ("boss@corp.example <mailto:evil@x.example>", ['the address is evil@x.example, not "boss@corp.example"']),
        (
            '"Boss, boss@corp.example" (CEO) <evil@x.example>',
            ['the address is evil@x.example, not "boss@corp.example"'],
        ),
        (
            '"boss@corp.example" <bоss@cоrp.example>',
            [
                'the address only looks like "boss@corp.example"',
                '"bоss@cоrp.example" mixes Latin and Cyrillic letters: о=U+043E',
                '"cоrp.example" mixes Latin and Cyrillic letters: о=U+043E',
            ],
        ),
        ("раypal.com аррӏе", ['"раypal.com" mixes Latin and Cyrillic letters: р=U+0440, а=U+0430']),
        (
            "zабвгz.com",
            ['"zабвгz.com" mixes Latin and Cyrillic letters: а=U+0430, б=U+0431, в=U+0432 and 1 more'],
        ),
        ("https://google.com@evil.example/", ["the link goes to evil.example, not google.com"]),
        (
            "https://google.com%20as%20it%20should.%20Safe%20to%20approve@evil.example",
            ["the link goes to evil.example, not google.com"],
        ),
        ("https://google%2ecom:x@evil.example", ["the link goes to evil.example, not google.com:x"]),
        ("看https://google.com@evil.example", ["the link goes to evil.example, not google.com"]),
        (
            "https://evil.example\\@google.com/",
            ['"https://evil.example\\@google.com" has a backslash, and programs disagree about which host that means'],
        ),
        (
            "bank.example\u2044login.evil.example",
            ['"bank.example⁄login.evil.example" contains a character that looks like a slash'],
        ),
        (
            "gооgle-раура.com",
            [
                '"gооgle-раура.com" mixes Latin and Cyrillic letters: о=U+043E',
                '"gооgle-раура.com" is written in Cyrillic but looks like "google-paypa.com"',
            ],
        ),
    ],
)
def test_a_look_alike_is_flagged(text: str, expected: list[str]) -> None:
    assert list(warnings(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "boss@corp.example",
        "Boss <boss@corp.example>",
        "'boss@corp.example' <boss@corp.example>",
        '"Boss@Corp.example" <boss@corp.example>',
        "a@b.example, B <b@c.example>; C <c@d.example>",
        "https://corp.example/a@b.example?x=1#y",
        "https://user:secret@corp.example/",
        "ssh://git@corp.example/x.git",
        "münchen.de naïve.fr ñandú.es łódź.pl",
        "bücher@straße.example",
        "ελλάδα.gr",
        "https://пример.рф/путь",
        "президент.рф",
        "例え.テスト example.jp",
        "https://ひらがなカタカナ漢字abc.jp",
        "한국어abc漢字.com",
        "ㄅㄆ漢字abc.tw",
        "请看。google.com 谢谢。",
        "访问example.com吧",
        "Привет.Как дела?Hello.мир",
        "отчёт.pdf Договор_final.docx",
        "नमस्ते.com สวัสดี.com",
        "1.5 v2.0.1 3.14 ½.com",
        "e.g. i.e. …",
    ],
)
def test_ordinary_hosts_and_addresses_are_not_flagged(text: str) -> None:
    assert warnings(text) == ()


def test_a_limit_that_is_reached_is_reported() -> None:
    many = " ".join(f"pаypal{number}.com" for number in range(50))
    assert len(warnings(many)) == MAX_WARNINGS + 1
    assert warnings(many)[-1] == "there are more warnings of this kind"
    assert warnings("é.com " * (MAX_HOSTS + 1)) == (
        f"only the first {MAX_HOSTS} hosts and addresses were checked for look-alikes",
    )
    assert warnings("x " * MAX_CHARACTERS) == (
        f"only the first {MAX_CHARACTERS} characters were checked for look-alikes",
    )


def test_a_long_name_is_clipped_with_a_count() -> None:
    (sentence,) = warnings("а" * 100 + "b.com")
    assert re.fullmatch(r'"а+…⟨\+\d+⟩" mixes Latin and Cyrillic letters: а=U\+0430', sentence)


@pytest.mark.parametrize(
    "unit",
    ["a.", "д.", "a@", "д@", '"<', "http://", '"a@b.c" ', "д", "a:", "<a@b.c>", "xn--", "xn--a.", "。", "@", "a" * 300],
)
def test_no_text_makes_it_slow(unit: str) -> None:
    started = time.perf_counter()
    warnings(unit * (MAX_CHARACTERS // len(unit)) + "д")
    assert time.perf_counter() - started < 5.0


PARTS = st.sampled_from(
    [
        *"aаеxд日ひ가.。．@＠/\\:<>\"' -_\u200b\u202e\x1b\n\ud800⁄",
        "xn--",
        "xn--pple-43d",
        "https://",
        "mailto:",
        ".com",
        "@b.example",
    ]
)


@given(st.one_of(st.text(), st.lists(PARTS, max_size=30).map("".join), st.sampled_from(list(HOSTILE.values()))))
def test_it_never_fails_and_its_warnings_are_visible(text: str) -> None:
    for sentence in warnings(text):
        assert sentence
        assert visible(sentence) == sentence
        assert "\n" not in sentence


@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=70))
def test_any_punycode_is_accepted(label: str) -> None:
    assert isinstance(warnings(f"xn--{label}.com"), tuple)


def test_the_table_is_consistent() -> None:
    assert len(lookalike_table.ALIKE) == len(lookalike_table.ASCII)
    assert len(lookalike_table.STARTS) == len(lookalike_table.SCRIPTS)
    assert not any(character.isascii() for character in lookalike_table.ALIKE)
    assert lookalike_table.ASCII.isascii()
    assert sorted(lookalike_table.STARTS) == list(lookalike_table.STARTS)
    assert max(lookalike_table.SCRIPTS) == len(lookalike_table.NAMES) - 1
