"""Look-alike hosts and addresses."""

import re
import time
import tomllib
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core import lookalike_table, lookalikes
from aileron_tui.core.lookalikes import (
    MAX_CHARACTERS,
    MAX_HOSTS,
    MAX_WARNINGS,
    known_names,
    names_to_remember,
    remarks,
    warnings,
)
from aileron_tui.core.ordinary_names import ordinary_letters
from aileron_tui.core.skeletons import MAX_KNOWN, MAX_REMEMBERED, KnownNames
from aileron_tui.core.visible_text import visible
from tests.core.lookalike_attacks import HOSTS, OTHER_HOSTS, attacks
from tests.hostile import HOSTILE

NOT_BEFORE_THE_AT = {"right-to-left label", "user before the host"}
ORDINARY = tomllib.loads((Path(__file__).parent / "ordinary_hosts.toml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "xn--pple-43d.com",
            ['"аpple.com" mixes Latin and Cyrillic letters: а=U+0430'],
        ),
        (
            "XN--80AK6AA92E.com.",
            ['"аррӏе.com" is written in Cyrillic but looks like "apple.com"'],
        ),
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


def pairs_of_hosts(family: str) -> list[tuple[str, str]]:
    """Hosts, each with an imitation of this family."""
    return [(host, imitation) for host in HOSTS.split() for name, imitation in attacks(host) if name == family]


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
    invalid, sentence = warnings("а" * 100 + "b.com")
    assert invalid.endswith(" is not a valid international domain name")  # it is too long
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


@pytest.mark.parametrize("language", ORDINARY)
def test_ordinary_names_of_every_language_stay_calm(language: str) -> None:
    hosts = ORDINARY[language]["hosts"].split()
    texts = [text for host in hosts for text in (host, f"https://{host}/x", f"info@{host}")]
    assert len(hosts) + len(ORDINARY[language]["names"]) >= 15
    for text in (*texts, *ORDINARY[language]["names"]):
        assert warnings(text) == ()


@pytest.mark.parametrize("family", sorted({family for family, _ in attacks()}))
def test_every_imitation_of_a_well_known_host_is_flagged(family: str) -> None:
    missed = [host for name, host in attacks(HOSTS) if name == family and not warnings(f"info@{host}")]
    assert not missed


@pytest.mark.parametrize("family", sorted({family for family, _ in attacks()}))
def test_every_imitation_of_a_host_seen_before_is_flagged(family: str) -> None:
    known = known_names(f"billing@{host}" for host in OTHER_HOSTS.split())
    missed = [host for name, host in attacks(OTHER_HOSTS) if name == family and not warnings(f"info@{host}", known)]
    assert not missed


@pytest.mark.parametrize("family", sorted({family for family, _ in attacks()} - NOT_BEFORE_THE_AT))
def test_every_imitation_before_the_at_sign_is_flagged(family: str) -> None:
    """A letter that a language uses is ordinary in a name, until the plain name was seen."""
    pairs = [(host.partition("."), imitation) for host, imitation in pairs_of_hosts(family)]
    known = known_names(f"{name}@corp.example" for (name, _, _), _ in pairs)
    for (name, _, rest), imitation in pairs:
        before_at = unicodedata.normalize("NFC", imitation.removesuffix(f".{rest}"))
        is_ordinary = all(letter.isascii() or letter in ordinary_letters() for letter in before_at)
        assert warnings(f"{before_at}@corp.example", known if is_ordinary else None), (name, imitation)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\U0001d5bann@corp.example", "\U0001d5ba=U+1D5BA"),
        ("\uff41nn@corp.example", "\uff41=U+FF41"),
        ("a.\U0001d7ce@corp.example", "\U0001d7ce=U+1D7CE"),
        ("mu\U0001d5baller.j\u00f6rg@corp.example", "\U0001d5ba=U+1D5BA"),
    ],
)
def test_letters_of_other_alphabets_before_the_at_sign_are_named(text: str, expected: str) -> None:
    plain = unicodedata.normalize("NFKC", text)
    assert warnings(text) == (f'"{text}" looks like "{plain}", but has other letters: {expected}',)


def test_a_name_before_the_at_sign_hides_no_character() -> None:
    assert warnings("an\u00adn@corp.example") == (
        '"an⟨U+00AD⟩n@corp.example" contains characters that are easily overlooked: ⟨U+00AD⟩=U+00AD',
    )


def test_a_full_width_letter_in_a_host_that_is_not_plain_ascii_is_flagged() -> None:
    assert warnings("info@\uff43orp.m\u00fcnchen.de") == ('"\uff43orp.münchen.de" is really corp.münchen.de',)


@pytest.mark.parametrize("name", ["Սևակ", "ชำนาญ", "ຄຳໜ້າ", "ㅎㅎ김", "क़मर", "שָׁלוֹם", "محمد", "さくら", "ガール", "ㄅㄆ"])
def test_letters_that_are_ordinary_before_the_at_sign(name: str) -> None:
    assert warnings(f"{unicodedata.normalize('NFC', name)}@corp.example") == ()


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("münchen.de", ('"münchen.de" is xn--mnchen-3ya.de',)),
        ("https://MÜNCHEN.de/x", ('"MÜNCHEN.de" is xn--mnchen-3ya.de',)),
        ("info@россия.рф", ('"россия.рф" is xn--h1alffa9f.xn--p1ai',)),
        ("例え.jp", ('"例え.jp" is xn--r8jz45g.jp',)),
        ("https://xn--mnchen-3ya.de/x", ('xn--mnchen-3ya.de is "münchen.de"',)),
        (
            "مثال.السعودية",
            ('"مثال.السعودية" is xn--mgbh0fb.xn--mgberp4a5d4ar', '"مثال.السعودية" is written from right to left'),
        ),
        ("Bob@Example.com", ('"Example.com" is example.com in lowercase',)),
        ("plain@example.com, see example.org", ()),
        ("Отчёт.pdf, résumé.doc", ()),
    ],
)
def test_a_host_that_is_not_plain_ascii_has_a_note_and_no_warning(text: str, notes: tuple[str, ...]) -> None:
    found = remarks(text)
    assert (found.notes, found.warnings) == (notes, ())


def test_a_flagged_host_has_its_ascii_form_too() -> None:
    found = remarks("pаypal.com")
    assert found.notes == ('"pаypal.com" is xn--pypal-4ve.com',)
    assert found.warnings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("paypal.שלום.com", '"שלום" is written from right to left, so parts of the host may seem out of order'),
        ("x@paypaI.com", '"paypaI.com" looks like "paypal", but is not'),
        ("x@meadowviIIa.com", '"meadowviIIa.com" is meadowviiia.com in lowercase'),
        ("rnicrosoft.com", '"rnicrosoft.com" looks like "microsoft", but is not'),
        ("https://paypa1-login.com/", '"paypa1-login.com" looks like "paypal", but is not'),
        ("wirḷd.com", '"wirḷd.com" has unusual letters: ḷ=U+1E37'),
        ("corp.exạmple.com", '"corp.exạmple.com" has letters that are easily missed: ạ=U+1EA1'),
        ("tẹam@corp.com", '"tẹam@corp.com" has letters that are easily missed: ẹ=U+1EB9'),
        ("x@wind.cöm", '"wind.cöm" ends in "cöm", which is not a top-level domain'),
        ("x@i❤.ws", '"i❤.ws" is not a valid international domain name: ❤=U+2764'),
        ("x@win\u0338d.com", '"win̸d.com" contains characters that are easily overlooked: ⟨U+0338⟩=U+0338'),
        ("wi\u200dnd.com", '"wi⟨U+200D⟩nd.com" contains characters that are easily overlooked: ⟨U+200D⟩=U+200D'),
        ("google.comノlogin.jp", '"google.comノlogin.jp" contains a character that looks like a slash'),
    ],
)
def test_what_a_warning_says(text: str, expected: str) -> None:
    assert expected in warnings(text)


def test_an_address_close_to_another_in_the_same_prompt_is_flagged() -> None:
    shown = ["boss@corp.example", "ceo@c0rp.example, b0ss@corp.example, ann@corp.example"]
    known = known_names(shown)
    assert warnings(shown[0], known) == (
        '"boss@corp.example" is easily mistaken for "b0ss@corp.example", which was also seen',
    )
    assert warnings(shown[1], known) == (
        '"c0rp.example" is easily mistaken for "corp.example", which was also seen',
        '"b0ss@corp.example" is easily mistaken for "boss@corp.example", which was also seen',
        '"corp.example" is easily mistaken for "c0rp.example", which was also seen',
    )


@pytest.mark.parametrize(
    ("address", "other"),
    [
        ("tom@modem.example", "tom@modern.example"),
        ("biII@corp.example", "bill@corp.example"),
        ("bil1@corp.example", "bill@corp.example"),
        ("vvanda@corp.example", "wanda@corp.example"),
        ("clora@corp.example", "dora@corp.example"),
        ("ann@cörp.example", "corp.example"),
    ],
)
def test_an_address_resembles_one_seen_before(address: str, other: str) -> None:
    seen = other if "@" in other else f"x@{other}"
    known = known_names([seen])
    assert f'is easily mistaken for "{other}", which was also seen' in " ".join(warnings(address, known))
    assert warnings(address, KnownNames()) == ()
    for calm in (seen, seen.upper(), "someone@elsewhere.example"):
        assert warnings(calm, known) == ()


@pytest.mark.parametrize("address", ["tuấn.nguyễn@corp.vn", "bọ́lá@corp.ng", "josé@corp.com", "jürgen@corp.de"])
def test_names_before_the_at_sign_that_are_ordinary(address: str) -> None:
    assert warnings(unicodedata.normalize("NFC", address).replace("\u0301", "")) == ()


@pytest.mark.parametrize("imitation", ["ann@cọrp.example", "аnn@corp.example", "ann@corp.examplẹ"])
def test_an_imitation_seen_before_does_not_make_the_plain_name_suspicious(imitation: str) -> None:
    """Otherwise an agent could put a warning beside every ordinary address."""
    known = known_names([imitation, "ann@corp.example"])
    assert warnings("ann@corp.example", known) == ()
    assert known.resembled_by(imitation) == "ann@corp.example"


def test_a_plain_name_that_looks_like_an_ordinary_one_seen_before_is_flagged() -> None:
    known = known_names(["info@müller.de"])
    assert warnings("info@muller.de", known)
    assert not warnings("info@müller.de", known)


REAL, FALSE = "lin@acme.example", "lin@acrne.example"


def seen_in(known: KnownNames, *texts: str, approved: bool = False) -> None:
    """A prompt with these values was shown, or approved."""
    known.remember(names_to_remember(texts), approved=approved)


def flagged(known: KnownNames, text: str) -> bool:
    """Whether a prompt that contains this text warns about it."""
    return bool(warnings(text, known_names([text], known)))


@pytest.mark.parametrize("order", [(REAL, FALSE), (FALSE, REAL)])
def test_it_does_not_matter_which_of_two_names_was_seen_first(order: tuple[str, str]) -> None:
    known = KnownNames()
    seen_in(known, order[0])
    assert flagged(known, order[1])
    seen_in(known, order[1])
    assert flagged(known, REAL)
    assert flagged(known, FALSE)


@pytest.mark.parametrize("order", [(REAL, FALSE), (FALSE, REAL)])
def test_an_approved_name_stays_calm_and_its_imitation_does_not(order: tuple[str, str]) -> None:
    known = KnownNames()
    for name in order:
        seen_in(known, name)
    seen_in(known, f"Lin <{REAL}>", approved=True)
    assert warnings(REAL, known_names([REAL, FALSE], known)) == ()
    assert warnings(FALSE, known_names([FALSE], known)) == (
        f'"{FALSE}" is easily mistaken for "{REAL}", which is in a request you approved',
    )


def test_two_approved_names_that_look_alike_are_both_flagged() -> None:
    known = KnownNames()
    seen_in(known, REAL, approved=True)
    seen_in(known, FALSE, approved=True)
    assert flagged(known, REAL)
    assert flagged(known, FALSE)


def test_no_call_empties_what_was_seen_before() -> None:
    known = KnownNames()
    seen_in(known, REAL)
    flood = [" ".join(f"u{arg}-{number}@h{arg}-{number}.example" for number in range(120)) for arg in range(20)]
    seen_in(known, *flood)
    assert flagged(known, FALSE)


def test_names_that_agents_send_do_not_displace_an_approved_one() -> None:
    known = KnownNames()
    seen_in(known, REAL, approved=True)
    for start in range(0, 2 * MAX_KNOWN, MAX_REMEMBERED):
        known.remember(f"h{number}.example" for number in range(start, start + MAX_REMEMBERED))
    assert flagged(known, FALSE)
    assert not flagged(known, REAL)


def test_names_that_are_seen_again_are_forgotten_last() -> None:
    known = KnownNames()
    seen_in(known, REAL, "ann@corp.example")
    for start in range(0, 2 * MAX_KNOWN, MAX_REMEMBERED // 2):
        seen_in(known, REAL)
        known.remember(f"h{number}.example" for number in range(start, start + MAX_REMEMBERED // 2))
    assert flagged(known, FALSE)
    assert not flagged(known, "ann@c0rp.example")


def test_every_name_in_one_prompt_is_compared_however_many_there_are() -> None:
    many = [
        " ".join(f"u{number}@h{number}.example" for number in range(start, start + 400))
        for start in range(0, 6000, 400)
    ]
    known = known_names([REAL, *many, FALSE])
    assert warnings(REAL, known)
    assert warnings(FALSE, known)


def test_many_imitations_do_not_hide_a_name() -> None:
    known = KnownNames()
    seen_in(known, REAL)
    for number in range(9):
        seen_in(known, REAL.replace("m", "rn").replace("l", "1", number % 2))
    assert flagged(known, REAL)
    assert flagged(known, FALSE)


@pytest.mark.parametrize(
    "seen",
    [
        "ann@kestrel-law.com",
        "https://kestrel-law.com/x",
        "see http://a:b@www.kestrel-law.com:8080",
        "a@MAIL.KESTREL-LAW.COM",
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "https://kestre1-law.com",
        "https://kestre1-law.com:443/x?y",
        "http://login.kestre1-law.com.",
        "https://kestre%31-law.com/",
        "https://x@kestre1-law.com",
        "ssh://kestre1-law.com/x.git",
        "git@kestre1-law.com:x.git",
        "scp x kestre1-law.com:",
        "访问kestre1-law.com吧",
        "https://kestrél-law.com/",
        "kestrél-law.com",
    ],
)
def test_the_host_of_a_url_is_compared_with_those_seen_before(seen: str, text: str) -> None:
    known = KnownNames()
    seen_in(known, seen)
    assert any("is easily mistaken for" in warning for warning in warnings(text, known_names([text], known)))
    assert not flagged(known, "https://kestrel-law.com/other")
    assert not flagged(known, "https://www.kestrel-law.com")


def test_ordinary_values_are_not_mistaken_for_each_other() -> None:
    """Names of files and versions look like hosts, and servers have numbers."""
    known = KnownNames()
    calm = [
        "https://web1.corp.example/a https://web11.corp.example web10.corp.example",
        "src/main.rs test_1.py test_l.py résumé.md resume.md v1.0 vl.o 10.0.0.1",
        "http://127.0.0.1:8080/ http://localhost:8080/ http://[::1]:80/",
        "Ann@Corp.example ann@corp.EXAMPLE https://CORP.example",
        *(host for language in ORDINARY.values() for host in language["hosts"].split()),
        *(f"https://{host}/x" for language in ORDINARY.values() for host in language["hosts"].split()),
        *(name for language in ORDINARY.values() for name in language["names"]),
    ]
    seen_in(known, *calm)
    together = known_names(calm, known)
    assert [text for text in calm if warnings(text, together)] == []


@given(st.text(max_size=40))
def test_no_name_resembles_itself(text: str) -> None:
    assert KnownNames([text]).resembled_by(text) == ""
    assert not warnings(text, known_names([text])) or warnings(text)


def test_it_is_said_if_not_every_address_was_compared_with_known_ones() -> None:
    many = " ".join(f"a{number}@example.com" for number in range(MAX_HOSTS))
    assert warnings(f"{many} 1in@example.org", KnownNames(["lin@example.org"])) == (
        f"only the first {MAX_HOSTS} hosts and addresses were checked for look-alikes",
    )


@pytest.mark.parametrize("host", ["linkedln.com", "mlcrosoft.com", "mail.gitlab.glthub.com", "www.paypai.com"])
def test_an_l_for_an_i_in_an_often_imitated_name(host: str) -> None:
    assert bool(warnings(host)) is (host != "www.paypai.com")


@given(st.text(st.characters(max_codepoint=127, exclude_characters=".@:")))
def test_a_text_that_is_skipped_has_no_remark_and_no_address(text: str) -> None:
    known = known_names(["team@example.com"])
    assert not [*lookalikes._remarks(text, known)]
    assert not [*lookalikes._remarks(f"xn--{text} <{text}> //{text}", known)]
    assert not lookalikes._ADDRESS.search(text)
